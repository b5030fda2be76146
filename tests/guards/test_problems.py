"""Each kind of problem that the service answers, and each remedy of a field that is wrong.

`kinds` and `remedies` are the whole lists, taken from the classes of errors; `answers` has an example of each
kind. Kinds that only a broken or busy service answers are raised within a route that the test adds.
"""

import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import redis
from httpx import ASGITransport, AsyncClient, Response
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from app.api.http.admission import Capacity
from app.api.http.problems import REMEDIES
from app.services.books import Backlog
from app.settings import Settings
from bookprint_core.errors import BookprintError
from tests.api.conftest import started
from tests.api.library import prose
from tests.guards.recorded import compare, laid_out
from tests.readers.made_files import zipped
from tests.secret_search import ADMIN_KEY

Json = dict[str, Any]

HEADERS = ("WWW-Authenticate", "Allow", "ETag", "Vary", "Retry-After")
"""Fields of an answer that belong to its problem."""

NOBODY = UUID("0193508e-7a3c-7c19-9b54-2f1d6a0e4c11")
"""An id that no book has."""

RAISED: dict[str, tuple[Any, ...]] = {
    "body-too-slow": (10.0, 4_096),
    "changes-gone": (),
    "decided-meanwhile": (NOBODY, UUID(int=1)),
    "encrypted": ("The file needs a password.",),
    "evidence-too-long": ("12,000 pages match.",),
    "file-too-large": ("The file takes too long to read.",),
    "job-not-failed": (SimpleNamespace(id=7, state="done"),),
    "other-collection": ("partner",),
    "overloaded": ("Too many requests wait.", 2),
    "recipe-mismatch": ("Signatures of two recipes.",),
    "scope-missing": ("ingest",),
    "busy": ("PostgreSQL is busy.", 2),
    "unavailable": ("Redis does not answer.", 3),
    "foreign-form": ("https://example.org",),
    "text-not-kept": (f"The text of book {NOBODY}", "exact"),
    "too-long-for-binary": ("The record has 120,000 bytes.",),
    "unknown-key": (NOBODY,),
}
"""Arguments of the errors that no request here provokes, by their kinds."""

KNOWN = {str(NOBODY), str(UUID(int=1))}

POSTS: dict[str, Json] = {
    "no JSON": {"content": b'{"text": ', "headers": {"Content-Type": "application/json"}},
    "no media type that is read": {"content": b"a", "headers": {"Content-Type": "text/csv"}},
    "nothing": {"json": {}},
    "a list": {"json": []},
    "two texts": {"json": {"text": "A day.", "pages": ["A day."]}},
    "no letter": {"json": {"text": "…"}},
    "NUL": {"json": {"text": "a\0b"}},
    "external id of another book": {"json": {"text": "A day.", "external_id": "book-1"}},
    "no file": {"files": {"metadata": (None, "{}", "application/json")}},
    "two files": {"files": [("file", ("a", b"a")), ("file", ("b", b"b"))]},
    "form without an end": {
        "content": b"--a\r\nContent-Disposition: form-data",
        "headers": {"Content-Type": "multipart/form-data; boundary=a"},
    },
    "page of another site": {"json": {"text": "A day."}, "headers": {"Origin": "https://example.org"}},
    "another host": {"json": {"text": "A day."}, "headers": {"Host": "example.org"}},
}
FIELDS: dict[str, Json] = {
    "unknown": {"titel": "x"},
    "number for a string": {"title": 1984},
    "long string": {"title": "x" * 10_001},
    "empty string": {"external_id": ""},
    "control": {"title": "Emma\x1b"},
    "string for a list": {"authors": "Jane Austen"},
    "long list": {"authors": ["x"] * 1_001},
    "long author": {"authors": ["x" * 1_001]},
    "string for a number": {"year": "1984"},
    "fraction": {"year": 1984.5},
    "large number": {"year": 10_000},
    "small number": {"year": -10_000},
    "identifier without a scheme": {"identifiers": ["9780141439600"]},
    "no signatures": {"text": None, "signatures": {}},
    "string for an object": {"text": None, "signatures": "x"},
    "empty list": {"text": None, "pages": []},
    "many": {str(number): number for number in range(101)},
    "record": {"marc": {"leader": "x", "fields": []}},
}
FILES: dict[str, bytes] = {
    "picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "cut off": zipped({"a.txt": b"a day at the sea " * 90})[:60],
    "blank": b"<!DOCTYPE html><html><body></body></html>",
    "books": b'{"text": "A day."}\n{"text": "A night."}\n',
}
PATHS = (
    "/v1/nowhere",
    "/v1/books/7",
    f"/v1/books/{NOBODY}",
    "/v1/books?limit=x",
    "/v1/books?limit=0",
    "/v1/books?limit=99999999999999999999999",
    "/v1/books?cursor=x",
    "/v1/books/{0}/near-duplicates?d=129",
    "/v1/books/{0}/near-duplicates?d=1&k=1",
    "/v1/books/{0}/relations/{1}?exact=true",
    "/v1/books/{0}/relations/{0}",
    "/v1/books/{0}/completeness",
    "/v1/books/{0}/similar",
    "/v1/clusters/related-x",
    "/v1/jobs/99",
    f"/v1/webhooks/{NOBODY}",
    "/v1/changes?after=x",
    "/v1/audit?since=yesterday",
    "/changes/pages/99",
)
REQUESTS: dict[str, Json] = {
    "wrong method": {"method": "PATCH", "url": "/v1/books"},
    "media type that is not offered": {
        "method": "GET",
        "url": "/v1/books/{0}",
        "headers": {"Accept": "image/png"},
    },
    "old version": {
        "method": "PATCH",
        "url": "/v1/books/{0}",
        "json": {"title": "A"},
        "headers": {"If-Match": '"99"'},
    },
    "external id that is taken": {
        "method": "PATCH",
        "url": "/v1/books/{0}",
        "json": {"external_id": "book-2"},
    },
    "decision without a form": {"method": "PUT", "url": "/v1/books/{0}/relations/{1}/decision", "json": {}},
    "nothing to confirm": {
        "method": "PUT",
        "url": "/v1/books/{0}/relations/{1}/decision",
        "json": {"verdict": "confirmed"},
    },
    "nothing to withdraw": {"method": "DELETE", "url": "/v1/books/{0}/relations/{1}/decision"},
    "private webhook": {"method": "POST", "url": "/v1/webhooks", "json": {"url": "https://127.0.0.1/"}},
    "recipe that is unknown": {
        "method": "POST",
        "url": "/v1/lookups",
        "json": {"fingerprint": {"recipe": "x", "hex": "00" * 16}},
    },
    "recipe that is not indexed": {
        "method": "POST",
        "url": "/v1/lookups",
        "json": {"fingerprint": {"recipe": "tf-simhash128-v1", "hex": "00" * 16}},
    },
    "identifier that is none": {"method": "POST", "url": "/v1/lookups", "json": {"identifier": "bp1:x"}},
    "reconciliation without a query": {
        "method": "POST",
        "url": "/reconcile",
        "data": {"queries": '{"q": {"query": ""}}'},
    },
}
_SECONDS = re.compile(r"\b\d+ seconds")
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=request )[0-9a-f]{32}")


@pytest.mark.timeout(900)  # on a busy machine
async def test_problems_are_as_recorded(module_database_url: str, module_redis_url: str) -> None:
    urls = {"DATABASE_URL": module_database_url, "REDIS_URL": module_redis_url}
    answers: dict[str, Response] = {}
    async with _asking(**urls, BOOKPRINT_AUTH="off") as client:
        for name, request in await _wrong(client):
            answers[name] = await client.request(**request)
        with redis.Redis.from_url(module_redis_url) as index:
            index.flushdb()
        answers["lookup while the index is rebuilt"] = await client.post("/v1/lookups", json={"text": "a b"})
        answers["question whether all is ready"] = await client.get("/health/ready")
    async with _asking(**urls, BOOKPRINT_AUTH="off", BOOKPRINT_MAX_BODY_BYTES=2_000) as client:
        answers["body too large"] = await client.post("/v1/books", json={"text": "a" * 3_000})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Backlog.__init__, "__defaults__", (1,))
            async with _asking(**urls, BOOKPRINT_AUTH="off") as full:
                answers["one book too many"] = await full.post("/v1/books", json={"text": prose(9, 50)})
    async with _asking(**urls, BOOKPRINT_AUTH="keys", **KEYS) as client:
        answers["no key"] = await client.get("/v1/books")
        answers["one attempt too many"] = await client.get("/v1/books")
    assert [name for name, answer in answers.items() if answer.status_code < 400] == []
    told = {name: _told(answer) for name, answer in answers.items()}
    kinds = [_said(kind) for kind in _kinds(BookprintError)]
    unseen = {kind["type"] for kind in kinds} - {
        answer["type"].rpartition(":")[2] for answer in told.values()
    }
    assert unseen == set(), "provoke these, too"
    kinds = sorted(kinds, key=lambda kind: list(map(str, kind.values())))
    compare("problems", "problems.json", laid_out({"answers": told, "kinds": kinds, "remedies": REMEDIES}))


KEYS = {"BOOKPRINT_ADMIN_KEY": ADMIN_KEY, "BOOKPRINT_ATTEMPTS_PER_MINUTE": 1}


@asynccontextmanager
async def _asking(**variables: Any) -> AsyncIterator[AsyncClient]:
    """A client of the application with these variables, and with a route that raises what its path names."""
    async with started(Settings(**variables), Capacity(longest_wait=600)) as app:
        app.router.routes.insert(0, Route("/raised/{kind}", _raise))
        transport = ASGITransport(app, raise_app_exceptions=False)
        async with AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            yield client


async def _raise(request: Request) -> None:
    match request.path_params["kind"]:
        case "http":
            raise HTTPException(418, "The service is a teapot")
        case "unforeseen":
            raise RuntimeError("a fault")
        case name:
            [kind, *_] = [kind for kind in _kinds(BookprintError) if kind.problem == name]
            raise kind(*RAISED[name])


def _kinds(root: type[BookprintError]) -> Iterator[type[BookprintError]]:
    """The classes that say what they are; other tests run modules of the application a second time."""
    is_own = root.__module__ in sys.modules
    if is_own and ("problem" in vars(root) or "remedy" in vars(root)):
        yield root
    for kind in root.__subclasses__():
        yield from _kinds(kind)


def _said(kind: type[BookprintError]) -> dict[str, Any]:
    return {
        "type": kind.problem,
        "status": kind.status,
        "title": kind.title,
        "remedy": kind.remedy,
        "field": kind.field,
    }


async def _wrong(client: AsyncClient) -> list[tuple[str, Json]]:
    """Requests that are refused, each with a name."""
    ids = [
        (await client.post("/v1/books", json={"text": prose(seed), "external_id": f"book-{seed}"})).json()[
            "id"
        ]
        for seed in (1, 2)
    ]
    posts = {name: {"method": "POST", "url": "/v1/books", **sent} for name, sent in POSTS.items()}
    fields = {
        f"field: {name}": {"method": "POST", "url": "/v1/books", "json": {"text": "A day."} | body}
        for name, body in FIELDS.items()
    }
    files = {
        f"file: {name}": {"method": "POST", "url": "/v1/books", "files": {"file": (f"a book, {name}", data)}}
        for name, data in FILES.items()
    }
    gets = {f"GET {path}": {"method": "GET", "url": path.format(*ids)} for path in PATHS}
    others = {name: request | {"url": request["url"].format(*ids)} for name, request in REQUESTS.items()}
    raised = {
        f"raised: {kind}": {"method": "GET", "url": f"/raised/{kind}"}
        for kind in (*RAISED, "http", "unforeseen")
    }
    return [*(posts | fields | files | gets | others | raised).items()]


def _told(answer: Response) -> Json:
    """The problem, and the header fields that belong to it."""
    assert answer.headers["Content-Type"] == "application/problem+json"
    text = _ID.sub(lambda found: found[0] if found[0] in KNOWN else "<id>", answer.text)
    told: Json = json.loads(_SECONDS.sub("<some> seconds", text))
    headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
    if answer.status_code == 429:
        headers.pop("Retry-After")
    return told | ({"headers": headers} if headers else {})
