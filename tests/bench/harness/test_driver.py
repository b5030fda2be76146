import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.harness.driver import Stream, drive, get, post


class _Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    pause = 0.0

    def do_GET(self) -> None:
        time.sleep(self.pause)
        self._answer(200, b'{"total":7,"items":[]}')

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(201, b'{"id":"018f0000-0000-7000-8000-000000000001"}')

    def log_request(self, *_: object) -> None:
        pass

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Service) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield "127.0.0.1", server.server_address[1]
        server.shutdown()


def test_a_stream_of_once_sends_every_request_and_ends(address: tuple[str, int]) -> None:
    body = b'{"title":"' + b"x" * 500_000 + b'"}'
    stream = Stream("posts", [post("/", body)] * 9, connections=2, once=True)
    [seen] = drive(address, [stream], seconds=60, warm_up=0)
    assert len(seen.ids) == 9
    assert seen.ids[0] == "018f0000-0000-7000-8000-000000000001"
    assert seen.unanswered == 0


def test_a_connection_that_was_closed_idle_is_opened_again(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Service, "timeout", 0.2)
    requests = [get("/")]
    [seen] = drive(address, [Stream("lookups", requests, connections=2, rate=2)], seconds=2, warm_up=0)
    assert seen.statuses == {200: len(seen.latencies)}
