"""`bookprint serve` from start to end and once more: what it says meanwhile, and what is left of it."""

import json
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import pytest

from tests.cli.command_line import (
    BOOKPRINT,
    START_SECONDS,
    STOP_SECONDS,
    bookprint,
    environment,
    serving,
)
from tests.embedded.programs import is_named
from tests.waiting import eventually

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class Ended:
    """A service that was posted a book, lost its servers, and was sent SIGTERM."""

    data_dir: Path
    book: str
    """Path of the book."""

    lines: list[str]
    """What it printed."""

    status: int
    left: list[psutil.Process]
    """Its processes that did not end."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    data_dir = tmp_path_factory.mktemp("ended") / "data"
    variables = {
        "BOOKPRINT_LOG_FORMAT": "json",
        "BOOKPRINT_TEXT": "none",
        "BOOKPRINT_AUTH": "off",
    }
    with serving(data_dir, "--host", "localhost", **variables) as service:
        body = {"text": "a book that stays " * 50}
        book = httpx.post(f"{service.url}/v1/books", json=body, timeout=60).json()["links"]["self"]
        port = int(service.url.rpartition(":")[2])
        with socket.create_connection(("localhost", port)) as malformed:
            malformed.sendall(b"no HTTP\r\n\r\n")
            assert malformed.recv(4096).startswith(b"HTTP/1.1 400")
        servers = [
            process
            for process in psutil.Process(service.process.pid).children()
            if is_named(process, "postgres", "valkey-server")
        ]
        assert len(servers) == 2
        for server in servers:
            server.kill()
        statuses = {httpx.get(f"{service.url}/v1/books", timeout=60).status_code for _ in range(3)}
        assert statuses <= {200, 503}
        assert eventually(lambda: httpx.get(f"{service.url}/health/ready", timeout=60).status_code == 200)
        family = service.family()
        status = service.stop()
        _, left = psutil.wait_procs(family, timeout=STOP_SECONDS)
    return Ended(data_dir, book, service.lines, status, left)


def test_sigterm_leaves_no_process(ended: Ended) -> None:
    assert (ended.status, ended.left) == (0, [])


def test_with_json_every_line_of_every_process_is_one_object(ended: Ended) -> None:
    events = [json.loads(line) for line in ended.lines]
    assert all({"event", "level", "timestamp"} <= event.keys() for event in events)
    said = " ".join(str(event["event"]) for event in events)
    assert "BOOKPRINT_TEXT is not a variable of Bookprint. Do you mean BOOKPRINT_TEXTS?" in said
    assert "valkey-server was killed by SIGKILL" in said
    assert "everything is stopped" in said


def test_it_answers_that_it_starts_until_it_has_started_with_the_books_of_before(ended: Ended) -> None:
    offline = bookprint("verify", "--data-dir", ended.data_dir)
    assert offline.returncode == 0, offline.stdout + offline.stderr
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [*BOOKPRINT, "serve", "--port", str(port), "--data-dir", str(ended.data_dir)]
    answers: dict[str, list[httpx.Response]] = {"/v1/books": [], "/health/started": []}

    def asked(path: str) -> bool:
        """Whether the path is answered as it is once the service has started."""
        try:
            answers[path].append(httpx.get(f"{url}{path}", timeout=START_SECONDS))
        except httpx.ConnectError:
            assert not answers[path], "refused after the first answer"
            return False
        return answers[path][-1].is_success

    with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL) as process:
        try:
            assert eventually(lambda: {*map(asked, answers)} == {True})
            assert httpx.get(f"{url}{ended.book}", timeout=60).status_code == 200
        finally:
            process.terminate()
            assert process.wait(STOP_SECONDS) == 0
    for answered in answers.values():
        statuses = [answer.status_code for answer in answered]
        assert statuses == sorted(statuses, reverse=True)
        assert set(statuses) == {503, 200}
        assert answered[0].headers["content-type"] == "application/problem+json"
        assert answered[0].headers["retry-after"] == "2"
        assert answered[0].json()["detail"].startswith("The service is starting")
    assert answers["/health/started"][-1].json() == {"status": "started"}
