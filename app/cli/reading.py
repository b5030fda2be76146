"""What the reading processes do with a book: read it, check what is said about it, and sign it."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from pydantic import ValidationError

from app.api.http.limits import MAX_PAGES
from app.api.schemas.books import MetadataBody
from app.cli.processes import Ask, Lost, ReadingProcesses
from app.core.errors import (
    BrokenFile,
    Conflict,
    EmptyText,
    EncryptedFile,
    FileTooLarge,
    InvalidInput,
    InvalidText,
    NoText,
    RecipeMismatch,
    SeveralBooks,
    UnknownRecipe,
    UnsupportedFormat,
)
from app.core.model import Content, Metadata, PageLabels, Sketch, Submission
from app.core.recipe import Suites
from app.core.signatures.sketch import signature_key, sketch
from app.core.text.content import content_key
from app.readers.files import books_within, has_several_books
from app.readers.record import Record
from app.readers.unread import Unread
from app.services.bulk import BulkOutcome, PreparedBook
from app.services.signing import computed, signed

_TYPES: dict[type[Exception], str] = {
    UnsupportedFormat: "unsupported-format",
    EncryptedFile: "encrypted",
    NoText: "no-text",
    EmptyText: "empty-text",
    InvalidText: "invalid-text",
    SeveralBooks: "several-books",
    FileTooLarge: "file-too-large",
    BrokenFile: "broken-file",
    RecipeMismatch: "recipe-mismatch",
    UnknownRecipe: "unknown-recipe",
    Conflict: "conflict",
}
"""The last part of the problem type by which HTTP answers each error."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a book is refused."""

    reason: str
    problem: str  # last part of the problem type

    @classmethod
    def of(cls, error: Exception) -> "Refusal":
        """The refusal for an error."""
        known = (name for each in type(error).__mro__ if (name := _TYPES.get(each)))
        return cls(str(error), next(known, "invalid"))


@dataclass(frozen=True, slots=True)
class Known:
    """Asks what would become of a book with this content key and external id.

    The answer is its outcome, or where it is new the suites to compute.
    """

    key: bytes
    external_id: str | None


@dataclass(frozen=True, slots=True, eq=False)
class SignedBook:
    """A book's signatures, to be written to a file."""

    metadata: Metadata
    sketch: Sketch
    page_labels: PageLabels


T = TypeVar("T")


def results_of(reading: ReadingProcesses[T], books: Iterable[Unread]) -> Iterator[tuple[Unread, T | Refusal]]:
    """What came of each book; of an archive or a folder with several, what came of each file."""
    for book, result in each_of(reading, books):
        if isinstance(result, Refusal) and result.problem == "several-books" and has_several_books(book):
            yield from each_of(reading, books_within(book))
        else:
            yield book, result


def each_of(reading: ReadingProcesses[T], books: Iterable[Unread]) -> Iterator[tuple[Unread, T | Refusal]]:
    """What came of each book, as it stands; one over which a process was lost is refused."""
    for book, result in reading.map(books):
        yield book, Refusal(result.reason, "broken-file") if isinstance(result, Lost) else result


def to_record(book: Unread, result: Submission | Refusal) -> Record:
    """The book as it is posted."""
    if isinstance(result, Refusal):
        reason = InvalidInput(result.reason)
        return Record(book.place, book.position, reason, book.path, book.part, result.problem)
    return Record(book.place, book.position, result, book.path, book.part)


def read(book: Unread, ask: Ask) -> Submission | Refusal:
    """The book with all that the service would check."""
    try:
        return _checked(book.read())
    except Exception as exc:
        return _refusal(exc)


@dataclass(frozen=True, slots=True)
class Prepare:
    """Reads a book and computes what is to be stored, unless the parent knows the outcome."""

    keep_texts: bool

    def __call__(self, book: Unread, ask: Ask) -> PreparedBook | Refusal | BulkOutcome:
        """The book ready to be stored, or the outcome where `Known` was answered with one."""
        try:
            submission = _checked(book.read())
            key = _key(submission)
            known: Suites | BulkOutcome = ask(Known(key, submission.metadata.external_id))
            if isinstance(known, BulkOutcome):
                return known
            if submission.content is not None:
                content = computed(submission.content, known, keep_text=self.keep_texts, key=key)
            else:
                assert submission.sketch is not None  # else it has no key
                content = signed(submission.sketch, known)
            return PreparedBook(submission.metadata, replace(content, page_labels=submission.page_labels))
        except Exception as exc:
            return _refusal(exc)


@dataclass(frozen=True, slots=True)
class Sign:
    """Reads a book and computes its signatures, with the fingerprint of a recipe."""

    recipe: str

    def __call__(self, book: Unread, ask: Ask) -> SignedBook | Refusal:
        """The signatures; those that came instead of a text stay as they are."""
        try:
            submission = _checked(book.read())
            content = submission.content
            computed = submission.sketch if content is None else sketch(content, self.recipe)
            assert computed is not None
            return SignedBook(submission.metadata, computed, submission.page_labels)
        except Exception as exc:
            return _refusal(exc)


def _key(submission: Submission) -> bytes:
    if submission.content is not None:
        return content_key(submission.content)
    if submission.sketch is None:
        raise InvalidInput("A book needs one of text, pages or signatures.", "text")
    return signature_key(submission.sketch)


def _checked(submission: Submission) -> Submission:
    """The book as the service takes it; raises InvalidInput."""
    metadata, content = submission.metadata, submission.content
    if content is not None:
        _check_pages(content)
    fields = {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(metadata).items()
    }
    try:
        checked = MetadataBody.model_validate(fields)
    except ValidationError as exc:
        [first, *_] = exc.errors(include_url=False, include_input=False)
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{where}: {first['msg']}.", where) from exc
    return replace(submission, metadata=checked.to_metadata())


def _check_pages(content: Content) -> None:
    if (content.page_count or 0) > MAX_PAGES:
        raise FileTooLarge(f"The book has more than {MAX_PAGES:,} pages. Split it into its volumes.")


def _refusal(error: Exception) -> Refusal:
    if isinstance(error, InvalidInput):
        return Refusal.of(error)
    if isinstance(error, MemoryError):
        return Refusal("Reading it takes more memory than a book may. Split it.", "file-too-large")
    if isinstance(error, OSError):
        return Refusal(f"Cannot be read: {error.strerror or error}.", "unreadable")
    # A reader must not raise anything else, and one book must not end the run if it does.
    return Refusal(f"Cannot be read: {type(error).__name__}: {error}"[:500], "broken-file")
