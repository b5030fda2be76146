"""The errors that Bookprint raises on purpose; `app.api.http.problems` alone turns them into HTTP.

A message says what is wrong and what to do about it, because it reaches the client as it is.
"""

from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID


class BookprintError(Exception):
    """Root of all these errors."""

    problem: ClassVar[str] = "internal"
    """Last part of the problem type under which clients meet the error."""


class InvalidInput(BookprintError):
    """The request cannot be served as it stands; `field` names the part to change."""

    problem = "invalid"

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class InvalidText(InvalidInput):
    """The text holds a NUL character, half of a surrogate pair or a pile of combining marks."""

    problem = "invalid-text"


class EmptyText(InvalidInput):
    """The text has no letter and no digit, so nothing can be computed from it."""

    problem = "empty-text"


class UnusableFile(InvalidInput):
    """A file from which no book can be taken; the subclass says why."""


class UnsupportedFormat(UnusableFile):
    """The bytes of the file are in no format that is read here."""

    problem = "unsupported-format"


class BrokenFile(UnusableFile):
    """The file is of a known format, but damaged; the message says where."""

    problem = "broken-file"


class EncryptedFile(UnusableFile):
    """The file needs a password or a licence to be read."""

    problem = "encrypted"


class NoText(UnusableFile):
    """The file holds no text, as pictures without recognised text do not."""

    problem = "no-text"


class SeveralBooks(UnusableFile):
    """The file holds several books, each of which is taken one by one."""

    problem = "several-books"


class FileTooLarge(UnusableFile):
    """The file is larger than any book, at the latest once it is expanded."""

    problem = "file-too-large"


class InvalidIdentifier(InvalidInput):
    """The string is not a Bookprint identifier, or was damaged in copying."""

    problem = "invalid-identifier"


class RecipeMismatch(InvalidInput):
    """Signatures of two recipes were about to be compared; their distance would mean nothing."""

    problem = "recipe-mismatch"


class UnknownRecipe(InvalidInput):
    """The recipe's name is not known to this version."""

    problem = "unknown-recipe"


class RecipeNotIndexed(InvalidInput):
    """No lookup is answered under this fingerprint recipe, but under the one that serves."""

    problem = "recipe-not-indexed"

    def __init__(self, recipe: str, serving: str) -> None:
        super().__init__(
            f"Fingerprints of {recipe} are not indexed here; those of {serving} are. The operator can have "
            f"{recipe} serve instead with: bookprint reindex --recipe {recipe}",
            "recipe",
        )


class UnknownBook(BookprintError):
    """No book has this id (or it was deleted)."""

    problem = "unknown-book"

    def __init__(self, book_id: UUID | str) -> None:
        super().__init__(f"No book has the id {book_id}. List the books with GET /v1/books.")
        self.book_id = book_id


class NoVector(BookprintError):
    """A book has no vector, or no book has."""

    problem = "no-vector"


class UnknownCluster(BookprintError):
    """No cluster has this id, now or before."""

    problem = "unknown-cluster"

    def __init__(self, cluster_id: str) -> None:
        super().__init__(
            f"No cluster has the id {cluster_id}. The cluster of a book is at /v1/books/{{id}}/cluster."
        )


class UnknownJob(BookprintError):
    """No job has this id, or its traces have been swept."""

    problem = "unknown-job"

    def __init__(self, job_id: int | str) -> None:
        super().__init__(f"No job has the id {job_id}. Those that are done are forgotten after a day.")


class ChangesGone(BookprintError):
    """Changes that are asked for are not kept any more, or were never made by this catalogue."""

    problem = "changes-gone"

    def __init__(self) -> None:
        super().__init__(
            "The changes behind this cursor are not kept any more. Take a new cursor with "
            "GET /v1/changes?after=now, then read the books anew, and go on from that cursor."
        )


class UnknownPage(BookprintError):
    """The collection of changes has no page of this number yet."""

    problem = "unknown-page"

    def __init__(self, number: int | str) -> None:
        super().__init__(f"There is no page {number} yet. GET /changes/collection names the last one.")


class UnknownWebhook(BookprintError):
    """No webhook has this id (or it was deleted)."""

    problem = "unknown-webhook"

    def __init__(self, webhook_id: UUID | str) -> None:
        super().__init__(f"No webhook has the id {webhook_id}. List them with GET /v1/webhooks.")


class UnknownKey(BookprintError):
    """No API key has this id, or it cannot be changed any more."""

    problem = "unknown-key"

    def __init__(self, key_id: UUID | str) -> None:
        super().__init__(
            f"No key that is still valid has the id {key_id}. List them with: bookprint keys list"
        )


class NoValidKey(BookprintError):
    """The request came without a valid API key: none, an unknown, a revoked or an expired one."""

    problem = "no-valid-key"

    def __init__(self) -> None:
        super().__init__("This needs an API key that is valid.")


class ScopeMissing(BookprintError):
    """The API key of the request is valid, but lacks the scope of the operation."""

    problem = "scope-missing"

    def __init__(self, scope: str) -> None:
        super().__init__(f"This needs a key with the scope {scope}.")
        self.scope = scope


class NotCompared(BookprintError):
    """Nothing is known about the relation of two books."""

    problem = "not-compared"

    def __init__(self, book_id: UUID, other_id: UUID) -> None:
        if book_id == other_id:
            super().__init__("A book has no relation to itself. Name two different books.")
            return
        super().__init__(
            f"Book {book_id} has not been compared with {other_id}: they share too little to be candidates, "
            f"or a job has yet to come to them. GET /v1/books/{book_id}/relations lists what is known."
        )


class TextNotKept(BookprintError):
    """What is asked for is computed from texts that are not kept; `field` names the part that asks for it."""

    problem = "text-not-kept"

    def __init__(self, subject: str, field: str) -> None:
        super().__init__(
            f"{subject} is not kept: it came as signatures, or while BOOKPRINT_TEXTS was none. Send it with "
            "PUT /v1/books/{id}/content while texts are kept."
        )
        self.field = field


class NothingToConfirm(BookprintError):
    """The relation to confirm has not been found."""

    problem = "nothing-to-confirm"

    def __init__(self, book_id: UUID, other_id: UUID) -> None:
        super().__init__(
            f"Book {book_id} has not been compared with {other_id}, so there is nothing to confirm. Name the "
            'kind yourself, as {"kind": "SAME_TEXT"}, or wait until they have been compared.'
        )


class NoDecision(BookprintError):
    """There is no decision to withdraw."""

    problem = "no-decision"

    def __init__(self, book_id: UUID, other_id: UUID) -> None:
        super().__init__(f"Nobody has decided about the books {book_id} and {other_id}.")


class Conflict(BookprintError):
    """The request contradicts a book in the catalogue; `book_id` names it."""

    problem = "conflict"

    def __init__(self, message: str, book_id: UUID) -> None:
        super().__init__(message)
        self.book_id = book_id


class OtherContent(Conflict):
    """The external id of a post belongs to a book with other content."""

    def __init__(self, book_id: UUID, external_id: str | None) -> None:
        super().__init__(
            f"Book {book_id} has the external_id {external_id!r} and other content. Replace its content with "
            f"PUT /v1/books/{book_id}/content, or post under another external_id.",
            book_id,
        )


class StaleVersion(BookprintError):
    """The book has changed since the version that the client saw."""

    problem = "stale-version"

    def __init__(self, book_id: UUID, current: int) -> None:
        super().__init__(
            f"Book {book_id} is now at version {current}. Read it again, then repeat the change."
        )
        self.current = current


class Unavailable(BookprintError):
    """A part of the service is down or being rebuilt; `retry_after` is in seconds."""

    problem = "unavailable"

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class IndexRebuilding(Unavailable):
    """The band index is being reconciled with the catalogue; an answer now could be incomplete."""

    problem = "index-rebuilding"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a book is refused."""

    reason: str
    problem: str  # last part of the problem type

    @classmethod
    def of(cls, error: BookprintError) -> "Refusal":
        """The refusal for an error."""
        return cls(str(error), error.problem)
