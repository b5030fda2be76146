"""Every wrong request is answered with a problem that names the field and what to do."""

import json
import re
from typing import Any

import pytest
from httpx import AsyncClient, Response

from app.api.http.examples import FINGERPRINT
from tests.api.library import prose

# The tests share one application: what is refused leaves nothing behind.

Json = dict[str, Any]

TEXT = "Nice day."
SIGNATURES = {
    "fingerprint": FINGERPRINT,
    "minhash": None,
    "pages": None,
    "word_count": 121533,
    "character_count": 652305,
    "single_words": 3480,
    "page_count": 330,
}


@pytest.fixture
def client(module_client: AsyncClient) -> AsyncClient:
    return module_client


async def stored(client: AsyncClient) -> list[Json]:
    """Every book."""
    items: list[Json] = (await client.get("/v1/books?limit=1000")).json()["items"]
    return items


def assert_problem(response: Response, status: int, field: str | None = None) -> None:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["type"].startswith("urn:bookprint:problem:")
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    assert all(error["detail"] and error["remedy"] for error in problem["errors"])
    # A brace that opens no JSON object is a place that was never filled in.
    assert not re.search(r"\{(?!\")", "".join(error["remedy"] for error in problem["errors"]))
    if field is not None:
        assert field in [error["field"] for error in problem["errors"]]


def signed(**changes: Any) -> Json:
    return {"signatures": SIGNATURES | changes}


# Those of tests/guards/test_problems.py are not repeated.
INVALID: dict[str, tuple[Json, str]] = {
    "text and signatures": ({"text": TEXT, **signed()}, "signatures"),
    "text is empty": ({"text": ""}, "text"),
    "page is null": ({"pages": [TEXT, None]}, "pages[1]"),
    "too many pages": ({"pages": ["a"] * 100_001}, "pages"),
    "author holds a bell": ({"text": TEXT, "authors": ["Jane", "Austen\a"]}, "authors[1]"),
    "year does not fit": ({"text": TEXT, "year": 1 << 31}, "year"),
    "identifier has a strange scheme": ({"text": TEXT, "identifiers": ["ısbn:1"]}, "identifiers[0]"),
    "no signature": (signed(fingerprint=None), "signatures"),
    "unknown recipe": (
        signed(fingerprint=FINGERPRINT | {"recipe": "x"}),
        "signatures.fingerprint.recipe",
    ),
}


@pytest.mark.parametrize("name", INVALID)
async def test_invalid_book_is_refused_and_the_field_named(client: AsyncClient, name: str) -> None:
    body, field = INVALID[name]
    before = await stored(client)

    assert_problem(await client.post("/v1/books", json=body), 422, field)
    if not field.startswith("identifier"):
        assert_problem(await client.post("/v1/lookups?d=7", json=body), 422, field)
    assert await stored(client) == before


CONTENT = {"text", "pages", "signatures.word_count"}
METADATA = {"title", "authors", "year"}

UNPARSABLE: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", 400, "body"),
    "cut short": (b'{"text": "a', 400, "body"),
    "array": (b'[{"text": "a"}]', 422, "body"),
    "NaN in a field": (b'{"text": "a", "year": NaN}', 422, "year"),
    "giant integer of a million digits": (b'{"year": ' + b"9" * 1_000_000 + b"}", 400, "body"),
    "giant exponent": (b'{"text": "a", "year": 1e999999}', 422, "year"),
    "deep lists in a field": (b'{"authors": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400, "body"),
    "deep objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400, "body"),
    "lone high surrogate": (b'{"text": "a \\ud800 b"}', 422, "body"),
    "surrogate as UTF-8": (b'{"text": "\xed\xa0\x80"}', 400, "body"),
    "latin-1": ('{"text": "café"}'.encode("latin-1"), 400, "body"),
    "raw NUL": (b'{"text": "a\0b"}', 400, "body"),
}


@pytest.mark.parametrize("name", UNPARSABLE)
async def test_body_that_is_not_json_is_refused(client: AsyncClient, name: str) -> None:
    body, status, field = UNPARSABLE[name]
    book = (await client.post("/v1/books", json={"text": prose(1, 50)})).json()
    before = await stored(client)
    headers = {"Content-Type": "application/json"}

    for method, path in (
        ("POST", "/v1/books"),
        ("POST", "/v1/lookups"),
        ("PATCH", book["links"]["self"]),
        ("PUT", f"{book['links']['self']}/content"),
    ):
        response = await client.request(method, path, content=body, headers=headers)
        # A well-formed body can fail first for a field that this path does not know.
        known = status == 400 or not (
            (method == "PATCH" and field in CONTENT) or (method == "PUT" and field in METADATA)
        )
        assert_problem(response, status, field if known else None)
    assert await stored(client) == before
    assert (await client.get(book["links"]["self"])).json()["version"] == 1


PARAMETERS = [
    ("d=-1", "d"),
    ("d=7.5", "d"),
    ("d=" + "9" * 10_000, "d"),
    ("k=0", "k"),
    ("limit=1001", "limit"),
    ("distance=7", "distance"),
]


@pytest.mark.parametrize(("query", "field"), PARAMETERS)
async def test_parameters_out_of_range_are_refused(client: AsyncClient, query: str, field: str) -> None:
    book = (await client.post("/v1/books", json={"text": TEXT})).json()

    assert_problem(await client.get(f"{book['links']['near_duplicates']}?{query}"), 422, field)
    assert_problem(await client.post(f"/v1/lookups?{query}", json={"text": TEXT}), 422, field)


@pytest.mark.parametrize("query", ["title=%ff%fe", "title=%ed%a0%80", "title=%F0%9F%93%96", "title=--"])
async def test_a_title_without_a_word_is_refused_rather_than_matched_by_every_book(
    client: AsyncClient, query: str
) -> None:
    assert_problem(await client.get(f"/v1/books?{query}"), 422, "title")


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ({"Content-Type": "text/plain"}, "Content-Type"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, "Content-Type"),
        ({"Content-Type": "application/xml"}, "Content-Type"),
        ({"Content-Type": "nonsense"}, "Content-Type"),
        ({"Content-Type": "application/json; charset=latin-1"}, "Content-Type"),
        ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, "Content-Encoding"),
    ],
)
async def test_body_that_is_declared_as_something_else_is_refused(
    client: AsyncClient, headers: dict[str, str], field: str
) -> None:
    content = json.dumps({"text": TEXT}).encode()

    assert_problem(await client.post("/v1/books", content=content, headers=headers), 415, field)


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/books/", "/v2/books", "/v1/lookups/x", "/%00", "/" + "a" * 5000]
)
async def test_unknown_path_is_a_problem_without_a_redirect(client: AsyncClient, path: str) -> None:
    assert_problem(await client.get(path), 404, "path")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/books", "GET, HEAD, POST"),
        ("POST", "/v1/books/0193508e-7a3c-7c19-9b54-2f1d6a0e4c11", "DELETE, GET, HEAD, PATCH"),
        ("GET", "/v1/books/0193508e-7a3c-7c19-9b54-2f1d6a0e4c11/content", "PUT"),
        ("GET", "/v1/lookups", "POST"),
        ("POST", "/health/live", "GET, HEAD"),
        ("PURGE", "/v1/books", "GET, HEAD, POST"),
    ],
)
async def test_wrong_method_is_a_problem_that_names_the_right_ones(
    client: AsyncClient, method: str, path: str, allowed: str
) -> None:
    response = await client.request(method, path)

    assert_problem(response, 405, "method")
    assert response.headers["allow"] == allowed
    assert allowed in response.json()["detail"]


async def test_endless_list_of_wrong_fields_is_not_repeated(client: AsyncClient) -> None:
    response = await client.post("/v1/books", json={f"field {n}": n for n in range(50_000)})

    assert_problem(response, 422, "body")
    assert len(response.content) < 2000
