"""Books that are sent as files: what is answered, what outranks what, and what is refused."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import AsyncClient, Response

from bookprint_core.text.content import content_from_pages
from tests.api.library import prose
from tests.api.test_bad_input import assert_problem

# The tests share one application: they post different books.

ALTO = "application/xml"


@pytest.fixture
def client(module_client: AsyncClient) -> AsyncClient:
    return module_client


def alto(*pages: str) -> bytes:
    """A file of printed pages, ten words a line."""

    def page(text: str) -> str:
        words = text.split()
        lines = [words[start : start + 10] for start in range(0, len(words), 10)]
        strings = ["".join(f'<String CONTENT="{word}"/>' for word in line) for line in lines]
        return f"<Page>{''.join(f'<TextLine>{line}</TextLine>' for line in strings)}</Page>"

    return f"<?xml version='1.0'?><alto>{''.join(map(page, pages))}</alto>".encode()


async def sent(client: AsyncClient, path: str, data: bytes) -> Response:
    return await client.post(path, files={"file": ("folder/book.xml", data, ALTO)})


async def test_file_is_the_book_that_its_pages_are(client: AsyncClient) -> None:
    pages = [prose(seed, 300) for seed in (1, 2, 3)]

    response = await sent(client, "/v1/books", alto(*pages))

    book = response.json()
    assert response.status_code == 201, response.text
    assert response.headers["location"] == book["links"]["self"]
    assert response.headers["etag"] == '"1"'
    assert (book["format"], book["warnings"], book["page_count"]) == ("alto", [], 3)
    again = await client.post(
        "/v1/books", json={"pages": [content_from_pages([page]).text for page in pages]}
    )
    assert again.json()["fingerprint"] == book["fingerprint"]
    assert (again.json()["format"], again.json()["warnings"]) == (None, [])


async def test_lookup_by_file_finds_the_book(client: AsyncClient) -> None:
    pages = [prose(seed, 1_000) for seed in (5, 6)]
    book = (await sent(client, "/v1/books", alto(*pages))).json()

    response = await sent(client, "/v1/lookups?d=3", alto(*pages))

    assert response.status_code == 200, response.text
    answer = response.json()
    assert [item["id"] for item in answer["items"]] == [book["id"]]
    assert (answer["exact"], answer["format"], answer["warnings"]) == (True, "alto", [])
    in_json = (await client.post("/v1/lookups?d=3", json={"pages": pages})).json()
    assert (in_json["items"], in_json["format"], in_json["warnings"]) == (answer["items"], None, [])


REFUSED: dict[str, tuple[bytes, int, str]] = {
    "a program": (b"\x7fELF" + bytes(200), 415, "unsupported-format"),
    "nothing": (b"", 422, "no-text"),
    "lines of JSON": (b'{"text": "Nice day."}\n' * 2, 422, "several-books"),
    "damaged XML": (alto("a b c")[:-20], 422, "broken-file"),
    "blank pages": (alto("", ""), 422, "no-text"),
}


@pytest.mark.parametrize("path", ["/v1/books", "/v1/lookups"])
@pytest.mark.parametrize("name", REFUSED)
async def test_unusable_file_is_refused_with_its_reason(client: AsyncClient, path: str, name: str) -> None:
    data, status, kind = REFUSED[name]

    response = await sent(client, path, data)

    assert_problem(response, status, "file")
    assert response.json()["type"] == f"urn:bookprint:problem:{kind}"
    assert "folder" not in response.text


PARTS: dict[str, tuple[list[tuple[str, Any]], list[str]]] = {
    "no file": ([("metadata", (None, b"{}"))], ["file"]),
    "no filename": ([("file", (None, b"Nice day."))], ["file"]),
    "unknown part": ([("file", ("a", b"x")), ("titel", (None, b"x"))], ["titel"]),
    "unknown file": ([("file", ("a", b"x")), ("cover", ("c.jpg", b"x"))], ["cover"]),
    "two files": ([("file", ("a", b"x")), ("file", ("b", b"y"))], ["file"]),
    "metadata twice": (
        [("file", ("a", b"x")), ("metadata", (None, b"{}")), ("metadata", ("m", b"{}"))],
        ["metadata"],
    ),
    "several": ([("fil", ("a", b"x")), ("title", (None, b"x"))], ["fil", "title", "file"]),
}


@pytest.mark.parametrize("path", ["/v1/books", "/v1/lookups"])
@pytest.mark.parametrize("name", PARTS)
async def test_parts_that_are_wrong_are_named(client: AsyncClient, path: str, name: str) -> None:
    parts, fields = PARTS[name]

    response = await client.post(path, files=parts)

    assert_problem(response, 422)
    assert [error["field"] for error in response.json()["errors"]] == fields


async def test_name_of_the_file_is_shown_and_nothing_of_its_folder(client: AsyncClient) -> None:
    for name, shown in (("C:\\books\\a.xml", "a.xml"), ("../../etc/b.xml", "b.xml"), (" ", "The file")):
        response = await client.post("/v1/books", files={"file": (name, b"<alto><Page>")})
        assert response.json()["detail"].startswith(f"{shown} "), response.text


@pytest.fixture
def limit(module_application: FastAPI) -> Iterator[int]:
    """A limit of files for one test, in bytes."""
    state = module_application.state
    usual, state.max_file_bytes = state.max_file_bytes, 3_000_000
    yield state.max_file_bytes
    state.max_file_bytes = usual


@pytest.mark.parametrize("by_length", [True, False])
async def test_file_that_is_too_large_is_refused_while_it_arrives(
    client: AsyncClient, limit: int, by_length: bool
) -> None:
    taken = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal taken
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        while taken < 100:
            taken += 1
            yield b"a" * 100_000

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    if by_length:
        headers["Content-Length"] = "10000100"
    response = await client.post("/v1/books", content=parts(), headers=headers)

    assert_problem(response, 413, "file")
    assert response.json()["type"] == "urn:bookprint:problem:file-too-large"
    assert "BOOKPRINT_MAX_BODY_BYTES" in response.json()["detail"]
    assert taken * 100_000 < 2 * limit
    assert (await client.get("/health/live")).status_code == 200
