"""Lists of clusters: pages of a library of 100,000 clusters, in each order and with filters."""

import argparse
import asyncio
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from app.embedded import Servers
from app.services.clusters import ClusterFilter, Clusters
from app.settings import Settings
from app.stores.postgres.connections import SQL, open_database
from app.wiring import open_services
from bench.data.library_servers import Library, opened
from bench.harness.report import Cell, Section, Table

_BOOKS = 250_000
_CLUSTERS = 100_000
_ROUNDS = 20
_PAGE = 100
_COLLECTION = "north"

# Every second or third book in order founds a cluster, and the books up to the next one are its members.
_MAKE = [
    SQL("TRUNCATE cluster_members, clusters"),
    SQL("""
        INSERT INTO cluster_members (by, book_id, founder_id)
        SELECT 'same_text', id, first_value(id) OVER (PARTITION BY number ORDER BY id)
        FROM (
            SELECT id, (row_number() OVER (ORDER BY id) - 1) * $clusters::bigint / $books::bigint AS number
            FROM books
        ) AS numbered
    """),
    SQL("""
        INSERT INTO clusters (by, founder_id, size, measured, agreement, kinds, best_id)
        SELECT by, founder_id, count(*), true, random(), '{"SAME_PAGINATION": 2}', founder_id
        FROM cluster_members GROUP BY by, founder_id
    """),
    SQL("""
        UPDATE books SET collection = $collection
        WHERE id IN (SELECT founder_id FROM clusters ORDER BY founder_id LIMIT 1000)
    """),
    SQL("ANALYZE clusters"),
    SQL("ANALYZE cluster_members"),
    SQL("ANALYZE books"),
]
_QUESTIONS = {
    "by size": ClusterFilter(),
    "by agreement": ClusterFilter(order="agreement"),
    "of three books or more, by agreement": ClusterFilter(least=3, order="agreement"),
    "of a collection with 1,000 clusters": ClusterFilter(collection=_COLLECTION),
}


def run(out_dir: Path, options: argparse.Namespace) -> Section:
    """Ask a library of `--books` with two clusters for five of its books, `--rounds` times each."""
    books = options.books or _BOOKS
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = stack.enter_context(opened(Library(books, texts=False), folder))
        table = asyncio.run(_ask(servers, books, options.rounds or _ROUNDS))
    return Section(
        title=f"Lists of clusters: pages of {_PAGE} from {books * _CLUSTERS // _BOOKS:,} clusters",
        command="python -m bench cluster_list",
        tables=[Table(["clusters", "ms (median)", "ms (95 %)"], table)],
    )


async def _ask(servers: Servers, books: int, rounds: int) -> list[list[Cell]]:
    values: dict[str, object] = {
        "books": books,
        "clusters": books * _CLUSTERS // _BOOKS,
        "collection": _COLLECTION,
    }
    settings = Settings(database_url=servers.database_url, redis_url=servers.redis_url)
    async with open_database(servers.database_url, 2) as database:
        for statement in _MAKE:
            await database.rows(statement, **values)
    async with open_services(settings) as services:
        return [
            [name, *await _times(services.clusters, wanted, rounds)] for name, wanted in _QUESTIONS.items()
        ]


async def _times(clusters: Clusters, wanted: ClusterFilter, rounds: int) -> tuple[float, float]:
    """Median and 95th percentile in milliseconds of the first pages, each behind the one before."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        page = await clusters.list_clusters("same_text", wanted, _PAGE)
        times.append(1000 * (time.perf_counter() - begun))
        last = page.clusters[-1]
        wanted = replace(wanted, after=(last.rank, last.founder_id) if page.more else None)
    return float(np.median(times)), float(np.percentile(times, 95))
