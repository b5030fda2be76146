"""What the service finds in a library: ingested, then each of its relate jobs run; or its corpus loaded."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from app.services.books import IngestRun
from app.services.bulk.ingest import ingest_in_bulk
from app.settings import Settings
from app.stores.postgres.connections import SQL
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.clusters.clustering import KINDS, By
from bookprint_core.matching.candidates import SelectionLimits
from bookprint_core.matching.search import LAST_DISTANCE, plan_candidates, proposed, related_entries
from bookprint_readers.files import find, unread_books
from tests.engines.findings import Candidate, Findings, Membership, Pair
from tests.factories import ACTOR
from tests.open_services import OpenServices, open_with_stores
from tests.paged_books import load_corpus, run_jobs, with_limits

_BOOKS = SQL("SELECT id, external_id, entry_id FROM books ORDER BY id")
_RELATIONS = SQL("SELECT * FROM relations")
_MEMBERS = SQL("SELECT by, book_id, founder_id FROM cluster_members")
_PASSED_OVER = SQL(
    "SELECT external_id, passed_over FROM related_entries JOIN books USING (entry_id) WHERE passed_over > 0"
)
_COLUMNS = ("kind", "direction", "confidence", "classifier", "left_because", "right_because", "link")
_DOCUMENTS = ("confidences", "signals")


async def findings_of_service(
    database_url: str, redis_url: str, path: Path, limits: SelectionLimits
) -> Findings:
    """What the service finds in the books of a file, or of a corpus in a folder, which have external ids."""
    # As in a corpus, which has no texts: else they tell of books what is revised.
    settings = Settings(database_url=database_url, redis_url=redis_url, texts="none")
    async with open_with_stores(settings) as services:
        if await asyncio.to_thread(path.is_dir):
            await load_corpus(services, path)
        else:
            await _ingest(services, path)
        await run_jobs(services, with_limits(services, limits.nearest, limits.representatives))
        books = await services.database.rows(_BOOKS)
        names = {row["id"]: row["external_id"] for row in books}
        relations = {
            (names[row["left_id"]], names[row["right_id"]]): row
            for row in await services.database.rows(_RELATIONS)
        }
        return Findings(
            await _candidates(
                services, {row["entry_id"]: row["external_id"] for row in books}, limits.nearest
            ),
            {
                pair: {name: row[name] for name in (*_COLUMNS, *_DOCUMENTS, "unit")}
                for pair, row in relations.items()
            },
            {pair: _page_map(row) for pair, row in relations.items() if row["unit"] is not None},
            await _clusters(services, names),
            {row["external_id"]: row["passed_over"] for row in await services.database.rows(_PASSED_OVER)},
        )


async def _ingest(services: OpenServices, path: Path) -> None:
    files = find([path])
    with pytest.MonkeyPatch.context() as patch:
        # Ids of one millisecond are in no order, and of two books the one with the smaller id is the older.
        ids = _ascending_ids()
        patch.setattr("app.services.books.new_book_ids", lambda count: [next(ids) for _ in range(count)])
        await ingest_in_bulk(
            services.ingest,
            services.upkeep,
            unread_books(files, {}),
            run=IngestRun(),
            processes=2,
            tell=lambda book, outcome: None,
            actor=ACTOR,
        )


def _ascending_ids() -> Iterator[UUID]:
    number = 0x01935000_0000_7000_8000_000000000000
    while True:
        number += 1
        yield UUID(int=number)


async def _candidates(services: OpenServices, names: dict[int, str], nearest: int) -> dict[Pair, Candidate]:
    """The pairs in which either book is among the other one's nearest candidates.

    They are asked for once more when all books are known: relations do not tell which books a job found.
    """
    found: dict[Pair, Candidate] = {}
    for entry in [book.entry for book in await services.entries.read_summaries(list(names))]:
        plan = plan_candidates(entry, services.index.flat_index.latest)
        proposals = proposed(entry, plan, await services.index.read(plan))
        for other in related_entries(entry, proposals, [])[:nearest]:
            row = int(np.searchsorted(proposals.entry_ids, np.uint64(other)))
            distance = int(proposals.distances[row])
            left, right = sorted((entry.entry_id, other))
            found[names[left], names[right]] = Candidate(
                None if distance == LAST_DISTANCE else distance,
                int(proposals.candidates.shared[row]),
            )
    return found


def _page_map(row: Any) -> dict[str, Any]:
    return {
        "runs": [(*run["left"], *run["right"]) for run in row["runs"]],
        "pages": [tuple(cells) for cells in np.frombuffer(row["page_map"], "<i4").reshape(-1, 3).tolist()],
    }


async def _clusters(services: OpenServices, names: dict[UUID, str]) -> dict[tuple[str, str], Membership]:
    members = await services.database.rows(_MEMBERS)
    clusters: dict[tuple[By, UUID], list[UUID]] = {}
    for row in members:
        clusters.setdefault((row["by"], row["founder_id"]), []).append(row["book_id"])
    found: dict[tuple[str, str], Membership] = {}
    for (by, founder), books in clusters.items():
        best = (await services.clusters.read(ClusterName(by, founder), None, 1)).best
        for book in books:
            because = best.because if book == best.book_id else None
            found[by, names[book]] = Membership(names[founder], len(books), because is not None, because)
    assert {by for by, _ in clusters} <= KINDS.keys()
    return found
