"""Loading a corpus that was computed elsewhere: books with their signatures, and the relations among them.

A book is stored in one transaction with its relations to older books. So the catalogue always is as after
posting the books that are there, with their jobs done. Where it holds nothing but the beginning of the same
corpus, no other book can be related: jobs are left out, and the index is written as a whole at the end.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import islice
from uuid import UUID

import numpy as np

from app.catalog.identifiers import with_normal_identifiers
from app.core.errors import Conflict, InvalidInput, RecipeMismatch, Unavailable
from app.core.model import NewContent, Submission
from app.core.recipe import Suites
from app.core.text.page_labels import checked_labels
from app.readers.reading import Check, Refusal
from app.readers.tables.corpus_books import CorpusBook, CorpusBookRow, CorpusBooks
from app.readers.tables.corpus_pairs import CorpusPair, CorpusPairs
from app.services.bulk import BulkRun
from app.services.index.contents import Progress
from app.services.index.upkeep import IndexUpkeep
from app.services.signing import require_recipes
from app.services.storing import Bulk, BulkOutcome, StoredBatch, new_book_ids, outcome_of
from app.stores.postgres.audit import Actor
from app.stores.postgres.bulk import BulkStore, ExistingBook, FoundPair, FoundRelations, NewBook
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.relations import BookVersion
from app.stores.postgres.suites import SuitesChanged
from app.stores.redis.epoch import IndexState

_AT_ONCE, _AT_ONCE_WITH_LOOKUPS = 10_000, 500
"""Books of a transaction. Until they are indexed, each lookup compares them one by one."""

_BYTES_AT_ONCE = 64 << 20
"""Page signatures of a transaction; the first of both to be reached ends it."""

_DESCRIBED_AT_ONCE = 10_000
"""Books that are looked for in the catalogue at a time."""

_LEAST_SHARE = 0.1
"""New books, as a share of those that are there, from which on the index is written as a whole."""

Refuse = Callable[[str, Refusal], None]
"""Takes the place of a book that is refused, and the reason."""


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """A load: what is loaded, how it is checked and told, and who does it."""

    books: CorpusBooks
    pairs: CorpusPairs
    run: BulkRun
    check: Check
    refuse: Refuse
    progress: Progress
    actor: Actor


@dataclass(slots=True, eq=False)
class _Beginning:
    """The oldest books of a corpus, up to the youngest that is there."""

    stored: dict[int, BookVersion] = field(default_factory=dict)  # by number
    refused: list[tuple[str, Refusal]] = field(default_factory=list)
    last: int = -1  # number of the youngest that is there

    @property
    def size(self) -> int:
        """Books that have met their fate."""
        return len(self.stored) + len(self.refused)

    @property
    def entries(self) -> int:
        """Books of the catalogue: equal ones of the corpus are one."""
        return len({version.entry_id for version in self.stored.values()})


class Loading:
    """The way of a whole corpus into the catalogue and the band index."""

    def __init__(self, catalogue: BulkStore, entries: EntryStore, bulk: Bulk, upkeep: IndexUpkeep) -> None:
        self._catalogue = catalogue
        self._entries = entries
        self._bulk = bulk
        self._upkeep = upkeep

    async def load(self, load: Load) -> None:
        """Load what is not there yet.

        Raises RecipeMismatch where lookups would not compare the signatures, and Unavailable where a server
        is out of reach. What was stored by then stays, and the next run goes on behind it.
        """
        beginning = await self._beginning(load)
        if beginning is None:
            await self._load_with_lookups(load, _Beginning())
        elif load.books.count - beginning.size > _LEAST_SHARE * beginning.size:
            await self._upkeep.rebuild(after=lambda: self._load_without_lookups(load, beginning))
        else:
            await self._load_with_lookups(load, beginning)

    async def _beginning(self, load: Load) -> _Beginning | None:
        """The beginning of the corpus that is there; None where the catalogue holds anything else."""
        beginning, waiting = _Beginning(), list[tuple[str, Refusal]]()
        count, is_behind = await self._entries.count(), False
        rows = load.books.descriptions() if count else iter(())
        while described := await asyncio.to_thread(_described, rows, load.check):
            keys = [(book.content_key, book.metadata.external_id) for book, _ in described]
            existing = await self._catalogue.list_existing(keys)
            for (book, refusal), other in zip(described, existing, strict=True):
                if refusal is not None:
                    waiting.append((book.place, refusal))
                elif isinstance(other, Conflict):
                    waiting.append((book.place, _refusal_of(other)))
                elif other is None:
                    is_behind = True
                elif is_behind or not _is_described_so(other, book):
                    return None
                else:
                    beginning.stored[book.number] = BookVersion(other.id, other.entry_id)
                    beginning.refused += waiting
                    beginning.last, waiting = book.number, []
        return beginning if beginning.entries == count else None

    async def _load_without_lookups(self, load: Load, beginning: _Beginning) -> None:
        # A book posted since the look has been searched for, perhaps, before books of this load were there.
        complete = await self._entries.count() == beginning.entries
        transfer = _Transfer(self._catalogue, self._bulk, load, beginning, complete=complete)
        async with aclosing(transfer.batches(_AT_ONCE)) as batches:
            async for batch in batches:
                stored = await transfer.store(batch)
                transfer.tell(batch, [outcome_of(each) for each in stored.stored])
        if complete and load.run.total > load.run.counts["created"] + beginning.entries:
            # Books may have been passed over for candidates that are not there.
            await self._catalogue.repeat_cut_searches()

    async def _load_with_lookups(self, load: Load, beginning: _Beginning) -> None:
        if await self._upkeep.state() is not IndexState.COMPLETE:
            await self._upkeep.catch_up()
        transfer = _Transfer(self._catalogue, self._bulk, load, beginning, complete=False)
        async with aclosing(transfer.batches(_AT_ONCE_WITH_LOOKUPS)) as batches:
            async for batch in batches:
                transfer.tell(batch, await self._bulk.index(await transfer.store(batch)))
        counts = load.run.counts
        if counts["pending"] and await self._upkeep.catch_up() is not None:
            counts["created"] += counts["pending"]
            counts["pending"] = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Books that are stored together, and those between them that are refused."""

    books: Sequence[CorpusBook]
    contents: Sequence[NewContent]  # of each
    refused: Sequence[tuple[str, Refusal]]
    last: int  # number of the youngest


class _Transfer:
    """The state of a load: what was stored, by number and by id."""

    def __init__(
        self, catalogue: BulkStore, bulk: Bulk, load: Load, beginning: _Beginning, *, complete: bool
    ) -> None:
        """`complete` says that no other books can be related to those of the corpus."""
        self._catalogue = catalogue
        self._bulk = bulk
        self._load = load
        self._complete = complete
        self._behind = beginning.last
        self._lefts = _Lefts(load.pairs)
        self._last_id: UUID | None = None
        for number, version in beginning.stored.items():
            self._note(number, version)
        load.pairs.skip(beginning.last)
        load.run.counts["already there"] += len(beginning.stored)
        self._refuse(beginning.refused)

    async def batches(self, most: int) -> AsyncGenerator[_Batch, None]:
        """The books behind the beginning; while one batch is stored, the next one is read."""
        rows = self._load.books.read(self._behind)
        following: asyncio.Task[_Batch | None] | None = None
        try:
            while not self._load.run.interrupted:
                batch = await (following or self._read(rows, most))
                if batch is None:
                    return
                following = asyncio.create_task(self._read(rows, most))
                yield batch
        finally:
            if following is not None:  # a thread cannot be stopped
                await asyncio.wait([following])

    async def store(self, batch: _Batch) -> StoredBatch:
        """Store the new books of a batch, with the relations among books of the corpus."""
        ids = new_book_ids(len(batch.books), self._last_id)
        new = [
            NewBook(book_id, with_normal_identifiers(book.submission.metadata), content)
            for book_id, book, content in zip(ids, batch.books, batch.contents, strict=True)
        ]
        pairs = await asyncio.to_thread(self._load.pairs.up_to, batch.last)
        numbered = {book.number: book_id for book, book_id in zip(batch.books, ids, strict=True)}
        found = FoundRelations(
            pairs=[found for pair in pairs if (found := self._found(pair, numbered)) is not None],
            passed_over={numbered[book.number]: book.passed_over for book in batch.books},
            complete=self._complete,
        )
        try:
            stored = await self._catalogue.insert(new, actor=self._load.actor, found=found)
        except SuitesChanged as exc:
            raise Unavailable(
                "The recipes that are indexed have changed meanwhile. Run the same command again."
            ) from exc
        entries = {}
        for book, book_id, content, entry_id in zip(batch.books, ids, batch.contents, stored, strict=True):
            if isinstance(entry_id, int):
                entries[entry_id] = content
                self._note(book.number, BookVersion(book_id, entry_id))
        return StoredBatch(stored, entries)

    def tell(self, batch: _Batch, outcomes: Sequence[BulkOutcome]) -> None:
        """Count the books of a batch by their fate."""
        run = self._load.run
        self._refuse(batch.refused)
        for book, outcome in zip(batch.books, outcomes, strict=True):
            run.counts[outcome.kind] += 1
            if outcome.conflict is not None:
                self._load.refuse(book.place, Refusal(outcome.conflict, Conflict.problem))
        self._load.progress(run.total, self._load.books.count)

    def _note(self, number: int, version: BookVersion) -> None:
        self._lefts.add(number, version)
        self._last_id = version.book_id if self._last_id is None else max(self._last_id, version.book_id)

    def _refuse(self, refused: Sequence[tuple[str, Refusal]]) -> None:
        self._load.run.counts["failed"] += len(refused)
        for place, refusal in refused:
            self._load.refuse(place, refusal)

    def _found(self, pair: CorpusPair, numbered: Mapping[int, UUID]) -> FoundPair | None:
        """The pair by ids; None where one of its books is not there."""
        right, left_entry = numbered.get(pair.right), None
        left = numbered.get(pair.left)
        if left is None and (version := self._lefts.get(pair.left)) is not None:
            left, left_entry = version.book_id, version.entry_id
        if left is None or right is None:
            return None
        values = pair.relation | {"runs": pair.runs, "page_map": pair.page_map}
        return FoundPair(left, left_entry, right, values)

    async def _read(self, rows: Iterator[CorpusBook], most: int) -> _Batch | None:
        suites = await self._bulk.suites()
        return await asyncio.to_thread(_read_batch, rows, most, suites, self._load.check)


class _Lefts:
    """The stored books that are the older one of a pair: 32 bytes for each."""

    def __init__(self, pairs: CorpusPairs) -> None:
        self._numbers = pairs.lefts
        self._ids = np.zeros((self._numbers.size, 16), dtype=np.uint8)
        self._entries = np.zeros(self._numbers.size, dtype=np.int64)  # 0: not stored

    def add(self, number: int, version: BookVersion) -> None:
        """Note a stored book; one that is in no pair is passed over."""
        place = self._place(number)
        if place is not None:
            self._ids[place] = np.frombuffer(version.book_id.bytes, dtype=np.uint8)
            self._entries[place] = version.entry_id

    def get(self, number: int) -> BookVersion | None:
        """The stored book of this number."""
        place = self._place(number)
        if place is None or not self._entries[place]:
            return None
        return BookVersion(UUID(bytes=self._ids[place].tobytes()), int(self._entries[place]))

    def _place(self, number: int) -> int | None:
        place = int(np.searchsorted(self._numbers, number))
        return place if place < self._numbers.size and self._numbers[place] == number else None


def _described(rows: Iterator[CorpusBookRow], check: Check) -> list[tuple[CorpusBookRow, Refusal | None]]:
    """The next books as they would be stored, each with the reason where it would be refused."""
    described: list[tuple[CorpusBookRow, Refusal | None]] = []
    for book in islice(rows, _DESCRIBED_AT_ONCE):
        try:
            metadata = check(Submission(book.metadata)).metadata
            described.append((replace(book, metadata=metadata), None))
        except InvalidInput as exc:
            described.append((book, Refusal.of(exc)))
    return described


def _is_described_so(existing: ExistingBook, book: CorpusBookRow) -> bool:
    """Whether the relations of a book are those of the corpus, so far as they depend on its metadata."""
    metadata = book.metadata
    return (existing.title, existing.year, existing.volume) == (
        metadata.title,
        metadata.year,
        metadata.volume,
    )


def _read_batch(rows: Iterator[CorpusBook], most: int, suites: Suites, check: Check) -> _Batch | None:
    """The next books, so many as are stored together; None at the end."""
    books: list[CorpusBook] = []
    contents: list[NewContent] = []
    refused: list[tuple[str, Refusal]] = []
    size, last = 0, None
    for book in rows:
        last = book.number
        try:
            checked = replace(book, submission=_checked(book.submission, suites, check))
        except RecipeMismatch as exc:
            raise RecipeMismatch(
                f"{exc} Lookups would find none of the books, so none is loaded. Write the corpus anew with "
                "the recipes that are indexed here.",
                exc.field,
            ) from exc
        except InvalidInput as exc:
            refused.append((book.place, Refusal.of(exc)))
            continue
        content = _content(checked, suites)
        books.append(checked)
        contents.append(content)
        pages = content.sketch.pages
        size += 0 if pages is None else pages.values.nbytes
        if len(books) >= most or size >= _BYTES_AT_ONCE:
            break
    return None if last is None else _Batch(books, contents, refused, last)


def _checked(submission: Submission, suites: Suites, check: Check) -> Submission:
    assert submission.sketch is not None
    require_recipes(submission.sketch, suites.serving)
    labels = submission.page_labels
    if labels:
        labels = checked_labels(labels, submission.sketch.page_count)
    return replace(check(submission), page_labels=labels)


def _content(book: CorpusBook, suites: Suites) -> NewContent:
    sketch = book.submission.sketch
    assert sketch is not None
    labels = book.submission.page_labels
    return NewContent(book.content_key, sketch, None, suites=suites, page_labels=labels)


def _refusal_of(conflict: Conflict) -> Refusal:
    return Refusal(str(conflict), Conflict.problem)
