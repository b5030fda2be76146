"""Results of reading processes: the book, its signatures, or the reason why it was refused."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from bookprint_core.book_rules import checked
from bookprint_core.errors import BrokenFile, FileTooLarge, InvalidInput, NoText, Refusal, SeveralBooks
from bookprint_core.model import NewBook, NewContent, Submission
from bookprint_core.signatures.digests import digests
from bookprint_core.signatures.sketch import signature_key, sketch
from bookprint_core.text.content import content_key
from bookprint_readers.files import books_within, has_several_books
from bookprint_readers.processes import Ask, ReadingProcesses
from bookprint_readers.unread import Unread

T = TypeVar("T")


def results_of(reading: ReadingProcesses[T], books: Iterable[Unread]) -> Iterator[tuple[Unread, T | Refusal]]:
    """Yield a result for each book. An archive or folder of several books yields a result per file."""
    for book, result in each_of(reading, books):
        if isinstance(result, Refusal) and result.problem == SeveralBooks.problem and has_several_books(book):
            yield from each_of(reading, books_within(book))
        else:
            yield book, result


def each_of(reading: ReadingProcesses[T], books: Iterable[Unread]) -> Iterator[tuple[Unread, T | Refusal]]:
    """Yield a result for each book. If its process died or was killed, the result is a refusal."""
    for book, result in reading.map(books):
        yield book, Refusal.of(result) if isinstance(result, BrokenFile) else result


def read_book(book: Unread, ask: Ask, collection: str | None = None) -> Submission | Refusal:
    """Return the book as a client would post it, in the collection if it is not None."""
    try:
        return submission_in(collection, book)
    except Exception as exc:
        return refusal_of(exc)


def submission_in(collection: str | None, book: Unread) -> Submission:
    """Return the book with its collection replaced, unless `collection` is None."""
    submission = checked(book.read())
    if collection is None:
        return submission
    return replace(submission, metadata=replace(submission.metadata, collection=collection))


def key_of(submission: Submission) -> bytes:
    """Return the key of a book's content. Raises InvalidInput if the book has neither text nor signatures."""
    if submission.content is not None:
        return content_key(submission.content)
    if submission.sketch is None:
        raise InvalidInput("A book needs one of text, pages or signatures.", "text")
    return signature_key(submission.sketch)


@dataclass(frozen=True, slots=True)
class Sign:
    """Function that reads a book and computes its signatures and digests, with the recipe's fingerprint."""

    recipe: str

    def __call__(self, book: Unread, ask: Ask) -> NewBook | Refusal:
        """Return the signatures. Signatures that replace a text are returned unchanged."""
        try:
            submission = checked(book.read())
            content = submission.content
            if content is None:
                assert submission.sketch is not None
                computed = submission.sketch
                if computed.identified is not None:
                    raise NoText("It is an identifier alone, which cannot be signed. Ingest it as it is.")
            else:
                computed = replace(sketch(content, self.recipe), digests=digests(content.text))
            labels = submission.page_labels
            signed = NewContent(key_of(submission), computed, None, page_labels=labels)
            return NewBook(submission.metadata, signed)
        except Exception as exc:
            return refusal_of(exc)


def refusal_of(error: Exception) -> Refusal:
    """Return the refusal for an error from reading or signing a book."""
    if isinstance(error, InvalidInput):
        return Refusal.of(error)
    if isinstance(error, MemoryError):
        return Refusal("Reading it takes more memory than a book may. Split it.", FileTooLarge.problem)
    if isinstance(error, OSError):
        return Refusal(f"Cannot be read: {error.strerror or error}.", "unreadable")
    # Readers should not raise other errors. After an unexpected error the remaining books must still be read.
    return Refusal(f"Cannot be read: {type(error).__name__}: {error}"[:500], BrokenFile.problem)
