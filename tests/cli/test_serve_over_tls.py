"""`bookprint serve` over TLS, given a secret of each kind, which no process of it shows."""

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from sqlalchemy import make_url

from app.api.http.examples import WebhookWithSecret
from tests.cli.command_line import BOOKPRINT, Serve, bookprint, environment, serving
from tests.cli.test_tls import PASSWORD, Tls, needs_openssl, tls as tls
from tests.secret_search import ADMIN_KEY, DATABASE_PASSWORD, lines_with_secrets
from tests.waiting import eventually

pytestmark = pytest.mark.slow

SECRETS = {"admin key": ADMIN_KEY, "database": DATABASE_PASSWORD, "TLS key": PASSWORD}

MODULES = {
    "app.cli": "launcher",
    "app.fork_server": "fork",
    "workers": "worker",
    "from multiprocessing.forkserver": "reader",
    "from multiprocessing.resource_tracker": "reader",
}


@pytest.fixture(scope="module")
def service(tls: Tls, module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """A service that has been given a secret of each kind, and has read a file."""
    options = ("--ssl-certfile", tls.certfile, "--ssl-keyfile", tls.keyfile)
    secrets = {
        "BOOKPRINT_AUTH": "keys",
        "BOOKPRINT_ADMIN_KEY": ADMIN_KEY,
        "BOOKPRINT_SSL_KEYFILE_PASSWORD": PASSWORD,
        "DATABASE_URL": make_url(module_database_url)._replace(password=None).render_as_string(),
        "PGPASSWORD": DATABASE_PASSWORD,
    }
    with serving(tmp_path_factory.mktemp("secrets") / "data", *options, **secrets) as service:
        answer = httpx.post(
            f"{service.url}/v1/books",
            headers={"Authorization": f"Bearer {ADMIN_KEY}"},
            files={"file": ("book.txt", b"A book that a process of its own has read. " * 50)},
            verify=tls.context(),
            timeout=60,
        )
        assert answer.status_code == 201, answer.text
        yield service


@needs_openssl
def test_it_is_served_over_tls_alone(service: Serve, tls: Tls, tmp_path: Path) -> None:
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
    known = {"SSL_CERT_FILE": str(tls.certfile), "BOOKPRINT_KEY": ADMIN_KEY}
    posted = bookprint("ingest", book, "--url", url, **known)
    assert "1 created" in posted.stdout, posted.stderr


@needs_openssl
def test_no_process_shows_a_secret_in_its_environment(service: Serve, module_database_url: str) -> None:
    family, seen = service.family(), set()
    command = [*BOOKPRINT, "worker", "--data-dir", str(service.data_dir)]
    variables = environment({"DATABASE_URL": module_database_url})
    # In a session of its own, as it has all of a session give way to others.
    with subprocess.Popen(command, env=variables, start_new_session=True) as worker:
        other = psutil.Process(worker.pid)
        try:
            assert eventually(lambda: other.nice() == psutil.Process().nice() + 5)  # it has read its settings
            for process in [*family, other]:
                try:
                    shown = str(process.environ())
                except psutil.NoSuchProcess:  # it has ended
                    continue
                except psutil.AccessDenied:
                    shown = ""
                seen.add(_role(process.cmdline()))
                assert [name for name, secret in SECRETS.items() if secret in shown] == [], process
        finally:
            worker.kill()
    assert seen == {*MODULES.values(), "server"}


@needs_openssl
def test_no_secret_is_in_answers_logs_metrics_or_lists_of_processes(service: Serve, tls: Tls) -> None:
    seen: list[str] = []
    with httpx.Client(base_url=service.url, verify=tls.context(), timeout=60) as client:
        for key in (ADMIN_KEY, ADMIN_KEY[:-1] + "x"):
            for headers in ({"X-API-Key": key}, {"Authorization": f"Bearer {key}"}):
                for path in ("/v1/books", "/v1/none", "/metrics", "/health/ready", "/openapi.json"):
                    answer = client.get(path, headers=headers)
                    seen += [
                        answer.text.replace(WebhookWithSecret["secret"], "the example"),
                        str(answer.headers),
                    ]
                seen.append(client.post("/v1/books", content=b"{", headers=headers).text)
    seen += [" ".join(process.cmdline()) for process in service.family()]
    assert (service.data_dir / "servers.json").stat().st_mode & 0o777 == 0o600
    service.stop()
    seen += service.lines
    assert any("bookprint_request_seconds" in text for text in seen)
    assert lines_with_secrets(seen) == []
    assert [name for name, secret in SECRETS.items() if secret in " ".join(seen)] == []


def _role(command: list[str]) -> str:
    return next(
        (role for module, role in MODULES.items() if any(part.startswith(module) for part in command)),
        "server",
    )
