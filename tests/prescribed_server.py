"""A real HTTP server whose answers a test prescribes."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = tuple[int, dict[str, str], object]  # status, headers, JSON or bytes
CREATED: Answer = (201, {}, {"created": True, "status": "indexed"})
BUSY: Answer = (503, {"Retry-After": "0"}, {"title": "Unavailable", "detail": "Postgres is away."})


class Prescribed(ThreadingHTTPServer):
    """Answers every post with what `answer` says of its body."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer: Callable[[dict[str, object]], Answer] = lambda body: CREATED
        self.read: Callable[[bytes], dict[str, object]] = json.loads
        self.bodies: list[dict[str, object]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Prescribed

    def do_GET(self) -> None:
        self._send((200, {}, {}))

    def do_POST(self) -> None:
        body = self.server.read(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self._send(self.server.answer(body))

    def _send(self, answer: Answer) -> None:
        status, headers, document = answer
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def prescribing() -> Iterator[Prescribed]:
    """A server that answers until the block ends."""
    with Prescribed() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
