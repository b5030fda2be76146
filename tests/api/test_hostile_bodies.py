"""Bodies made to cost much: each is refused within bounds, and the service lives on."""

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection

import httpx
import pytest

from tests.api.service_process import Server, longest_wait

SECONDS = 6.0  # of processor time
GROWTH = 1 << 30
LIMIT = 64 * 1024 * 1024

JSON = {"Content-Type": "application/json"}


MEGABYTE = 1 << 20


def filled(before: bytes, part: bytes, after: bytes, size: int = 8 * MEGABYTE) -> bytes:
    """`part` repeated until the whole has about `size` bytes."""
    return before + part * ((size - len(before) - len(after)) // len(part)) + after


HOSTILE = {
    "a million pages": lambda: b'{"pages": [' + b'"a",' * 999_999 + b'"a"]}',
    "millions of pages": lambda: filled(b'{"pages": [', b'"",', b'"a"]}', 60 * MEGABYTE),
    "pages that are numbers": lambda: filled(b'{"pages": [', b"1,", b"1]}"),
    "a million authors": lambda: filled(b'{"text": "a", "authors": [', b'"a",', b'"a"]}'),
    "empty lists": lambda: filled(b'{"text": "a", "x": [', b"[],", b"1]}"),
    "lists of one": lambda: filled(b'{"text": "a", "authors": [', b"[0],", b"1]}", 60 * MEGABYTE),
    "empty objects": lambda: filled(b'{"text": "a", "x": [', b"{}, ", b"1]}"),
    "unknown fields": lambda: b"{" + b",".join(b'"%x":0' % n for n in range(1_000_000)) + b"}",
    "one field again and again": lambda: filled(b"{", b'"a":0,', b'"b":0}', 60 * MEGABYTE),
    "brackets": lambda: b"[" * 8 * MEGABYTE,
    "quotes": lambda: b'"' * 8 * MEGABYTE,
    "escaped quotes": lambda: b'{"text": "' + b'\\"' * 30 * MEGABYTE,
    "backslashes": lambda: b'{"text": "' + b"\\" * 8 * MEGABYTE + b'"}',
    "brackets after an open string": lambda: b'"\\' * 4 * MEGABYTE + b"[" * 4 * MEGABYTE,
    "a giant integer": lambda: b'{"year": ' + b"9" * 8 * MEGABYTE + b"}",
    "a giant fraction": lambda: b'{"year": 0.' + b"9" * 8 * MEGABYTE + b"}",
    "white space": lambda: b'{"text":' + b" " * 8 * MEGABYTE + b"1}",
    "lines": lambda: b'{"text":' + b"\n" * 60 * MEGABYTE + b"\xff}",
    "one name again and again": lambda: b'"text"' * 8 * MEGABYTE,
    "a giant name": lambda: b'{"' + b"a" * 8 * MEGABYTE + b'": 1}',
    "a giant title": lambda: b'{"text": "a", "title": "' + b"a" * 8 * MEGABYTE + b'"}',
    "a giant identifier": lambda: b'{"text": "a", "identifiers": ["' + b"a:" * 4 * MEGABYTE + b'"]}',
    "a text of blanks": lambda: b'{"text": "' + b" " * 60 * MEGABYTE + b'"}',
    "a text of form feeds": lambda: b'{"text": "' + b"\\f" * 4 * MEGABYTE + b'"}',
    "a text of marks": lambda: b'{"text": "' + "\u0301\u0316".encode() * 15 * MEGABYTE + b'"}',
    "a letter with marks": lambda: b'{"text": "a' + "\u0301\u0316".encode() * 2 * MEGABYTE + b'"}',
}


COSTLY = {
    "escaped quotes",
    "brackets after an open string",
    "a text of blanks",
    "a text of marks",
}
"""Files that take more than half a second of processor time."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in COSTLY else []) for name in HOSTILE],
)
def test_hostile_body_is_refused_quickly_and_the_service_lives_on(server: Server, name: str) -> None:
    before, started = server.forget_peak(), server.processor_seconds()

    response = httpx.post(f"{server.url}/v1/books", content=HOSTILE[name](), headers=JSON, timeout=None)

    seconds, growth = server.processor_seconds() - started, server.peak_bytes() - before
    print(f"{response.status_code} after {seconds:.2f} s and {growth / 1e6:.0f} MB: {response.text[:200]}")
    assert 400 <= response.status_code < 500
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["errors"][0]["field"]
    assert seconds < SECONDS
    assert growth < GROWTH
    assert httpx.get(f"{server.url}/health/ready", timeout=None).status_code == 200


def test_declared_body_over_the_limit_is_refused_before_it_is_sent(server: Server) -> None:
    connection = HTTPConnection("127.0.0.1", server.port)
    connection.putrequest("POST", "/v1/books")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(LIMIT + 1))
    connection.endheaders()

    with closing(connection), connection.getresponse() as response:
        problem = json.load(response)
        assert (response.status, response.headers["Content-Type"]) == (413, "application/problem+json")
        assert problem["errors"][0]["field"] == "body"
        assert str(LIMIT) in problem["detail"]


@pytest.mark.parametrize("length", ["9" * 30, "0" * 30 + str(LIMIT + 1), "0" * 5000 + str(LIMIT + 1)])
def test_absurd_content_length_is_refused(server: Server, length: str) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(
            b"POST /v1/books HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: " + length.encode() + b"\r\n\r\n"
        )
        answer = connection.recv(65536)

    assert answer.split()[1] in {b"400", b"413"}


def test_endless_stream_is_refused_at_the_limit(server: Server) -> None:
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        yield b'{"text": "'
        while sent < 4 * LIMIT:
            sent += 1 << 20
            yield b"a" * (1 << 20)

    before = server.forget_peak()
    response = httpx.post(f"{server.url}/v1/books", content=endless(), headers=JSON, timeout=None)

    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    assert server.peak_bytes() - before < 4 * LIMIT


@pytest.mark.slow
def test_small_requests_are_answered_while_a_body_of_exactly_the_limit_is_taken_in(server: Server) -> None:
    text = b"a fresh word " * (LIMIT // 13)
    body = b'{"text": "' + text[: LIMIT - 12] + b'"}'
    assert len(body) == LIMIT

    def post() -> None:
        response = httpx.post(f"{server.url}/v1/books", content=body, headers=JSON, timeout=None)
        assert response.status_code == 201

    assert longest_wait(server, post) < 2
