"""Checks: whether a library has the books of a list, by their texts, identifiers or names.

The strongest evidence in a row decides: its text, else the identifier of its text, else its catalogue
identifiers, else its name. A name alone never yields the verdict `have`.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from uuid import UUID

from app.catalog.identifiers import all_normalised, can_name_a_book, fault_of, is_valid, isbns, nearest_isbns
from app.catalog.reconciliation import BookDescription
from app.catalog.scoring import Candidate
from app.catalog.similarity import title_similarity, volume_similarity
from app.services.index.questions import Match, Verified
from app.services.lookups import Lookup
from app.services.pairs.relate import related
from app.services.reconciliation import Reconciliation
from app.services.signing import require_recipes
from app.stores.postgres.books import BookFilter, BookStore
from app.stores.postgres.names import CandidateSearch, DescribedBook
from app.stores.postgres.pairs.candidates import CandidateStore, StoredSignatures
from bookprint_core.errors import BookprintError, InvalidInput
from bookprint_core.matching.verification import VERIFICATION
from bookprint_core.model import Book, Content, Metadata, Sketch, Submission
from bookprint_core.relations.classification import Direction, Kind
from bookprint_core.relations.relation import ComparedBook, Relation
from bookprint_core.signatures.identifier import Identifier, of_signatures
from bookprint_core.signatures.sketch import sketch

CheckVerdict = Literal["have", "other_edition", "part_of", "contains", "perhaps", "no"]
DecidedBy = Literal["text", "identifier", "name"]

VERDICTS: tuple[CheckVerdict, ...] = ("have", "other_edition", "part_of", "contains", "perhaps", "no")
"""All verdicts, best first."""

MOST_BOOKS = 10
"""Maximum number of books that are compared with a row and returned in its answer."""

_ONE_LENGTH = 0.8
"""Minimum ratio of the word counts of two books with the same text, shorter to longer."""

_MOSTLY = 0.5
"""Minimum share of common text, in both books, of two editions."""

_LEAST_SCORE = 80.0
"""Minimum score of a book that a name may mean, 0 to 100."""

_NO_IDENTIFIER = "No book has any of these identifiers."

_OTHER_TITLE, _OTHER_VOLUME = 0.4, 0.5
"""Similarities, 0 to 1, below which titles and volumes name different books."""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A row of a list, for one book."""

    book: Submission
    identifier: Identifier | None = None  # of the text of the book


def row_of(book: Submission) -> CheckRow:
    """Return the row for a book of a list; raises InvalidInput if the book is not described at all."""
    metadata, sketch = book.metadata, book.sketch
    named = (metadata.identifiers, metadata.external_id, metadata.title, metadata.authors)
    if book.content is None and sketch is None and not any(named):
        raise InvalidInput("The row names no book. Give it a title, an ISBN, an identifier or a text.")
    is_known = sketch is not None and sketch.identified is not None
    return CheckRow(book, of_signatures(sketch, sketch.word_count) if sketch and is_known else None)


@dataclass(frozen=True, slots=True)
class CheckEvidence:
    """The reason for listing a book; None for evidence that was not used."""

    because: str
    kind: Kind | None = None  # of the relation of the two texts
    confidence: float | None = None  # of the relation, 0 to 1
    distance: int | None = None  # differing bits of the fingerprints, 0 to 128
    identifier: str | None = None  # in the row and in the book
    score: float | None = None  # similarity of the names, 0 to 100


@dataclass(frozen=True, slots=True)
class CheckedBook:
    """A book of the library that a row may mean."""

    book_id: UUID
    title: str | None
    verdict: CheckVerdict
    evidence: CheckEvidence


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """The answer to a row: the best verdict of its books, and the kind of evidence that decided."""

    verdict: CheckVerdict
    by: DecidedBy
    because: str | None = None  # error in the row, or reason why no book is listed
    items: Sequence[CheckedBook] = field(default_factory=list)


class Checks:
    """Service that answers whether the library has a book."""

    def __init__(
        self,
        lookup: Lookup,
        candidates: CandidateStore,
        books: BookStore,
        reconciliation: Reconciliation,
    ) -> None:
        self._lookup = lookup
        self._candidates = candidates
        self._books = books
        self._reconciliation = reconciliation

    async def check(self, row: CheckRow) -> CheckAnswer:
        """Return the answer to one row; raises InvalidInput, RecipeNotIndexed and Unavailable."""
        if row.identifier is not None:
            return await self._by_content_identifier(row.identifier, row.book.metadata)
        if row.book.content is not None or row.book.sketch is not None:
            return await self._by_text(row.book)
        metadata = row.book.metadata
        answer = None
        if metadata.identifiers or metadata.external_id is not None:
            answer = await self._by_catalogue_identifiers(metadata)
            if answer.items or not (metadata.title or metadata.authors):
                return answer
        named = await self._by_name(metadata)
        if answer is None or (named.items and answer.because in (None, _NO_IDENTIFIER)):
            return named
        return replace(named, because=answer.because) if named.items else answer

    async def _by_text(self, book: Submission) -> CheckAnswer:
        sketch = await asyncio.to_thread(_sketch, book)
        answer = await self._lookup.look_up(sketch.to_entry(0), Verified(), None, MOST_BOOKS)
        if not answer.matches:
            return CheckAnswer("no", "text", "No book has this text or a part of it.")
        entry_ids = [match.book.entry.entry_id for match in answer.matches]
        stored = {each.entry_id: each for each in await self._candidates.read_signatures(entry_ids)}
        known = await self._known(match.book.book_id for match in answer.matches)
        items = []
        for match in answer.matches:
            signatures, other = stored.get(match.book.entry.entry_id), known.get(match.book.book_id)
            if other is None or signatures is None:
                continue  # deleted since
            candidate = signatures.candidate()
            if sketch.pages is None or candidate.pages is None:
                items.append(_by_length(match, sketch.word_count, book.metadata, other.metadata))
                continue
            this = ComparedBook(sketch.pages, sketch.minhash, book.metadata)
            relation = await self._related(book, this, signatures, candidate)
            items.append(_by_relation(match, relation, book.metadata, other.metadata))
        return _answer(items, "text", "Some books share text with it, but too little to be copies or parts.")

    async def _related(
        self, book: Submission, this: ComparedBook, stored: StoredSignatures, other: ComparedBook
    ) -> Relation:
        async def contents() -> list[Content | None]:
            return [book.content, book.content and await self._candidates.read_content(stored.entry_id)]

        return await related(this, other, contents)

    async def _by_content_identifier(self, identifier: Identifier, metadata: Metadata) -> CheckAnswer:
        answer = await self._lookup.look_up_identifier(identifier, Verified(), None, MOST_BOOKS)
        known = await self._known(match.book.book_id for match in answer.matches)
        items = [
            _by_length(match, identifier.word_count, metadata, other.metadata)
            for match in answer.matches
            if (other := known.get(match.book.book_id)) is not None
        ]
        return _answer(items, "identifier", "No book has the text of this identifier.")

    async def _by_catalogue_identifiers(self, metadata: Metadata) -> CheckAnswer:
        wanted = all_normalised(metadata.identifiers)
        valid = [each for each in wanted if is_valid(each)]
        near = {other: wrong for wrong in wanted if not is_valid(wrong) for other in nearest_isbns(wrong)}
        named = list(filter(can_name_a_book, wanted))
        searches = [CandidateSearch(identifiers=named), CandidateSearch(identifiers=[*near])]
        listed = await self._reconciliation.list_candidates(searches)
        found, meant = (sorted(each, key=lambda book: book.id) for each in listed)
        items = [_by_number(each, _first(named, each.metadata.identifiers), metadata) for each in found]
        if metadata.external_id is not None:
            own = BookFilter(external_id=metadata.external_id)
            for book in await self._books.list_books(own, None, 1):
                items.append(_by_number(book, metadata.external_id, metadata))
        if not items:
            for each in meant:
                number = _first(near, each.metadata.identifiers)
                because = f"{near[number]} breaks the rules of its scheme; {number} differs in one place."
                evidence = CheckEvidence(because, identifier=number)
                items.append(CheckedBook(each.id, each.metadata.title, "perhaps", evidence))
        wrong = sorted({*wanted} - {*valid})
        reason = " ".join(map(fault_of, wrong)) or None
        answer = _answer(items, "identifier", reason or _NO_IDENTIFIER)
        return replace(answer, because=reason or answer.because)

    async def _by_name(self, metadata: Metadata) -> CheckAnswer:
        description = BookDescription(
            titles=() if metadata.title is None else (metadata.title,),
            authors=metadata.authors[:MOST_BOOKS],
            years=() if metadata.year is None else (metadata.year,),
            volumes=() if metadata.volume is None else (metadata.volume,),
        )
        [found] = await self._reconciliation.candidates([description])
        if isinstance(found, BookprintError):
            raise found
        items = [_by_score(each) for each in found if each.score >= _LEAST_SCORE and metadata.title]
        return _answer(items, "name", "No book has this name.")

    async def _known(self, book_ids: Iterable[UUID]) -> Mapping[UUID, Book]:
        return await self._reconciliation.read_books(list(book_ids))


def _sketch(book: Submission) -> Sketch:
    if book.content is not None:
        return sketch(book.content)
    assert book.sketch is not None
    require_recipes(book.sketch)
    return book.sketch


def _answer(items: Sequence[CheckedBook], by: DecidedBy, nothing: str) -> CheckAnswer:
    """Return the answer with the best of these books; `nothing` is the reason if no book fits."""
    in_order = sorted(items, key=lambda item: VERDICTS.index(item.verdict))[:MOST_BOOKS]
    if not in_order or in_order[0].verdict == "no":
        return CheckAnswer("no", by, nothing, in_order)
    return CheckAnswer(in_order[0].verdict, by, None, in_order)


def _by_relation(match: Match, relation: Relation, row: Metadata, book: Metadata) -> CheckedBook:
    found = relation.classification
    shared = 0.0 if relation.signals is None else relation.signals.text_shared.least
    verdict = _verdict_of(found.kind, found.direction, shared)
    because = found.because
    if found.kind == "SAME_TEXT" and (other := _other_printing(row, book)):
        verdict, because = "other_edition", f"{because} {other}"
    evidence = CheckEvidence(because, found.kind, found.confidence, match.evidence.distance)
    return CheckedBook(match.book.book_id, match.book.title, verdict, evidence)


def _verdict_of(kind: Kind, direction: Direction | None, shared: float) -> CheckVerdict:
    """Return the verdict for a relation; `shared` is the smaller share of text common to both, 0 to 1."""
    if kind in ("SAME_PAGINATION", "SAME_TEXT"):
        return "have"
    if direction is not None:
        return "part_of" if direction == "contained_in" else "contains"
    if kind == "DIFFERENT_PAGINATION" or (kind == "OVERLAPPING_TEXT" and shared >= _MOSTLY):
        return "other_edition"
    return "no"


def _by_length(match: Match, words: int, row: Metadata, book: Metadata) -> CheckedBook:
    """Return a book with the verdict from signatures alone: `have` for similar lengths, else a part."""
    ratio, evidence = words / max(match.book.word_count, 1), match.evidence
    near = evidence.distance is not None and evidence.distance <= VERIFICATION.distance_unsampled
    inside = max(evidence.this_in_other or 0.0, evidence.other_in_this or 0.0)
    because = f"{evidence.distance} of 128 bits differ; the row has {ratio:.0%} of the book's words."
    verdict: CheckVerdict = "no"
    if evidence.shared is None or near or inside >= _MOSTLY:
        verdict = (
            "have" if _ONE_LENGTH <= ratio <= 1 / _ONE_LENGTH else "part_of" if ratio < 1 else "contains"
        )
    if verdict == "have" and (other := _other_printing(row, book)):
        verdict, because = "other_edition", f"{because} {other}"
    found = CheckEvidence(because, distance=evidence.distance)
    return CheckedBook(match.book.book_id, match.book.title, verdict, found)


def _other_printing(row: Metadata, book: Metadata) -> str | None:
    """Return why two books with the same text are different printings; None if metadata do not differ."""
    if row.year is not None and book.year is not None and row.year != book.year:
        return f"The row is of {row.year}, the book of {book.year}."
    these, those = set(isbns(row.identifiers)), set(isbns(book.identifiers))
    return "Their ISBNs differ." if these and those and these.isdisjoint(those) else None


def _by_number(book: Book | DescribedBook, identifier: str, row: Metadata) -> CheckedBook:
    """Return a book with an identifier of the row; the verdict is `perhaps` if title or volume contradict."""
    verdict: CheckVerdict = "have"
    because = f"It has {identifier}."
    for what, this, that, least, similarity in (
        ("title", row.title, book.metadata.title, _OTHER_TITLE, title_similarity),
        ("volume", row.volume, book.metadata.volume, _OTHER_VOLUME, volume_similarity),
    ):
        if this and that and similarity(this, that) < least:
            because, verdict = f"It has {identifier}, but another {what}: {that}.", "perhaps"
    return CheckedBook(book.id, book.metadata.title, verdict, CheckEvidence(because, identifier=identifier))


def _by_score(candidate: Candidate) -> CheckedBook:
    alike = ", ".join(f"{name} {_likeness(value)}" for name, value in candidate.features.items())
    evidence = CheckEvidence(f"Only metadata of both were compared: {alike}.", score=candidate.score)
    return CheckedBook(candidate.id, candidate.metadata.title, "perhaps", evidence)


def _likeness(value: float) -> str:
    return "the same" if value == 1 else f"{value:.0%} alike" if value else "different"


def _first(wanted: Iterable[str], held: Iterable[str]) -> str:
    """Return the first wanted identifier that a book has."""
    known = set(held)
    return next(each for each in wanted if each in known)
