"""A library behind two services, one of which asks for keys, and a worker that relates its books."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from app.services.access.keys import Scope
from app.settings import Settings
from app.wiring import open_services
from tests.api.library import prose, scanned
from tests.api.service_process import reconcile, serving
from tests.factories import ACTOR, pages_of
from tests.waiting import eventually

HOSTILE = (
    "</title></textarea><script>window.hacked = 1</script>"
    '<img src=x onerror=\'window.hacked = 2\'>" onmouseover="window.hacked = 3" {{ 7 * 7 }} \u202eevil'
)
LONG = "Longest title " + "of ten thousand letters " * 100 + "x" * 7_586
"""A title as long as any may be, with one word that nothing breaks."""

_SCOPES: Mapping[str, Sequence[Scope]] = {
    "Rita Reader": ["read"],
    "Dora Decider": ["read", "decide"],
    "Emil Evaluator": ["read", "decide"],
    "Ada Admin": ["admin"],
}


@dataclass(frozen=True, slots=True)
class Site:
    """Where the services are, whose keys there are, and which books."""

    open_url: str  # asks for no key
    keyed_url: str
    books: Mapping[str, str]  # identifiers by name
    key_id: str  # of one of the keys
    keys: Mapping[str, str] = field(repr=False)  # by person

    def ask(self, path: str) -> Any:
        """What the API answers."""
        answer = httpx.get(self.open_url + path, timeout=60)
        answer.raise_for_status()
        return answer.json()

    def reset(self, one: str, other: str) -> None:
        """Take back what was decided of two books."""
        httpx.delete(f"{self.open_url}/v1/books/{one}/relations/{other}/decision", timeout=60)


@contextmanager
def open_site(database_url: str, redis_url: str) -> Iterator[Site]:
    """The library with its books related, until the block ends."""
    keys, key_id = _made_keys(database_url, redis_url)
    with (
        serving(database_url, redis_url) as open_service,
        serving(database_url, redis_url, BOOKPRINT_AUTH="keys") as keyed,
        _working(database_url, redis_url),
    ):
        books = _posted(open_service.url)
        site = Site(open_service.url, keyed.url, books, key_id, keys)
        for book in books.values():
            assert eventually(
                lambda book=book: not site.ask(f"/v1/books/{book}/relations?wait=10")["pending"]
            )
        yield site


def _made_keys(database_url: str, redis_url: str) -> tuple[dict[str, str], str]:
    """The keys by person, and the id of the reader's."""

    async def make() -> tuple[dict[str, str], str]:
        async with open_services(Settings(database_url=database_url, redis_url=redis_url)) as services:
            made = {
                name: await services.keys.create(name, list(scopes), None, actor=ACTOR)
                for name, scopes in _SCOPES.items()
            }
            keys = {name: each.text for name, each in made.items()}
            return keys, str(made["Rita Reader"].key.id)

    reconcile(database_url, redis_url)
    return asyncio.run(make())


@contextmanager
def _working(database_url: str, redis_url: str) -> Iterator[None]:
    environment = os.environ | {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    # In a session of its own, as it has all of a session give way to others.
    process = subprocess.Popen(
        [sys.executable, "-m", "workers"],
        env=environment,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(300)


def _posted(url: str) -> dict[str, str]:
    pages = pages_of(prose(1, 6_000))
    other = pages_of(prose(2, 3_000))

    def bad(rate: float, seed: int) -> list[str]:
        return [scanned(page, seed + place, rate) for place, page in enumerate(pages)]

    known: dict[str, Any] = {"authors": ["Melville, Herman"], "language": "en", "collection": "Whales"}
    bodies: dict[str, dict[str, Any]] = {
        "original": {
            "title": "Moby Dick",
            "year": 1851,
            "pages": pages,
            "page_labels": [str(place + 1) for place in range(len(pages))],
            "identifiers": ["isbn:9780142437247"],
        },
        "copy": {"title": "Moby-Dick; or, The Whale", "year": 1852, "pages": bad(0.02, 7)},
        "bad scan": {"title": "Moby Dick (scan)", "year": 1851, "pages": [*bad(0.06, 99)[:9], *pages[11:]]},
        "part": {"title": "The Whale, chapters", "year": 1860, "pages": pages[4:12]},
        "hostile": {
            "title": HOSTILE,
            "authors": [HOSTILE],
            "volume": HOSTILE[:900],
            "collection": "<b>x</b>",
            "pages": [*bad(0.01, 300), HOSTILE + " " + other[0]],
        },
        "long": {"title": LONG, "authors": ["y" * 1_000], "pages": [*pages[:12], *other[:8]]},
        "right to left": {"title": "كتاب الحيوان", "language": "ar", "pages": [*other, *pages[:2]]},
        "stranger": {
            "title": "Walden",
            "pages": pages_of(prose(9, 3_000)),
            "identifiers": ["isbn:9780142437247"],
        },
    }
    with httpx.Client(base_url=url, timeout=60) as client:
        answers = {name: client.post("/v1/books", json=known | body) for name, body in bodies.items()}
    assert {name: answer.text for name, answer in answers.items() if answer.status_code != 201} == {}
    return {name: answer.json()["id"] for name, answer in answers.items()}
