"""The errors that Bookprint raises on purpose; `app.api.http.problems` alone turns them into HTTP.

Each class says all that its kind has in common: the status, the title and the remedy. The message says what
is wrong this time, and reaches the client as it is.
"""

import re
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

_CAPITAL = re.compile(r"\B(?=[A-Z])")


class BookprintError(Exception):
    """Root of all these errors; what has its status is shown to clients without its message."""

    problem: ClassVar[str] = "internal"
    """Last part of the problem type under which clients meet the error: "unknown-book" for UnknownBook.

    A class with a title of its own is a kind of its own, which has its name unless it says another one.
    """

    status: int = 500
    """The class of the error, in the numbers of RFC 9110: 4xx may be mended by the client."""

    title: str = "An error of the service"
    """The kind of error in words."""

    remedy: str = ""
    """What to do about it."""

    field: str = "body"
    """The part of the request to change; empty where that would not help."""

    tells_remedy: ClassVar[bool] = False
    """Whether the message says itself what to do, as far as the error can know."""

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
    """The text holds a NUL character, half of a surrogate pair or a pile of combining marks."""

    title = "The text is not well-formed"
    remedy = "Send Unicode text without U+0000 and without lone surrogates."
    tells_remedy = True


class EmptyText(InvalidInput):
    """The text has no letter and no digit, so nothing can be computed from it."""

    title = "The text has nothing to compute from"
    remedy = "Send a text with at least one letter or digit."
    tells_remedy = True


class UnusableFile(InvalidInput):
    """A file from which no book can be taken; the subclass says why."""

    field = "file"


class UnsupportedFormat(UnusableFile):
    """The bytes of the file are in no format that is read here."""

    status = 415
    title = "The format of the file is not read here"
    remedy = "Send one of the formats that docs/reference/formats.md lists."
    tells_remedy = True


class BrokenFile(UnusableFile):
    """The file is of a known format, but damaged; the message says where."""

    title = "The file is damaged"
    remedy = "Repair it, or send another copy of it."


class EncryptedFile(UnusableFile):
    """The file needs a password or a licence to be read."""

    problem = "encrypted"
    title = "The file is encrypted"
    remedy = "Send it without protection."
    tells_remedy = True


class NoText(UnusableFile):
    """The file holds no text, as pictures without recognised text do not."""

    title = "The file holds no text"
    remedy = "Send the file with its text recognised (OCR)."
    tells_remedy = True


class SeveralBooks(UnusableFile):
    """The file holds several books, each of which is taken one by one."""

    title = "The file holds several books"
    remedy = "Send each of them alone, or all in bulk, as lines of JSON."
    tells_remedy = True


class FileTooLarge(UnusableFile):
    """The file is larger than any book, at the latest once it is expanded."""

    status = 413
    title = "The file is too large"
    remedy = "Split it into its parts, and send each."
    tells_remedy = True


class InvalidIdentifier(InvalidInput):
    """The string is not a Bookprint identifier, or was damaged in copying."""

    title = "Not a book identifier"
    remedy = "Copy the identifier again, as a book's `identifier` shows it."


class RecipeMismatch(InvalidInput):
    """Signatures of two recipes were about to be compared; their distance would mean nothing."""

    title = "Signatures of two recipes"
    remedy = "Compute the signatures with the recipes that books of this service show."


class UnknownRecipe(InvalidInput):
    """The recipe's name is not known to this version."""

    title = "The recipe is not known"
    remedy = "Use one of the recipes that the detail names."


class RecipeNotIndexed(InvalidInput):
    """No lookup is answered for a fingerprint of this recipe."""

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
    """No cluster has this id, now or before."""

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
            "or a job has yet to come to them. The relations of the book list what is known."
        )


class TextNotKept(BookprintError):
    """What is asked for is computed from texts that are not kept; `field` names the part that asks for it."""

    status = 409
    title = "The text is not kept"
    remedy = "Send it as the new content of the book while texts are kept."

    def __init__(self, subject: str, field: str) -> None:
        super().__init__(f"{subject} is not kept: it came as signatures, or while BOOKPRINT_TEXTS was none.")
        self.field = field


class CompletenessUnknown(BookprintError):
    """There is nothing against which the pages of a book could be held."""

    status = 409
    title = "Completeness cannot be told"
    remedy = "Have this book and another scan of its printing in pages, while texts are kept."
    field = "id"
    tells_remedy = True


class EvidenceTooLong(BookprintError):
    """More pages match than are written one by one."""

    status = 409
    title = "Too many pages match"
    remedy = "Ask for text/csv, which has a row for each run, or for JSON."
    field = "Accept"


class NothingToConfirm(BookprintError):
    """The relation to confirm has not been found."""

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
    """Somebody has decided since its author looked."""

    status = 409
    title = "Somebody has decided meanwhile"
    remedy = "Look at the decision that there is now, and decide again if it is wrong."
    field = "instead_of"

    def __init__(self, book_id: UUID, other_id: UUID) -> None:
        super().__init__(f"The decision about the books {book_id} and {other_id} is no longer the one named.")


class Conflict(BookprintError):
    """The request contradicts a book in the catalogue; `book_id` names it."""

    status = 409
    title = "Another book is in the way"
    remedy = "See the book that `book_id` names."
    field = "external_id"
    tells_remedy = True

    def __init__(self, message: str, book_id: UUID) -> None:
        super().__init__(message)
        self.book_id = book_id


class OtherContent(Conflict):
    """The external id of a post belongs to a book with other content."""

    remedy = "Replace its content, or post under another external_id."
    tells_remedy = False

    def __init__(self, book_id: UUID, external_id: str | None) -> None:
        super().__init__(f"Book {book_id} has the external_id {external_id!r} and other content.", book_id)


class OtherCollection(BookprintError):
    """The API key writes to one collection alone, and a book of the request is outside it."""

    status = 403
    title = "The key is bound to another collection"
    remedy = "Send a key that is bound to none, or to the collection of the book."
    field = "Authorization"

    def __init__(self, own: str) -> None:
        super().__init__(f"This key reads everything, and writes to the collection {own!r} alone.")


class StaleVersion(BookprintError):
    """The book has changed since the version that the client saw."""

    status = 412
    title = "The book has changed"
    remedy = "Read the book again, and send the version that it has then."
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
    """A part of the service is there, and has too much to do to answer in time."""

    title = "A part of the service is busy"


class IndexRebuilding(Unavailable):
    """The band index is being reconciled with the catalogue; an answer now could be incomplete."""

    title = "The band index is being rebuilt"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a book is refused."""

    reason: str
    problem: str  # last part of the problem type

    @classmethod
    def of(cls, error: BookprintError) -> "Refusal":
        """The refusal for an error."""
        return cls(str(error), error.problem)
