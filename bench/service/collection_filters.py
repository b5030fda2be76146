"""Lookups with and without `collection=`, in turn on one library: what the filter takes of processor time.

One half of the books is in one collection, a tenth of the others in a second, a hundredth in a third. Each
round asks about the same books with and without the filter, in either order. Times are those of this process,
in which the application answers, and of its servers.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import psutil
from starlette.types import ASGIApp, Message

from app.embedded import Servers
from app.main import create_app
from app.settings import Settings
from bench.data.library_servers import Library, opened, reconcile
from bench.harness.report import CannotMeasure, Cell, Section, Table
from bench.service.service_process import processor_seconds

_BOOKS, _ROUNDS = 20_000, 12
_ASKED = 200  # lookups of either kind in a round
_QUERIES = {"verified": "", "d = 7": "d=7", "d = 23": "d=23", "k = 10": "k=10"}
_COLLECTIONS = {"half": "1 in 2", "tenth": "1 in 20", "hundredth": "1 in 200"}
_SHARE_OUT = """
    UPDATE books SET collection = CASE
        WHEN entry_id % 2 = 0 THEN 'half' WHEN entry_id % 20 = 1 THEN 'tenth'
        WHEN entry_id % 200 = 3 THEN 'hundredth' END
"""


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Ask a library of `--books` in `--rounds`; some five minutes."""
    library, rounds = Library(options.books or _BOOKS, texts=True), options.rounds or _ROUNDS
    with tempfile.TemporaryDirectory() as made, opened(library, options.data or Path(made)) as servers:
        asyncio.run(_share_out(servers))
        reconcile(servers)
        rows = asyncio.run(_rows(servers, rounds))
    return Section(
        title="Lookups in a collection",
        command=f"python -m bench collection_filters --books {library.books} --rounds {rounds}",
        tables=[
            Table(
                ["lookup", "books of the collection", "without, ms", "with, ms", "with / without"],
                rows,
                f"{library.title} books: processor time of a lookup, {rounds} rounds of {_ASKED}",
            )
        ],
    )


async def _share_out(servers: Servers) -> None:
    async with _connected(servers) as connection:
        await connection.execute(_SHARE_OUT)
        await connection.execute("VACUUM ANALYZE books")


@asynccontextmanager
async def _connected(servers: Servers) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(servers.database_url.replace("+psycopg", ""))
    try:
        yield connection
    finally:
        await connection.close()


async def _rows(servers: Servers, rounds: int) -> list[list[Cell]]:
    async with _connected(servers) as connection:
        ids = [str(row["id"]) for row in await connection.fetch("SELECT id FROM books LIMIT 5000")]
    app = create_app(
        Settings(DATABASE_URL=servers.database_url, REDIS_URL=servers.redis_url, BOOKPRINT_AUTH="off")
    )
    chosen, rows = random.Random(7), list[list[Cell]]()
    async with app.router.lifespan_context(app):
        for name, query in _QUERIES.items():
            for collection, share in _COLLECTIONS.items():
                filtered = f"{query}&collection={collection}".lstrip("&")
                spent = {query: 0.0, filtered: 0.0}
                for number in range(rounds + 1):
                    asked = chosen.sample(ids, _ASKED)
                    for each in (query, filtered) if number % 2 else (filtered, query):
                        seconds = await _seconds(app, asked, each)
                        spent[each] += seconds if number else 0.0  # the first round warms up
                without, beside = (1000 * spent[each] / rounds / _ASKED for each in (query, filtered))
                rows.append([name, share, round(without, 3), round(beside, 3), round(beside / without, 3)])
                print(f"  {rows[-1]}", flush=True)
    return rows


async def _seconds(app: ASGIApp, ids: Sequence[str], query: str) -> float:
    """The processor time of a lookup of each book."""
    process = psutil.Process()
    before = sum(processor_seconds(process).values())
    for each in ids:
        await _ask(app, f"/v1/books/{each}/near-duplicates", query)
    return sum(processor_seconds(process).values()) - before


async def _ask(app: ASGIApp, path: str, query: str) -> None:
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"localhost")],
        "state": {},
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message.get("status", 200) != 200:
            raise CannotMeasure(f"{path}?{query} was answered with {message['status']}.")

    await app(scope, receive, send)
