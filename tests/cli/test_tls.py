"""Certificates, keys and proxies that `bookprint serve` is given."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.cli.listening import Tls, read_tls
from app.cli.output import UserError
from app.secrets import TLS_PASSWORD_VARIABLE, forget_secrets
from tests.cli.command_line import in_a_process

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
def test_the_password_comes_in_a_file_or_by_the_environment(
    tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\n")
    assert read_tls(tls.certfile, tls.keyfile, file) == tls
    monkeypatch.setenv(TLS_PASSWORD_VARIABLE, PASSWORD)
    assert read_tls(tls.certfile, tls.keyfile, None) == tls
    assert TLS_PASSWORD_VARIABLE in forget_secrets()


def test_a_proxy_that_is_not_named_by_address_is_refused(tmp_path: Path) -> None:
    done = in_a_process("serve", "--data-dir", tmp_path / "data", "--forwarded-allow-ips", "*")
    assert done.returncode == 1
    assert "address or network" in done.stderr
