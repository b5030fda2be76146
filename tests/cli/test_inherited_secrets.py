"""No process of a service shows a password or a key, neither as an argument nor in its environment."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from sqlalchemy import make_url

from tests.cli.command_line import BOOKPRINT, Service, environment, serving
from tests.cli.test_tls import PASSWORD, Tls, needs_openssl, tls as tls
from tests.embedded.programs import eventually
from tests.secret_search import ADMIN_KEY, DATABASE_PASSWORD

SECRETS = {"admin key": ADMIN_KEY, "database": DATABASE_PASSWORD, "TLS key": PASSWORD}

MODULES = {
    "app.cli": "launcher",
    "app.fork_server": "fork",
    "workers": "worker",
    "from multiprocessing.forkserver": "reader",
    "from multiprocessing.resource_tracker": "reader",
}


@pytest.fixture
def service(tls: Tls, database_url: str, tmp_path: Path) -> Iterator[Service]:
    """A service that has been given a secret of each kind, and has read a file."""
    options = ("--ssl-certfile", tls.certfile, "--ssl-keyfile", tls.keyfile)
    secrets = {
        "BOOKPRINT_AUTH": "keys",
        "BOOKPRINT_ADMIN_KEY": ADMIN_KEY,
        "BOOKPRINT_SSL_KEYFILE_PASSWORD": PASSWORD,
        "DATABASE_URL": make_url(database_url)._replace(password=None).render_as_string(),
        "PGPASSWORD": DATABASE_PASSWORD,
    }
    with serving(tmp_path / "data", *options, **secrets) as service:
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
def test_no_process_shows_a_secret_in_its_environment(service: Service, database_url: str) -> None:
    family, seen = service.family(), set()
    command = [*BOOKPRINT, "worker", "--data-dir", str(service.data_dir)]
    with subprocess.Popen(command, env=environment({"DATABASE_URL": database_url})) as worker:
        other = psutil.Process(worker.pid)
        try:
            assert eventually(lambda: other.nice() == 19, 30)  # it has read its settings
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
def test_no_secret_is_in_a_list_of_processes_or_printed(service: Service) -> None:
    printed = " ".join([*service.lines, *(" ".join(each.cmdline()) for each in service.family())])
    assert [name for name, secret in SECRETS.items() if secret in printed] == []
    assert (service.data_dir / "servers.json").stat().st_mode & 0o777 == 0o600


def _role(command: list[str]) -> str:
    return next(
        (role for module, role in MODULES.items() if any(part.startswith(module) for part in command)),
        "server",
    )
