"""Errors that Bookprint raises on purpose; only `app.api.http.problems` turns them into HTTP.

The class defines the status, the title and the remedy. The message says what is wrong, and reaches the client
unchanged.
"""

import re
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

_CAPITAL = re.compile(r"\B(?=[A-Z])")


class BookprintError(Exception):
    """Base class. Errors with status 500 reach clients without their message."""

    problem: ClassVar[str] = "internal"
    """Last part of the problem type that clients read: "unknown-book" for UnknownBook.

    A class that sets `title` but not `problem` gets its own name here.
    """

    status: int = 500
    """HTTP status code (RFC 9110); the client can correct a 4xx error."""

    title: str = "An error of the service"
    """Kind of the error in words."""

    remedy: str = ""
    """Sentence that says what the client can do."""

    field: str = "body"
    """Part of the request to change; empty if no change helps."""

    tells_remedy: ClassVar[bool] = False
    """Whether the message already says what to do."""

    def __init_subclass__(cls) -> None:
        if "title" in cls.__dict__ and "problem" not in cls.__dict__:
            cls.problem = _CAPITAL.sub("-", cls.__name__).lower()


class InvalidInput(BookprintError):
    """The request cannot be served as it stands; `field` names the part to change."""

    problem = "invalid"
    status = 422
    title = "The request is invalid"
    remedy = "Correct this field and send the request again."

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        if field is not None:
            self.field = field


class InvalidText(InvalidInput):
    """The text contains a NUL character, a lone surrogate or too many combining marks in a row."""

    title = "The text is not well-formed"
    remedy = "Send Unicode text without U+0000 and without lone surrogates."
    tells_remedy = True


class EmptyText(InvalidInput):
    """The text has no letter and no digit, so nothing can be computed from it."""

    title = "The text has no letter and no digit"
    remedy = "Send a text with at least one letter or digit."
    tells_remedy = True


class UnusableFile(InvalidInput):
    """No book can be read from the file; the subclass says why."""

    field = "file"


class UnsupportedFormat(UnusableFile):
    """The format of the file is not supported."""

    status = 415
    title = "The format of the file is not supported"
    remedy = "Send one of the formats that docs/reference/formats.md lists."
    tells_remedy = True


class BrokenFile(UnusableFile):
    """The file has a known format but is damaged; the message says where."""

    title = "The file is damaged"
    remedy = "Repair it, or send another copy of it."


class EncryptedFile(UnusableFile):
    """The file needs a password or a licence to be read."""

    problem = "encrypted"
    title = "The file is encrypted"
    remedy = "Send it without protection."
    tells_remedy = True


class NoText(UnusableFile):
    """The file contains no text; it may be a scan without OCR."""

    title = "The file holds no text"
    remedy = "Send the file with its text recognised (OCR)."
    tells_remedy = True


class SeveralBooks(UnusableFile):
    """The file contains several books, but a request may send one only."""

    title = "The file contains several books"
    remedy = "Send each book alone, or all in bulk, as lines of JSON."
    tells_remedy = True


class FileTooLarge(UnusableFile):
    """The file, as sent or expanded, is larger than a limit."""

    status = 413
    title = "The file is too large"
    remedy = "Split it into its parts, and send each part."
    tells_remedy = True


class InvalidIdentifier(InvalidInput):
    """The string is not a Bookprint identifier, or was damaged in copying."""

    title = "Not a book identifier"
    remedy = "Copy the identifier again from the book's `identifier`."


class RecipeMismatch(InvalidInput):
    """Signatures of two recipes cannot be compared; their distance would mean nothing."""

    title = "Signatures of two recipes"
    remedy = "Compute the signatures with the recipes that books of this service show."


class UnknownRecipe(InvalidInput):
    """This version has no recipe of this name."""

    title = "The recipe is not known"
    remedy = "Use one of the recipes that the detail names."


class RecipeNotIndexed(InvalidInput):
    """Lookups cannot search for fingerprints of this recipe."""

    title = "The recipe is not indexed"
    remedy = "Send the text, or a fingerprint of a recipe that is indexed."

    def __init__(self, recipe: str, serving: str) -> None:
        super().__init__(f"Fingerprints of {recipe} are not indexed here; those of {serving} are.", "recipe")


class UnknownBook(BookprintError):
    """No book has this id (or it was deleted)."""

    status = 404
    title = "No such book"
    remedy = "Use the id of a book that the list of books shows."
    field = "id"
    tells_remedy = True

    def __init__(self, book_id: UUID | str) -> None:
        super().__init__(f"No book has the id {book_id}. List the books.")
        self.book_id = book_id


class UnknownCluster(BookprintError):
    """No cluster has or had this id."""

    status = 404
    title = "No such cluster"
    remedy = "Use the id that a book's cluster shows."
    field = "id"
    tells_remedy = True

    def __init__(self, cluster_id: str) -> None:
        super().__init__(f"No cluster has the id {cluster_id}. Read the cluster of a book for its id.")


class NotCompared(BookprintError):
    """Nothing is known about the relation of two books."""

    status = 404
    title = "Not compared"
    remedy = "Use the id of a book that this book's relations list."
    field = "other_id"
    tells_remedy = True

    def __init__(self, book_id: UUID, other_id: UUID) -> None:
        if book_id == other_id:
            super().__init__("A book has no relation to itself. Name two different books.")
            return
        super().__init__(
            f"Book {book_id} has not been compared with {other_id}: they share too little to be candidates, "
            "or a job has not compared them yet. The book's relations list what is known."
        )


class TextNotKept(BookprintError):
    """The answer needs a text that is not stored; `field` names the part of the request that needs it."""

    status = 409
    title = "The text is not kept"
    remedy = "Send it as the new content of the book while texts are kept."

    def __init__(self, subject: str, field: str) -> None:
        super().__init__(f"{subject} is not kept: it came as signatures, or while BOOKPRINT_TEXTS was none.")
        self.field = field


class CompletenessUnknown(BookprintError):
    """The book has no pages, or no other copy with pages."""

    status = 409
    title = "Completeness is unknown"
    remedy = "Post this book and another scan of the same printing with page breaks, with text storage on."
    field = "id"
    tells_remedy = True


class EvidenceTooLong(BookprintError):
    """More pages match than an answer lists one by one."""

    status = 409
    title = "Too many pages match"
    remedy = "Request text/csv, which has a row for each run, or JSON."
    field = "Accept"


class NothingToConfirm(BookprintError):
    """There is no relation to confirm."""

    status = 409
    title = "Nothing to confirm"
    remedy = "Name the kind, or wait until the books have been compared."
    field = "verdict"
    tells_remedy = True

    def __init__(self, book_id: UUID, other_id: UUID) -> None:
        super().__init__(
            f"Book {book_id} has not been compared with {other_id}, so there is nothing to confirm. Name the "
            'kind yourself, as {"kind": "SAME_TEXT"}, or wait until they have been compared.'
        )


class NoDecision(BookprintError):
    """There is no decision to withdraw."""

    status = 404
    title = "No decision"
    remedy = "Read the relation to see whether there is a decision; there is nothing to withdraw."
    field = "other_id"

    def __init__(self, book_id: UUID, other_id: UUID) -> None:
        super().__init__(f"Nobody has decided about the books {book_id} and {other_id}.")


class DecidedMeanwhile(BookprintError):
    """Somebody has decided after the client read the decision."""

    status = 409
    title = "Somebody has decided meanwhile"
    remedy = "Read the present decision, and decide again if it is wrong."
    field = "instead_of"

    def __init__(self, book_id: UUID, other_id: UUID) -> None:
        super().__init__(f"The decision about the books {book_id} and {other_id} is no longer the one named.")


class Conflict(BookprintError):
    """The request contradicts the book `book_id` of the catalogue."""

    status = 409
    title = "Another book is in the way"
    remedy = "See the book that `book_id` names."
    field = "external_id"
    tells_remedy = True

    def __init__(self, message: str, book_id: UUID) -> None:
        super().__init__(message)
        self.book_id = book_id


class OtherContent(Conflict):
    """The external id of the posted book belongs to a book with other content."""

    remedy = "Replace its content, or post under another external_id."
    tells_remedy = False

    def __init__(self, book_id: UUID, external_id: str | None) -> None:
        super().__init__(f"Book {book_id} has the external_id {external_id!r} and other content.", book_id)


class OtherCollection(BookprintError):
    """The API key may write to one collection only, and a book of the request is outside it."""

    status = 403
    title = "The key is bound to another collection"
    remedy = "Send a key without a collection, or a key for the collection of the book."
    field = "Authorization"

    def __init__(self, own: str) -> None:
        super().__init__(f"This key reads everything, and writes to the collection {own!r} alone.")


class StaleVersion(BookprintError):
    """The book has changed since the version that the client saw."""

    status = 412
    title = "The book has changed"
    remedy = "Read the book again, and send its present version."
    field = "If-Match"
    tells_remedy = True

    def __init__(self, book_id: UUID, current: int) -> None:
        super().__init__(
            f"Book {book_id} is now at version {current}. Read it again, then repeat the change."
        )
        self.current = current


class Unavailable(BookprintError):
    """A part of the service is down or being rebuilt; `retry_after` is in seconds."""

    status = 503
    title = "A part of the service is down"
    remedy = "Try again in a moment."
    field = ""
    tells_remedy = True

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Busy(Unavailable):
    """A part of the service is too busy to answer in time."""

    title = "A part of the service is busy"


class IndexRebuilding(Unavailable):
    """The band index is being reconciled with the catalogue; an answer now could be incomplete."""

    title = "The band index is being rebuilt"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason for which a book is refused."""

    reason: str
    problem: str  # last part of the problem type

    @classmethod
    def of(cls, error: BookprintError) -> "Refusal":
        """Return the refusal for an error."""
        return cls(str(error), error.problem)
