"""Pages for people beside the calls of the API that tell the same: the time of each, and a page's size.

Both are asked in turn of one process, in either order.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

import httpx
import numpy as np

from app.embedded import Servers
from app.main import create_app
from app.settings import Settings
from app.stores.postgres.connections import SQL, open_database
from app.synthesis.noise import corrupt
from bench.data.library_servers import Library, opened, reconcile
from bench.harness.report import CannotMeasure, Cell, Section, Table

_BOOKS, _ROUNDS = 10_000, 20
_PAGES, _WORDS = 1_000, 250
"""Of the two long books that are compared."""

_ENTRY = SQL("SELECT entry_id FROM books WHERE id = $id")
_A_BOOK = SQL("SELECT id FROM books LIMIT 1")


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Ask a library of `--books` for each page in `--rounds`; some minutes."""
    library, rounds = Library(options.books or _BOOKS, texts=True), options.rounds or _ROUNDS
    with tempfile.TemporaryDirectory() as made, opened(library, options.data or Path(made)) as servers:
        reconcile(servers)
        rows = asyncio.run(_rows(servers, rounds))
    return Section(
        title="Pages for people",
        command=f"python -m bench pages --books {library.books} --rounds {rounds}",
        tables=[
            Table(
                ["page", "page, ms", "API, ms", "page / API", "KB"],
                rows,
                f"{library.title} books and two of {_PAGES:,} pages; medians of {rounds} rounds",
            )
        ],
    )


async def _rows(servers: Servers, rounds: int) -> list[list[Cell]]:
    app = create_app(
        Settings(DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url, BOOKPRINT_AUTH="off")
    )
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        open_database(servers.database_url, 1) as database,
        httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as client,
    ):
        [found] = await database.rows(_A_BOOK)
        pair = [await _posted(client, pages) for pages in _two_books()]
        for book in pair:
            [row] = await database.rows(_ENTRY, id=UUID(book))
            await app.state.services.relate.relate_entry(row["entry_id"])
        return [
            [name, *await _measured(client, page, calls, rounds)]
            for name, (page, calls) in _asked(str(found["id"]), *pair).items()
        ]


def _asked(book: str, left: str, right: str) -> Mapping[str, tuple[str, Sequence[str]]]:
    """The pages, and the calls that tell the same."""
    pair = f"/v1/books/{left}/relations/{right}"
    return {
        "library": ("/", ["/v1/library", "/v1/changes?limit=10"]),
        "books": ("/books", ["/v1/books?limit=50"]),
        "a book": (
            f"/books/{book}",
            [f"/v1/books/{book}{part}" for part in ("", "/near-duplicates", "/relations")],
        ),
        "a long book": (
            f"/books/{left}",
            [f"/v1/books/{left}{part}" for part in ("", "/near-duplicates", "/relations")],
        ),
        "a pair of long books": (f"/pairs/{left}/{right}", [pair, "/v1/decisions?limit=50"]),
        "review": ("/review", ["/v1/reviews?limit=6", pair, "/v1/decisions?limit=100"]),
        "clusters": ("/clusters", ["/v1/clusters"]),
        "conflicts": ("/conflicts?by=isbn", ["/v1/conflicts?by=isbn"]),
    }


async def _measured(client: httpx.AsyncClient, page: str, calls: Sequence[str], rounds: int) -> list[Cell]:
    """Milliseconds of the page and of the calls, their ratio, and the size of the page."""
    times: dict[bool, list[float]] = {True: [], False: []}
    size = 0
    for number in range(rounds + 1):
        for is_page in (True, False) if number % 2 else (False, True):
            begun = time.perf_counter()
            for path in [page] if is_page else calls:
                answer = await client.get(
                    path, headers={"Accept": "text/html" if is_page else "application/json"}
                )
                if answer.status_code != 200:
                    raise CannotMeasure(f"{path} was answered with {answer.status_code}.")
                size = len(answer.content) if is_page else size
            if number:  # the first round warms up
                times[is_page].append(1000 * (time.perf_counter() - begun))
    own, api = (float(np.median(times[is_page])) for is_page in (True, False))
    return [round(own, 1), round(api, 1), round(own / api, 2), round(size / 1000, 1)]


def _two_books() -> list[list[str]]:
    """A book of many pages, and a badly read copy of it."""
    chosen = random.Random(7)
    words = ["".join(chosen.choices("abcdefghijklmnoprstuvw", k=chosen.randint(2, 9))) for _ in range(8_000)]
    pages = [" ".join(chosen.choices(words, k=_WORDS)) for _ in range(_PAGES)]
    rng = np.random.default_rng(7)
    return [pages, [corrupt(page, 0.02, rng) for page in pages]]


async def _posted(client: httpx.AsyncClient, pages: Sequence[str]) -> str:
    answer = await client.post("/v1/books", json={"title": "A long book", "pages": pages})
    if answer.status_code != 201:
        raise CannotMeasure(f"A book was answered with {answer.status_code}.")
    book: str = answer.json()["id"]
    return book
