"""The kinds of errors: the status, the title and the remedy of each.

This is the only module that knows which error has which status.
"""

from dataclasses import dataclass

from starlette.exceptions import HTTPException

from app.api.http.admission import Overloaded
from app.api.http.bodies import BodyTooLarge, BodyTooSlow, UnparsableJson, UnsupportedMediaType
from app.api.http.cors import ForeignPage, HostNotServed
from app.api.http.files import UnparsableForm
from app.api.http.negotiation import NotAcceptable
from app.api.http.usage import LimitReached
from app.catalog.marc.record import TooLongForBinary
from app.core.errors import (
    BrokenFile,
    ChangesGone,
    Conflict,
    EmptyText,
    EncryptedFile,
    FileTooLarge,
    InvalidIdentifier,
    InvalidInput,
    InvalidText,
    NoDecision,
    NotCompared,
    NoText,
    NothingToConfirm,
    NoValidKey,
    NoVector,
    RecipeMismatch,
    RecipeNotIndexed,
    ScopeMissing,
    SeveralBooks,
    StaleVersion,
    TextNotKept,
    UnknownBook,
    UnknownCluster,
    UnknownJob,
    UnknownPage,
    UnknownRecipe,
    UnknownWebhook,
    UnsupportedFormat,
)

INVALID = "The request is invalid"


class UnknownPath(HTTPException):
    """No endpoint is at the path."""

    problem = "unknown-path"


class MethodNotAllowed(HTTPException):
    """The endpoint at the path takes other methods."""

    problem = "method-not-allowed"


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """The form in which a kind of error is shown."""

    status: int
    title: str
    remedy: str
    field: str = "body"  # to change, where the error names none


KINDS: dict[type[Exception], ProblemKind] = {
    EmptyText: ProblemKind(
        422,
        "The text has nothing to compute from",
        "Send a text with at least one letter or digit.",
    ),
    InvalidText: ProblemKind(
        422,
        "The text is not well-formed",
        "Send Unicode text without U+0000 and without lone surrogates.",
    ),
    InvalidIdentifier: ProblemKind(
        422,
        "Not a book identifier",
        "Copy the identifier again, as a book's `identifier` shows it.",
    ),
    RecipeMismatch: ProblemKind(
        422,
        "Signatures of two recipes",
        "Compute the signatures with the recipes that books of this service show.",
    ),
    RecipeNotIndexed: ProblemKind(
        422,
        "The recipe is not indexed",
        "Send the text, or a fingerprint of a recipe that is indexed.",
    ),
    UnknownRecipe: ProblemKind(
        422, "The recipe is not known", "Use one of the recipes that the detail names."
    ),
    UnsupportedFormat: ProblemKind(
        415,
        "The format of the file is not read here",
        "Send one of the formats that docs/formats.md lists.",
        "file",
    ),
    BrokenFile: ProblemKind(422, "The file is damaged", "Repair it, or send another copy of it.", "file"),
    EncryptedFile: ProblemKind(422, "The file is encrypted", "Send it without protection.", "file"),
    NoText: ProblemKind(
        422, "The file holds no text", "Send the file with its text recognised (OCR).", "file"
    ),
    SeveralBooks: ProblemKind(
        422,
        "The file holds several books",
        "Send each of them alone, or all as lines of JSON to POST /v1/books:bulk.",
        "file",
    ),
    FileTooLarge: ProblemKind(
        413, "The file is too large", "Split it into its parts, and send each.", "file"
    ),
    NotAcceptable: ProblemKind(406, "No answer of this type", "Ask for another type.", "Accept"),
    TooLongForBinary: ProblemKind(
        406, "Too long for binary MARC", "Ask for application/marcxml+xml.", "Accept"
    ),
    InvalidInput: ProblemKind(422, INVALID, "Correct this field and send the request again."),
    UnknownBook: ProblemKind(404, "No such book", "Use the id of a book that GET /v1/books lists.", "id"),
    UnknownCluster: ProblemKind(404, "No such cluster", "Use the id that a book's cluster shows.", "id"),
    UnknownJob: ProblemKind(
        404,
        "No such job",
        "Use the id of a job that this service has named within a day.",
        "id",
    ),
    ChangesGone: ProblemKind(
        410,
        "The changes are not kept any more",
        "Read the books anew, and go on from a new cursor.",
        "after",
    ),
    UnknownPage: ProblemKind(404, "No such page", "Begin with a page that the collection names.", "number"),
    NoValidKey: ProblemKind(
        401,
        "No valid key",
        "Send one as Authorization: Bearer bp_… or as X-API-Key; bookprint keys create makes one.",
        "Authorization",
    ),
    ScopeMissing: ProblemKind(
        403,
        "The key lacks a scope",
        "Send a key that has it; bookprint keys list shows the scopes of each.",
        "Authorization",
    ),
    UnknownWebhook: ProblemKind(404, "No such webhook", "Use the id of a webhook that the list shows.", "id"),
    NotCompared: ProblemKind(
        404,
        "Not compared",
        "Use the id of a book that this book's relations list.",
        "other_id",
    ),
    NoDecision: ProblemKind(
        404,
        "No decision",
        "Read the relation to see whether there is a decision; there is nothing to withdraw.",
        "other_id",
    ),
    NothingToConfirm: ProblemKind(
        409,
        "Nothing to confirm",
        "Name the kind, or wait until the books have been compared.",
        "verdict",
    ),
    NoVector: ProblemKind(409, "No vector", "Have the vectors computed: bookprint reindex --vectors.", "id"),
    Conflict: ProblemKind(
        409, "Another book is in the way", "See the book that `book_id` names.", "external_id"
    ),
    TextNotKept: ProblemKind(409, "The text is not kept", "Ask without it, or send the text again."),
    StaleVersion: ProblemKind(
        412, "The book has changed", "Send the ETag of the present version.", "If-Match"
    ),
    BodyTooLarge: ProblemKind(
        413,
        "The body is too large",
        "Send a smaller body, or have BOOKPRINT_MAX_BODY_BYTES raised.",
    ),
    LimitReached: ProblemKind(429, "A limit is reached", "Send it again later.", "Authorization"),
    BodyTooSlow: ProblemKind(
        408,
        "The body arrives too slowly",
        "Send it again over a faster connection, or in smaller parts.",
    ),
    Overloaded: ProblemKind(
        503, "The service has too much to do", "Send it again after the seconds that Retry-After names."
    ),
    UnsupportedMediaType: ProblemKind(
        415,
        "The body is of a type that is not taken here",
        "Send uncompressed UTF-8 JSON with Content-Type: application/json.",
    ),
    HostNotServed: ProblemKind(
        421,
        "Not a host of this service",
        "Ask at localhost or 127.0.0.1, or have BOOKPRINT_PUBLIC_URL name the address that clients use.",
        "Host",
    ),
    ForeignPage: ProblemKind(
        403,
        "A page of another site",
        "Where its pages may use this service, have BOOKPRINT_CORS_ORIGINS name the origin.",
        "Origin",
    ),
    UnknownPath: ProblemKind(
        404, "No such path", "See /docs for the paths that there are; none ends with a slash.", "path"
    ),
    MethodNotAllowed: ProblemKind(
        405, "Method not allowed", "Use one of the methods that /docs shows.", "method"
    ),
    UnparsableJson: ProblemKind(400, "The body cannot be read as JSON", "Send JSON."),
    UnparsableForm: ProblemKind(
        400,
        "The body cannot be read as multipart/form-data",
        "Send the book as a part `file` with a filename, as curl does with -F file=@book.epub, and metadata "
        "of at most 1 MiB.",
    ),
}
"""Errors with one cause and one remedy; a subclass without an entry has its parent's."""

SAYING_REMEDY = (
    ChangesGone,
    Conflict,
    EmptyText,
    EncryptedFile,
    FileTooLarge,
    InvalidText,
    NoText,
    NotCompared,
    NothingToConfirm,
    NoVector,
    SeveralBooks,
    StaleVersion,
    TextNotKept,
    UnknownBook,
    UnknownCluster,
    UnknownJob,
    UnknownPage,
    UnknownWebhook,
    UnsupportedFormat,
)
"""Errors whose message says what to do, as far as they can know."""
