"""Judging the hits of a lookup by the catalogue, by relations, and by the places of shared text.

Deletions, relations and places are stored in Postgres and not in the index.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from app.services.index.questions import AnswerPage, Match, Question, Verified, matches_of
from app.stores.postgres.entries import EntryStore
from bookprint_core.index.records import Hits
from bookprint_core.matching.verification import VERIFICATION, are_joined, have_common_matter
from bookprint_core.model import Entry
from bookprint_core.relations.related import RelationSummary, outranking

_JUDGED_AT_ONCE = 1_000
"""Maximum number of far hits whose samples one statement reads, 2.5 kilobytes each."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """The hits in the answer of a lookup, and one page of them."""

    hits: Hits
    matches: list[Match]  # matches on the page
    relations: dict[UUID, RelationSummary]  # of the query book with books of the page, by their ids


async def judged(
    entries: EntryStore,
    query: Entry,
    hits: Hits,
    pending: Mapping[int, Match],
    page: AnswerPage,
    question: Question,
) -> Judged:
    """Return the hits that are current and in the page's collection.

    A verified lookup leaves out refuted hits, and hits whose places show that they share nothing or only
    common matter. With common matter asked for, it leaves out only hits that share nothing. Copies are so
    near that their samples are not read. All other hits are judged, because the total counts them. One
    statement reads the page and the first portion of these hits. Further statements read more portions, or a
    shifted page. `pending` are hits with complete evidence.
    """
    verifies = isinstance(question, Verified)
    common = isinstance(question, Verified) and question.common
    is_far = hits.distances > VERIFICATION.distance_unsampled
    if not verifies or query.sample is None or query.sample.places is None:
        is_far[:] = False
    near, far = hits.entry_ids[~is_far], hits.entry_ids[is_far]
    if verifies or page.collection is not None:
        asked, start, most = hits.entry_ids, page.start(hits), _JUDGED_AT_ONCE if verifies else page.limit
        read = await entries.read_hits(
            near, far, start, page.limit, most, book_id=page.book_id, collection=page.collection
        )
    else:
        asked = page.cut_out(hits).entry_ids
        read = await entries.read_hits(asked, far, others=hits.entry_ids, book_id=page.book_id)
    relations, matches = dict(read.relations), dict[int, Match]()
    hits = hits.without(np.concatenate([np.setdiff1d(asked, read.entry_ids), read.deleted]))
    unread = far[:0]
    if verifies:
        if not common:
            hits = hits.without(_ids(each for each in relations if outranking(relations[each]) is False))
        known = _ids([*pending, *(book.entry.entry_id for book in read.summaries)])
        unread = far[np.isin(far, hits.without(known).entry_ids)]
    while True:
        if far.size:  # a thousand samples need a tenth of a second
            matches |= await asyncio.to_thread(matches_of, query, read.summaries)
        else:
            matches |= matches_of(query, read.summaries)
        matches |= pending
        if verifies:
            doubted = (each for each in matches if not _is_named(matches[each], relations.get(each), common))
            hits = hits.without(_ids(doubted))
        shown = page.cut_out(hits).entry_ids.tolist()
        matches = {entry_id: matches[entry_id] for entry_id in shown if entry_id in matches}
        asked, unread = unread[:_JUDGED_AT_ONCE], unread[_JUDGED_AT_ONCE:]
        if not asked.size:
            asked = _ids(entry_id for entry_id in shown if entry_id not in matches)
        if not asked.size:
            break
        is_far = np.isin(asked, far)
        read = await entries.read_hits(asked[~is_far], asked[is_far], book_id=page.book_id)
        relations |= read.relations
        hits = hits.without(np.setdiff1d(asked, read.entry_ids))
    found = {match.book.book_id: relations.get(entry_id) for entry_id, match in matches.items()}
    effective = {book_id: relation for book_id, relation in found.items() if relation is not None}
    return Judged(hits, list(matches.values()), effective)


def _is_named(match: Match, relation: RelationSummary | None, common: bool) -> bool:
    """Return whether an answer contains a match; `relation` is its effective relation."""
    related = outranking(relation)
    if related is not None:
        return related or common
    is_near = match.evidence.shared is None  # its sample was not read
    return is_near or are_joined(match.evidence) or (common and have_common_matter(match.evidence))


def _ids(entry_ids: Iterable[int]) -> NDArray[np.uint64]:
    return np.array(list(entry_ids), dtype=np.uint64)
