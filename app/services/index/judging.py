"""Judges what a lookup found by where the books share text, which Postgres knows and the index does not."""

import asyncio
from collections.abc import Mapping
from uuid import UUID

import numpy as np

from app.stores.postgres.entries import EntryStore
from bookprint_core.index.records import Hits
from bookprint_core.matching.verification import VERIFICATION, Evidence, evidence_of_each, is_named
from bookprint_core.model import BookSummary, Entry
from bookprint_core.relations.related import outranking

_MOST_JUDGED = 1_000
"""Hits whose samples are read; each takes 2.5 kilobytes. The nearest come first, and copies lie nearer."""


async def judged(
    entries: EntryStore,
    query: Entry,
    hits: Hits,
    known: Mapping[int, Evidence],
    book_id: UUID | None,
    common: bool,
) -> tuple[Hits, dict[int, tuple[BookSummary, Evidence]]]:
    """The hits without those that share common matter alone, and the far ones with their whole evidence.

    Copies lie so near that their samples need not be read. `known` is the evidence of hits that are not in
    the index yet, `book_id` the query where it is stored. With `common` no hit is left out.
    """
    if query.sample is None or query.sample.places is None:
        return hits, {}
    far = hits.entry_ids[hits.distances > VERIFICATION.distance_unsampled][:_MOST_JUDGED].tolist()
    unread = [entry_id for entry_id in far if entry_id not in known]
    books = await entries.read_summaries(unread) if unread else []
    evidence = await asyncio.to_thread(evidence_of_each, query, [book.entry for book in books])
    read = {book.entry.entry_id: (book, each) for book, each in zip(books, evidence, strict=True)}
    every = {**known, **{entry_id: each for entry_id, (_, each) in read.items()}}
    doubted = {entry_id for entry_id, each in every.items() if each.where is not None and not is_named(each)}
    if doubted and not common:
        if book_id is not None:
            current = await entries.read_current_hits(sorted(doubted), Hits.none().entry_ids, book_id)
            for entry_id, book in current.summaries.items():
                if outranking(current.relations.get(book.book_id)):
                    doubted.remove(entry_id)
        hits = hits.without(np.array(sorted(doubted), dtype=np.uint64))
    return hits, read
