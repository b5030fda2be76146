"""`bookprint serve` over TLS, and behind proxies."""

import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import psutil
import pytest

from app.cli.listening import Tls, read_tls
from app.cli.output import UserError
from app.secrets import TLS_PASSWORD_VARIABLE, forget_secrets
from tests.cli.command_line import bookprint, in_a_process, serving

PASSWORD = "a-password-of-the-tests"
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """A certificate that signs itself, and its encrypted key."""
    folder = tmp_path_factory.mktemp("tls")
    made = Tls(folder / "certificate.pem", folder / "key.pem", PASSWORD)
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-passout", f"pass:{PASSWORD}"]
    command += ["-out", str(made.certfile), "-keyout", str(made.keyfile)]
    subprocess.run(command, check=True, capture_output=True)
    return made


@pytest.mark.slow
@needs_openssl
def test_it_is_served_over_tls_and_the_password_is_in_no_list_of_processes(tls: Tls, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\n")
    options = ("--ssl-certfile", tls.certfile, "--ssl-keyfile", tls.keyfile)
    named = ("--ssl-password-file", file)
    with serving(tmp_path / "data", *options, *named) as service:
        assert service.url.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(tls.certfile))
        trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        url = service.url.replace("127.0.0.1", "localhost")
        answer = httpx.get(f"{url}/health/ready", verify=trusting, timeout=60)
        assert answer.status_code == 200
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        assert "server" not in answer.headers
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{url.replace('https', 'http')}/health/ready", timeout=60)
        book = tmp_path / "book.txt"
        book.write_text("a book that is posted over TLS " * 20)
        plain = bookprint("ingest", book, "--url", url.replace("https", "http"))
        assert plain.returncode == 2
        assert "write https:// for http://" in plain.stderr
        untrusting = bookprint("ingest", book, "--url", url)
        assert untrusting.returncode == 2
        assert "is not trusted: self-signed certificate" in untrusting.stderr
        assert "SSL_CERT_FILE" in untrusting.stderr
        posted = bookprint("ingest", book, "--url", url, SSL_CERT_FILE=str(tls.certfile))
        assert "1 created" in posted.stdout, posted.stderr
        seen = [argument for process in service.family() for argument in process.cmdline()]
        assert not [argument for argument in seen if PASSWORD in argument]
        assert not [process for process in service.family() if _knows_password(process)]
    assert PASSWORD not in "".join(service.lines)


def _knows_password(process: psutil.Process) -> bool:
    try:
        return PASSWORD in str(process.environ())
    except psutil.Error:  # it has ended
        return False


@needs_openssl
@pytest.mark.parametrize("password", [None, "another"])
def test_a_key_that_cannot_be_opened_is_told_before_anything_starts(
    password: str | None, tls: Tls, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text(password or "")
    named = ("--ssl-password-file", file) if password else ()
    done = in_a_process(
        *("serve", "--port", "0", "--data-dir", tmp_path / "data"),
        *("--ssl-certfile", tls.certfile, "--ssl-keyfile", tls.keyfile, *named),
    )
    assert done.returncode == 1
    assert f"{tls.keyfile} cannot be used for TLS" in done.stderr
    assert "--ssl-password-file" in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_file_that_is_not_there_or_holds_something_else_is_named(tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_text("something else")
    with pytest.raises(UserError, match=r"none\.pem cannot be read: No such file"):
        read_tls(tmp_path / "none.pem", None, None)
    with pytest.raises(UserError, match=r"other\.pem cannot be used.*--ssl-certfile"):
        read_tls(other, None, None)
    with pytest.raises(UserError, match="no certificate"):
        read_tls(None, other, None)


@needs_openssl
def test_a_key_that_does_not_fit_is_named(tls: Tls, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_text("something else")
    with pytest.raises(UserError, match=r"other\.pem cannot be used.*--ssl-keyfile"):
        read_tls(tls.certfile, other, None)
    with pytest.raises(UserError, match=r"certificate\.pem cannot be used"):
        read_tls(tls.certfile, None, None)
    with pytest.raises(UserError, match=r"password cannot be read: No such file"):
        read_tls(tls.certfile, tls.keyfile, tmp_path / "password")
    subprocess.run(["openssl", "genrsa", "-out", str(other), "2048"], check=True, capture_output=True)
    with pytest.raises(UserError, match=r"other\.pem cannot be used.*key values mismatch"):
        read_tls(tls.certfile, other, None)


@needs_openssl
def test_the_password_may_come_by_the_environment(tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TLS_PASSWORD_VARIABLE, PASSWORD)
    assert read_tls(tls.certfile, tls.keyfile, None) == tls
    assert TLS_PASSWORD_VARIABLE in forget_secrets()


def test_a_proxy_that_is_not_named_by_address_is_refused(tmp_path: Path) -> None:
    done = in_a_process("serve", "--data-dir", tmp_path / "data", "--forwarded-allow-ips", "*")
    assert done.returncode == 1
    assert "address or network" in done.stderr


@pytest.mark.slow
def test_only_a_named_proxy_tells_the_scheme(tmp_path: Path) -> None:
    told = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
    with serving(tmp_path / "data", "--forwarded-allow-ips", "127.0.0.1") as service:
        for address, is_believed in (("127.0.0.1", True), ("127.0.0.2", False)):
            with httpx.Client(transport=httpx.HTTPTransport(local_address=address), timeout=60) as client:
                answer = client.get(f"{service.url}/health/live", headers=told)
                assert ("strict-transport-security" in answer.headers) == is_believed
