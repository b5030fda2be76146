"""Many books in one request: every line is answered for itself, in order, while the request still arrives."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from app.api.http.lines import Line, in_order, lines_of
from app.main import create_app
from app.settings import Settings
from tests.api.conftest import asking, started
from tests.api.library import prose
from tests.api.service_process import reconcile, serving
from tests.api.transport.real_server import listening

Json = dict[str, Any]
NDJSON = {"Content-Type": "application/x-ndjson"}
MAX_BODY_BYTES = 200_000


@pytest.fixture(scope="module")
async def port(module_settings: Settings) -> AsyncIterator[int]:
    """The port of a service in this process."""
    settings = module_settings.model_copy(update={"max_body_bytes": MAX_BODY_BYTES})
    async with started(settings) as app, listening(app) as port:
        yield port


@pytest.fixture
async def client(port: int) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        yield client


async def bulk(client: httpx.AsyncClient, body: bytes, headers: Json = NDJSON) -> httpx.Response:
    return await client.post("/v1/books:bulk", content=body, headers=headers)


def outcomes(response: httpx.Response) -> list[Json]:
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.text.splitlines()]


async def found(client: httpx.AsyncClient, external_id: str) -> list[Json]:
    """The books with this external id."""
    answer = await client.get("/v1/books", params={"external_id": external_id})
    books: list[Json] = answer.json()["items"]
    return books


def line(**body: Any) -> bytes:
    return json.dumps(body).encode() + b"\n"


class Conversation:
    """A request whose lines are sent one by one, and its answer, which is read meanwhile."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self._writer.drain()

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def head(self) -> bytes:
        return await self._reader.readuntil(b"\r\n\r\n")

    async def outcome(self) -> Json:
        """The next line; each is a chunk of its own."""
        size = int(await self._reader.readline(), 16)
        data = await self._reader.readexactly(size + 2)
        answer: Json = json.loads(data)
        return answer


@asynccontextmanager
async def conversation(port: int) -> AsyncIterator[Conversation]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /v1/books:bulk HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    try:
        yield Conversation(reader, writer)
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)  # until it is closed


async def test_answers_come_while_the_request_is_sent(port: int, client: httpx.AsyncClient) -> None:
    async with asyncio.timeout(120), conversation(port) as talk:
        for number in range(1, 4):
            await talk.send(line(text=prose(number, 300), external_id=f"talk:{number}"))
            if number == 1:
                assert (await talk.head()).startswith(b"HTTP/1.1 200")
            outcome = await talk.outcome()
            assert (outcome["line"], outcome["status"], outcome["created"]) == (number, 201, True)
        await talk.end()

    [book] = await found(client, "talk:3")
    assert (book["id"], book["identifier"]) == (outcome["id"], outcome["identifier"])


async def test_line_that_is_refused_spoils_no_other(client: httpx.AsyncClient) -> None:
    wrong = [
        b"{",
        b"\xff",
        b"[1]",
        b'"text"',
        b'{"text": 5}',
        b'{"text": "a", "titel": "x"}',
        b'{"text": "\\ud800"}',
        b'{"text": "x", "pages": ["x"]}',
        b'{"text": "' + b"x " * MAX_BODY_BYTES + b'"}',
        b'{"text": "other content", "external_id": "same"}',
    ]
    first = line(text=prose(2_000, 100), external_id="same")
    body = first + b"".join(each + b"\n" + line(text=f"Between {n}") for n, each in enumerate(wrong))

    answers = outcomes(await bulk(client, body))

    assert [answer["status"] for answer in answers[::2]] == [201] * (len(wrong) + 1)
    assert [answer["status"] for answer in answers[1::2]] == [
        *[400, 400, 422, 422, 422, 422, 422, 422],
        *[413, 409],
    ]
    for answer in answers[1::2]:
        assert answer["problem"]["type"].startswith("urn:bookprint:problem:")
        assert answer["problem"]["status"] == answer["status"]
    assert answers[-2]["problem"]["book_id"] == answers[0]["id"]


async def test_client_that_leaves_has_posted_whole_lines_alone(port: int, client: httpx.AsyncClient) -> None:
    whole, half = line(text=prose(3_000, 300), external_id="left:1"), line(text=prose(3_001, 300))
    async with asyncio.timeout(120), conversation(port) as talk:
        await talk.send(whole + half[:-10])
        await talk.head()
        assert (await talk.outcome())["status"] == 201

    await asyncio.sleep(0.5)
    assert len(await found(client, "left:1")) == 1
    lookup = await client.post("/v1/lookups?d=0", json=json.loads(half))
    assert lookup.json()["items"] == []


@pytest.mark.slow
async def test_client_that_does_not_read_is_not_read_from(
    module_database_url: str, module_redis_url: str
) -> None:
    refused = b"{}\n" * 20_000
    await asyncio.to_thread(reconcile, module_database_url, module_redis_url)
    with serving(module_database_url, module_redis_url) as server:
        async with conversation(server.port) as talk:
            before = server.forget_peak()

            async def send() -> None:
                for _ in range(500):
                    await talk.send(refused)

            with pytest.raises(TimeoutError):
                await asyncio.wait_for(send(), 5)  # short on purpose: the server stops reading
            assert server.peak_bytes() - before < 100 << 20
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
                assert await found(client, "nobody") == []


async def test_lines_answer_503_while_the_catalogue_is_down() -> None:
    nowhere = "127.0.0.1:9"
    app = create_app(Settings(database_url=f"postgresql://{nowhere}/none", redis_url=f"redis://{nowhere}"))
    async with app.router.lifespan_context(app), asking(app) as client:
        response = await client.post("/v1/books:bulk", content=line(text="x y") * 2, headers=NDJSON)

    for number, answer in enumerate(outcomes(response), start=1):
        assert (answer["line"], answer["status"]) == (number, 503)
        assert answer["retry_after"] >= 1
        assert answer["problem"]["type"] == "urn:bookprint:problem:unavailable"


async def parted(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], []),
        ([b"ab\ncd"], [(1, b"ab"), (2, b"cd")]),
        ([b"a", b"b", b"\n", b"", b"c\n"], [(1, b"ab"), (2, b"c")]),
        ([b"\n \n\r\nab\n"], [(4, b"ab")]),
        ([b"12345\n123456\n12345"], [(1, b"12345"), (2, None), (3, b"12345")]),
        ([b"1234", b"56", b"7\nab"], [(1, None), (2, b"ab")]),
        ([b"123456", b"\n"], [(1, None)]),
        ([b"123456", b"7" * 50], [(1, None)]),
    ],
)
async def test_lines_are_cut_out_of_any_parts(
    parts: list[bytes], expected: list[tuple[int, bytes | None]]
) -> None:
    held: list[int] = []
    cut = []
    async for line in lines_of(parted(*parts), 5, held.append):
        cut.append((line.number, line.text))
        held.append(-len(line.text or b""))
        assert 0 <= sum(held) <= 5 + max(map(len, parts))

    assert cut == expected


async def test_few_lines_are_in_work_at_once_and_answers_keep_their_order() -> None:
    most = working = 0

    async def answer(line: Line) -> bytes:
        nonlocal most, working
        working += 1
        most = max(most, working)
        await asyncio.sleep(0.01 if line.number % 3 else 0.03)
        working -= 1
        return str(line.number).encode()

    lines = lines_of(parted(b"x\n" * 30), 9, lambda _: None)  # nobody counts the bytes that are held
    answers = [int(each) async for each in in_order(lines, answer, at_once=4)]

    assert answers == list(range(1, 31))
    assert most == 4
