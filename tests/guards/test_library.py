"""What a library of made books answers, once a worker has related them."""

import asyncio
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from httpx import AsyncClient, Response

from app.api.http.admission import Capacity
from app.settings import Settings
from tests.api.conftest import asking, started
from tests.api.library import prose, scanned
from tests.guards.made_library import NOVEL, SERMONS, made_library, rescanned
from tests.guards.recorded import compare, laid_out
from workers.process import run

Json = dict[str, Any]
Request = tuple[str, str, Json]
"""A method, a path in which books are named by their external ids, and what httpx takes."""

DIGITS = 6
"""Significant digits of a number that are compared: processors differ in the last."""

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
_TIME = re.compile(
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
    r"|\b\d{14}\.\d\b|\b\d{6}(?=s\d{4} )"  # fields 005 and 008 of MARC 21
)
_CURSORS = {"cursor", "next_cursor", "after"}


@pytest.mark.slow
@pytest.mark.timeout(900)  # on a busy machine
async def test_the_answers_of_a_made_library_are_as_recorded(
    module_database_url: str, module_redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(
        DATABASE_URL=module_database_url,
        REDIS_URL=module_redis_url,
        BOOKPRINT_COMPUTE="vectors",
        BOOKPRINT_AUTH="off",
    )
    books, answers = made_library(), dict[str, Json]()
    # A post waits for the index, however busy the machine is.
    monkeypatch.setattr("app.services.books.INDEX_SECONDS", 600.0)
    # Nothing is refused on a busy machine.
    async with started(settings, Capacity(longest_wait=600)) as app, asking(app) as client:
        posted = {book["external_id"]: await _posted(client, book) for book in books}
        ids = {name: book["id"] for name, book in posted.items()}
        await _related(client, settings, ids.values())
        for method, path, sent in _requests(posted["novel"]):
            name = _name(method, path, sent)
            assert name not in answers
            path = re.sub(r"\{([\w-]+)\}", lambda part: ids[part[1]], path)
            answers[name] = _answer(await client.request(method, path, **sent))
    names = {book_id.replace("-", ""): name for name, book_id in ids.items()}
    text = _ID.sub(lambda found: _named(found[0], names), json.dumps(_normal(answers), ensure_ascii=False))
    text = _TIME.sub("<time>", text)
    named: Json = json.loads(text)
    digest = hashlib.sha256(json.dumps(books, sort_keys=True).encode()).hexdigest()
    compare("library", "library.json", laid_out({"answers": named, "books": digest}))


def _named(found: str, names: Mapping[str, str]) -> str:
    """The name of a book in place of its id; 32 digits alone may also be a fingerprint."""
    return names.get(found.replace("-", ""), "<id>" if "-" in found else found)


def _name(method: str, path: str, sent: Json) -> str:
    """The request in words; those of one path differ in their parameters, or in the parts of their bodies."""
    accepted = sent.get("headers", {}).get("Accept")
    parameters = [f"{key}={value}" for key, value in sent.get("params", {}).items()]
    parts = [f"of {' and '.join(sent['json'])}"] if "json" in sent else []
    return " ".join([method, path, *parts, *parameters, *([f"as {accepted}"] if accepted else [])])


async def _posted(client: AsyncClient, book: Json) -> Json:
    answer = await client.post("/v1/books", json=book)
    assert answer.status_code == 201, answer.text
    stored: Json = answer.json()
    return stored


async def _related(client: AsyncClient, settings: Settings, books: Iterable[str]) -> None:
    """Have a worker relate the books one after the other, and measure their clusters."""
    worker = asyncio.create_task(run(settings, 1, parts=["jobs"]))
    for book_id in books:
        while (await client.get(f"/v1/books/{book_id}/relations?wait=30")).json()["pending"]:
            assert not worker.done()
    for by in ("same_text", "related"):
        while (await client.get(f"/v1/clusters?by={by}&limit=1")).json()["pending"]:
            assert not worker.done()
            await asyncio.sleep(0.2)
    worker.cancel()
    await asyncio.wait([worker])


def _requests(stored: Json) -> Iterator[Request]:
    """The questions, and the decisions between them; `stored` is the novel."""
    novel = "/v1/books/{novel}"
    yield "GET", novel, {}
    for media_type in ("application/ld+json", "application/marc-in-json", "application/marcxml+xml"):
        yield "GET", novel, {"headers": {"Accept": media_type}}
    yield "GET", "/v1/books", {"params": {"limit": 3}}
    yield "GET", "/v1/books", {"params": {"author": "Harbour", "year": 1921}}
    for book in ("novel", "sermons", "w0002-c00"):
        yield "GET", f"/v1/books/{{{book}}}/near-duplicates", {}
    for near in ({"d": 0}, {"d": 12}, {"d": 40}, {"k": 3}, {"k": 1, "collection": "partner"}):
        yield "GET", f"{novel}/near-duplicates", {"params": near}
    for sent, params in _lookups(stored):
        yield "POST", "/v1/lookups", {"json": sent, "params": params}
    yield "POST", "/v1/checks", _lines(_checks())
    for book in ("novel", "novel-volume-1", "omnibus", "w0001-c00"):
        yield "GET", f"/v1/books/{{{book}}}/relations", {}
    relation = f"{novel}/relations/{{novel-lacks-a-leaf}}"
    yield "GET", relation, {"params": {"exact": True}}
    for media_type in ("application/ld+json", "text/csv"):
        yield "GET", relation, {"headers": {"Accept": media_type}}
    yield "GET", f"{novel}/relations/{{omnibus}}", {}
    for params in ({"by": "same_text"}, {"by": "related", "limit": 5}, {"order": "agreement", "limit": 3}):
        yield "GET", "/v1/clusters", {"params": params}
    yield "GET", f"{novel}/cluster", {}
    yield "GET", f"{novel}/similar", {"params": {"k": 3}}
    for book in ("novel-lacks-a-leaf", "novel-misbound", "sermons"):
        yield "GET", f"/v1/books/{{{book}}}/completeness", {}
    yield "GET", "/v1/books/{omnibus}/contents", {}
    for by in ("isbn", "title", "text"):
        yield "GET", "/v1/conflicts", {"params": {"by": by}}
    yield "GET", "/v1/reviews", {"params": {"limit": 4}}
    decision = f"{novel}/relations/{{novel-edition}}/decision"
    yield "PUT", decision, {"json": {"verdict": "confirmed"}}
    yield "PUT", f"{novel}/relations/{{same-title}}/decision", {"json": {"kind": "SAME_TEXT"}}
    yield "DELETE", decision, {}
    yield "GET", "/v1/decisions", {}
    yield "GET", f"{novel}/cluster", {"params": {"by": "same_text"}}
    yield "GET", "/reconcile/suggest/entity", {"params": {"prefix": "the fe"}}
    queries = {"q": {"query": "The Ferry at Dawn", "limit": 3}}
    yield "POST", "/reconcile", {"data": {"queries": json.dumps(queries)}}
    yield "PATCH", "/v1/books/{sermons}", {"json": {"title": "Twenty sermons"}}
    yield "DELETE", "/v1/books/{leaflet}", {}
    yield "GET", "/v1/changes", {"params": {"limit": 8}}
    yield "GET", "/v1/changes", {"params": {"types": "book.deleted"}}
    yield "GET", "/v1/audit", {"params": {"limit": 4}}
    yield "GET", "/v1/library", {}


def _lookups(stored: Json) -> Iterator[tuple[Json, Json]]:
    """Bodies and parameters: texts, whole and in part, and signatures of a stored book."""
    yield {"pages": rescanned(NOVEL, 20)}, {}
    yield {"pages": rescanned(NOVEL, 20)}, {"d": 20}
    yield {"text": scanned(" ".join(NOVEL[3:9]), 24)}, {}
    yield {"text": scanned(SERMONS, 25)}, {"k": 2}
    yield {"text": prose(99, 900), "title": "Unknown"}, {}
    yield {"fingerprint": stored["fingerprint"]}, {"d": 25}
    yield {"identifier": stored["identifier"]}, {"k": 3}


def _checks() -> list[Json]:
    return [
        {"pages": rescanned(NOVEL, 21)},
        {"pages": rescanned(NOVEL[4:12], 22)},
        {"text": scanned(SERMONS, 23)},
        {"text": prose(99, 900)},
        {"isbn": "0-14-143960-2"},
        {"title": "The Ferry at Dawn", "authors": ["E. M. Harbour"], "year": 1913},
        {"title": "A book that nobody has"},
    ]


def _lines(rows: list[Json]) -> Json:
    content = "\n".join(map(json.dumps, rows)).encode()
    return {"content": content, "headers": {"Content-Type": "application/x-ndjson"}}


def _answer(answer: Response) -> Json:
    """The status and the body, which is a list of lines where it is not JSON."""
    kind, _, _ = answer.headers.get("Content-Type", "").partition(";")
    told: Json = {"status": answer.status_code}
    if kind == "application/x-ndjson":
        return told | {"lines": [json.loads(line) for line in answer.text.splitlines()]}
    if kind.endswith("json"):
        return told | {"body": answer.json()}
    return told | {"lines": answer.text.splitlines()}


def _normal(value: Any) -> Any:
    """The value with shortened numbers, and without cursors and what changes from run to run."""
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}")
        case dict():
            return {
                key: "<cursor>" if key in _CURSORS and part is not None else _normal(part)
                for key, part in value.items()
            }
        case list():
            return [_normal(part) for part in value]
        case _:
            return value
