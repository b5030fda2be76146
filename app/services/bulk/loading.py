"""Loading a corpus that was computed elsewhere: books with their signatures, and their relations.

Each book is stored in one transaction with its relations to older books. Then the index is rebuilt; until its
end no lookup is answered. At any time the catalogue equals one whose books were posted and whose jobs are
done. If it contains only the first books of the corpus, no other book can be related, and no jobs are
created.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from uuid import UUID

import numpy as np

from app.catalog.identifiers import with_normal_identifiers
from app.services.books import IngestRun, new_book_ids, outcome_of
from app.services.index.contents import Progress
from app.services.index.upkeep import IndexUpkeep
from app.services.signing import require_recipes
from app.stores.postgres.audit import Actor
from app.stores.postgres.bulk import BulkStore, ExistingBook, FoundPair, FoundRelations
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.pairs.relations import BookVersion
from bookprint_core.book_rules import checked, checked_labels
from bookprint_core.errors import Conflict, InvalidInput, RecipeMismatch, Refusal
from bookprint_core.metadata import checked_metadata
from bookprint_core.model import NewBook, NewContent, Submission
from bookprint_corpus.books import CorpusBook, CorpusBookRow, CorpusBooks
from bookprint_corpus.pairs import CorpusPair, CorpusPairs

_AT_ONCE = 10_000
"""Maximum number of books of a transaction."""

_BYTES_AT_ONCE = 64 << 20
"""Maximum bytes of page signatures of a transaction."""

_DESCRIBED_AT_ONCE = 10_000
"""Number of books that are searched in the catalogue at a time."""

Refuse = Callable[[str, Refusal], None]
"""Function called with the place of a refused book and the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Corpus to load, with functions for progress and refusals, and the actor."""

    books: CorpusBooks
    pairs: CorpusPairs
    run: IngestRun
    refuse: Refuse
    progress: Progress
    actor: Actor


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Books that are stored together, and the refused books between them."""

    books: Sequence[tuple[CorpusBook, NewContent]]
    refused: Sequence[tuple[str, Refusal]]
    last: int  # number of the youngest book


class Loading:
    """Loader of a whole corpus into the catalogue and the band index."""

    def __init__(self, catalogue: BulkStore, entries: EntryStore, upkeep: IndexUpkeep, load: Load) -> None:
        self._catalogue = catalogue
        self._entries = entries
        self._upkeep = upkeep
        self._load = load
        self._complete = False  # the catalogue contains only the first books of the corpus
        self._entries_there = 0  # number of entries of these first books
        self._behind = -1  # number of the youngest stored book
        self._older: dict[int, BookVersion] = {}  # stored books that are the older book of a pair, by number
        self._last_id: UUID | None = None

    async def run(self) -> None:
        """Load the books that are not in the catalogue yet.

        Raises RecipeMismatch if lookups would not compare the signatures, and Unavailable if a server is
        unavailable. Stored books stay, and the next run continues after them.
        """
        if await self._look():
            await self._upkeep.rebuild(after=self._store_all)

    async def _look(self) -> bool:
        """Find the books that the catalogue contains; return whether other books remain to be loaded."""
        there: dict[int, BookVersion] = {}
        refused, waiting = list[tuple[str, Refusal]](), list[tuple[str, Refusal]]()
        count, is_beginning = await self._entries.count(), True
        new = 0 if count else self._load.books.count
        rows = self._load.books.descriptions() if count else iter(())
        while described := await asyncio.to_thread(_described, rows):
            keys = [(book.content_key, book.metadata.external_id) for book, _ in described]
            existing = await self._catalogue.list_existing(keys)
            for (book, refusal), other in zip(described, existing, strict=True):
                if refusal is not None:
                    waiting.append((book.place, refusal))
                elif isinstance(other, Conflict):
                    waiting.append((book.place, Refusal.of(other)))
                elif other is None:
                    new += 1
                else:
                    is_beginning = is_beginning and not new and _is_described_so(other, book)
                    there[book.number] = BookVersion(other.id, other.entry_id)
                    refused, waiting = refused + waiting, []
        self._entries_there = len({version.entry_id for version in there.values()})
        self._complete = is_beginning and self._entries_there == count
        if new and not self._complete:
            return True
        for number, version in there.items():
            self._note(number, version)
        self._behind = max(there, default=-1)
        self._load.pairs.skip(self._behind)
        self._load.run.counts["already there"] += len(there)
        self._refuse(refused if new else refused + waiting)
        return new > 0

    async def _store_all(self) -> None:
        """Store the remaining books; while a batch is stored, the next batch is read."""
        # The job of a book posted since `_look` may have searched before this load stored its books.
        self._complete = self._complete and await self._entries.count() == self._entries_there
        run, rows = self._load.run, self._load.books.read(self._behind)
        following = asyncio.create_task(self._read(rows))
        try:
            while not run.interrupted and (batch := await following) is not None:
                following = asyncio.create_task(self._read(rows))
                await self._store(batch)
        finally:
            await asyncio.wait([following])  # a thread cannot be stopped
        if self._complete and run.total > run.counts["created"] + self._entries_there:
            # Books may have been passed over in favour of candidates that were not stored.
            await self._catalogue.repeat_cut_searches()

    async def _read(self, rows: Iterator[CorpusBook]) -> _Batch | None:
        return await asyncio.to_thread(_read_batch, rows)

    async def _store(self, batch: _Batch) -> None:
        """Store the new books of a batch, with the relations among books of the corpus, and count them."""
        run, ids = self._load.run, new_book_ids(len(batch.books), self._last_id)
        numbered = {book.number: book_id for (book, _), book_id in zip(batch.books, ids, strict=True)}
        pairs = await asyncio.to_thread(self._load.pairs.up_to, batch.last)
        found = FoundRelations(
            pairs=[found for pair in pairs if (found := self._found(pair, numbered)) is not None],
            passed_over={numbered[book.number]: book.passed_over for book, _ in batch.books},
            complete=self._complete,
        )
        new = {
            book_id: NewBook(with_normal_identifiers(book.submission.metadata), content)
            for (book, content), book_id in zip(batch.books, ids, strict=True)
        }
        stored = await self._catalogue.insert(new, actor=self._load.actor, found=found)
        self._refuse(batch.refused)
        for (book, _), book_id, entry_id in zip(batch.books, ids, stored, strict=True):
            if isinstance(entry_id, int):
                self._note(book.number, BookVersion(book_id, entry_id))
            outcome = outcome_of(entry_id)
            run.counts[outcome.kind] += 1
            if outcome.refusal is not None:
                self._load.refuse(book.place, outcome.refusal)
        self._load.progress(run.total, self._load.books.count)

    def _note(self, number: int, version: BookVersion) -> None:
        lefts = self._load.pairs.lefts
        place = int(np.searchsorted(lefts, number))
        if place < lefts.size and lefts[place] == number:
            self._older[number] = version
        self._last_id = version.book_id if self._last_id is None else max(self._last_id, version.book_id)

    def _refuse(self, refused: Sequence[tuple[str, Refusal]]) -> None:
        self._load.run.counts["failed"] += len(refused)
        for place, refusal in refused:
            self._load.refuse(place, refusal)

    def _found(self, pair: CorpusPair, numbered: Mapping[int, UUID]) -> FoundPair | None:
        """Return the pair by ids; None if one of its books is not in the catalogue."""
        right, left_entry = numbered.get(pair.right), None
        left = numbered.get(pair.left)
        if left is None and (version := self._older.get(pair.left)) is not None:
            left, left_entry = version.book_id, version.entry_id
        if left is None or right is None:
            return None
        unknown = {"doubt": None, "revised": None}
        values = pair.relation | unknown | {"runs": pair.runs, "page_map": pair.page_map}
        return FoundPair(left, left_entry, right, values)


def _described(rows: Iterator[CorpusBookRow]) -> list[tuple[CorpusBookRow, Refusal | None]]:
    """Return the next books as they would be stored, each with the reason if it would be refused."""
    described: list[tuple[CorpusBookRow, Refusal | None]] = []
    for book in islice(rows, _DESCRIBED_AT_ONCE):
        try:
            metadata = checked_metadata(book.metadata)
            described.append((replace(book, metadata=metadata), None))
        except InvalidInput as exc:
            described.append((book, Refusal.of(exc)))
    return described


def _is_described_so(existing: ExistingBook, book: CorpusBookRow) -> bool:
    """Return whether the stored metadata that relations depend on equal those of the corpus."""
    metadata = book.metadata
    return (existing.title, existing.year, existing.volume) == (
        metadata.title,
        metadata.year,
        metadata.volume,
    )


def _read_batch(rows: Iterator[CorpusBook]) -> _Batch | None:
    """Return the next batch of books; None at the end."""
    books: list[tuple[CorpusBook, NewContent]] = []
    refused: list[tuple[str, Refusal]] = []
    size, last = 0, None
    for book in rows:
        last = book.number
        try:
            plain = replace(book, submission=_checked(book.submission))
        except RecipeMismatch as exc:
            raise RecipeMismatch(
                f"{exc} Lookups would find none of the books, so none is loaded. Write the corpus anew with "
                "the recipes that are indexed here.",
                exc.field,
            ) from exc
        except InvalidInput as exc:
            refused.append((book.place, Refusal.of(exc)))
            continue
        content = _content(plain)
        books.append((plain, content))
        pages = content.sketch.pages
        size += 0 if pages is None else pages.values.nbytes
        if len(books) >= _AT_ONCE or size >= _BYTES_AT_ONCE:
            break
    return None if last is None else _Batch(books, refused, last)


def _checked(submission: Submission) -> Submission:
    assert submission.sketch is not None
    require_recipes(submission.sketch)
    labels = submission.page_labels
    if labels:
        labels = checked_labels(labels, submission.sketch.page_count)
    return replace(checked(submission), page_labels=labels)


def _content(book: CorpusBook) -> NewContent:
    sketch = book.submission.sketch
    assert sketch is not None
    labels = book.submission.page_labels
    return NewContent(book.content_key, sketch, None, page_labels=labels)
