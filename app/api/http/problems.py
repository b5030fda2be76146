"""Errors as documents: every refusal and every failure becomes one `application/problem+json` (RFC 9457).

This is the only module that knows which error has which status.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.api.http.bodies import BodyTooLarge, UnparsableJson, UnsupportedMediaType
from app.api.http.files import UnparsableForm
from app.api.http.negotiation import OFFERED, NotAcceptable
from app.api.http.remedies import REMEDIES
from app.api.http.transport.bulkheads import Overloaded
from app.api.http.transport.pace import BodyTooSlow
from app.api.http.usage import LimitReached
from app.catalog.marc.iso2709 import TooLongForBinary
from app.core.errors import (
    BookprintError,
    BrokenFile,
    ChangesGone,
    Conflict,
    EmptyText,
    EncryptedFile,
    FileTooLarge,
    IndexRebuilding,
    InvalidIdentifier,
    InvalidInput,
    InvalidText,
    NoDecision,
    NotCompared,
    NoText,
    NothingToConfirm,
    NoValidKey,
    RecipeMismatch,
    RecipeNotIndexed,
    ScopeMissing,
    SeveralBooks,
    StaleVersion,
    Unavailable,
    UnknownBook,
    UnknownCluster,
    UnknownJob,
    UnknownPage,
    UnknownRecipe,
    UnknownWebhook,
    UnsupportedFormat,
)

MEDIA_TYPE = "application/problem+json"

_MOST_ERRORS = 100
"""Errors listed of one request; a body can have as many as it has fields."""

_INVALID = "The request is invalid"


class FieldError(BaseModel):
    """One part of the request that has to change."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"field": "d", "detail": "128 is the largest.", "remedy": "Send 128 or less."}
        }
    )

    field: str = Field(description="The field, parameter or header, as `authors[2]` or `If-Match`.")
    detail: str = Field(description="What is wrong with it.")
    remedy: str = Field(description="What to do about it.")


class Problem(BaseModel):
    """An error as a problem document (RFC 9457)."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "example": {
                "type": "urn:bookprint:problem:invalid",
                "title": "The request is invalid",
                "status": 422,
                "detail": "d: Input should be less than or equal to 128. Send 128 or less.",
                "errors": [
                    {
                        "field": "d",
                        "detail": "Input should be less than or equal to 128.",
                        "remedy": "Send 128 or less.",
                    }
                ],
            }
        },
    )

    type: str = Field(description="A URI that names the kind of problem.")
    title: str = Field(description="The kind of problem in words; the same for every one of its kind.")
    status: int = Field(description="The HTTP status, once more.")
    detail: str = Field(description="What is wrong this time, and what to do about it.")
    errors: list[FieldError] = Field(default=[], description="What to change, field by field.")


class _UnknownPath(HTTPException):
    """No endpoint is at the path."""

    problem = "unknown-path"


class _MethodNotAllowed(HTTPException):
    """The endpoint at the path takes other methods."""

    problem = "method-not-allowed"


@dataclass(frozen=True, slots=True)
class _Answer:
    """A problem before it is written down."""

    status: int
    kind: str
    title: str
    detail: str
    errors: Sequence[FieldError] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    extensions: Mapping[str, Any] = field(default_factory=dict)

    def problem(self) -> Problem:
        return Problem(
            type=f"urn:bookprint:problem:{self.kind}",
            title=self.title,
            status=self.status,
            detail=self.detail,
            errors=list(self.errors),
            **self.extensions,
        )

    def response(self) -> Response:
        headers = dict(self.headers)
        return Response(self.problem().model_dump_json(), self.status, headers=headers, media_type=MEDIA_TYPE)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The form in which a kind of error is shown."""

    status: int
    title: str
    remedy: str
    field: str = "body"  # to change, where the error names none


_KINDS: dict[type[Exception], _Kind] = {
    EmptyText: _Kind(
        422,
        "The text has nothing to compute from",
        "Send a text with at least one letter or digit.",
    ),
    InvalidText: _Kind(
        422,
        "The text is not well-formed",
        "Send Unicode text without U+0000 and without lone surrogates.",
    ),
    InvalidIdentifier: _Kind(
        422,
        "Not a book identifier",
        "Copy the identifier again, as a book's `identifier` shows it.",
    ),
    RecipeMismatch: _Kind(
        422,
        "Signatures of two recipes",
        "Compute the signatures with the recipes that books of this service show.",
    ),
    RecipeNotIndexed: _Kind(
        422,
        "The recipe is not indexed",
        "Send the text, or a fingerprint of a recipe that is indexed.",
    ),
    UnknownRecipe: _Kind(422, "The recipe is not known", "Use one of the recipes that the detail names."),
    UnsupportedFormat: _Kind(
        415,
        "The format of the file is not read here",
        "Send one of the formats that docs/formats.md lists.",
        "file",
    ),
    BrokenFile: _Kind(422, "The file is damaged", "Repair it, or send another copy of it.", "file"),
    EncryptedFile: _Kind(422, "The file is encrypted", "Send it without protection.", "file"),
    NoText: _Kind(422, "The file holds no text", "Send the file with its text recognised (OCR).", "file"),
    SeveralBooks: _Kind(
        422,
        "The file holds several books",
        "Send each of them alone, or all as lines of JSON to POST /v1/books:bulk.",
        "file",
    ),
    FileTooLarge: _Kind(413, "The file is too large", "Split it into its parts, and send each.", "file"),
    NotAcceptable: _Kind(406, "No answer of this type", f"Ask for one of {', '.join(OFFERED)}.", "Accept"),
    TooLongForBinary: _Kind(406, "Too long for binary MARC", "Ask for application/marcxml+xml.", "Accept"),
    InvalidInput: _Kind(422, _INVALID, "Correct this field and send the request again."),
    UnknownBook: _Kind(404, "No such book", "Use the id of a book that GET /v1/books lists.", "id"),
    UnknownCluster: _Kind(404, "No such cluster", "Use the id that a book's cluster shows.", "id"),
    UnknownJob: _Kind(
        404,
        "No such job",
        "Use the id of a job that this service has named within a day.",
        "id",
    ),
    ChangesGone: _Kind(
        410,
        "The changes are not kept any more",
        "Read the books anew, and go on from a new cursor.",
        "after",
    ),
    UnknownPage: _Kind(404, "No such page", "Begin with a page that the collection names.", "number"),
    NoValidKey: _Kind(
        401,
        "No valid key",
        "Send one as Authorization: Bearer bp_… or as X-API-Key; bookprint keys create makes one.",
        "Authorization",
    ),
    ScopeMissing: _Kind(
        403,
        "The key lacks a scope",
        "Send a key that has it; bookprint keys list shows the scopes of each.",
        "Authorization",
    ),
    UnknownWebhook: _Kind(404, "No such webhook", "Use the id of a webhook that the list shows.", "id"),
    NotCompared: _Kind(
        404,
        "Not compared",
        "Use the id of a book that this book's relations list.",
        "other_id",
    ),
    NoDecision: _Kind(
        404,
        "No decision",
        "Read the relation to see whether there is a decision; there is nothing to withdraw.",
        "other_id",
    ),
    NothingToConfirm: _Kind(
        409,
        "Nothing to confirm",
        "Name the kind, or wait until the books have been compared.",
        "verdict",
    ),
    Conflict: _Kind(409, "Another book is in the way", "See the book that `book_id` names.", "external_id"),
    StaleVersion: _Kind(412, "The book has changed", "Send the ETag of the present version.", "If-Match"),
    BodyTooLarge: _Kind(
        413,
        "The body is too large",
        "Send a smaller body, or have BOOKPRINT_MAX_BODY_BYTES raised.",
    ),
    LimitReached: _Kind(429, "A limit is reached", "Send it again later.", "Authorization"),
    BodyTooSlow: _Kind(
        408,
        "The body arrives too slowly",
        "Send it again over a faster connection, or in smaller parts.",
    ),
    Overloaded: _Kind(
        503, "The service has too much to do", "Send it again after the seconds that Retry-After names."
    ),
    UnsupportedMediaType: _Kind(
        415,
        "The body is of a type that is not taken here",
        "Send uncompressed UTF-8 JSON with Content-Type: application/json.",
    ),
    _UnknownPath: _Kind(
        404, "No such path", "See /docs for the paths that there are; none ends with a slash.", "path"
    ),
    _MethodNotAllowed: _Kind(405, "Method not allowed", "Use one of the methods that /docs shows.", "method"),
    UnparsableJson: _Kind(400, "The body cannot be read as JSON", "Send JSON."),
    UnparsableForm: _Kind(
        400,
        "The body cannot be read as multipart/form-data",
        "Send the book as a part `file` with a filename, as curl does with -F file=@book.epub, and metadata "
        "of at most 1 MiB.",
    ),
}
"""Errors with one cause and one remedy; a subclass without an entry has its parent's."""

_SAYING_REMEDY = (
    ChangesGone,
    Conflict,
    EmptyText,
    EncryptedFile,
    FileTooLarge,
    InvalidText,
    NoText,
    NotCompared,
    NothingToConfirm,
    SeveralBooks,
    StaleVersion,
    UnknownBook,
    UnknownCluster,
    UnknownJob,
    UnknownPage,
    UnknownWebhook,
    UnsupportedFormat,
)
"""Errors whose message says what to do, as far as they can know."""


def problem_of(error: Exception) -> Problem:
    """The problem document for an error, to be part of an answer."""
    return _answer(error).problem()


def problem_response(error: Exception) -> Response:
    """The problem document for an error; one that is not foreseen here is an internal error."""
    return _answer(error).response()


def parts_down(parts: Mapping[str, Mapping[str, Any]], retry_after: int) -> Response:
    """The problem that says which parts of the service are not well; no parts: they are not to be seen."""
    reasons = [f"{name}: {part['detail']}" for name, part in parts.items() if not part["ok"]]
    detail = " ".join(reasons) or "A part is down. Ask with a key that has the scope read which it is."
    headers = {"Retry-After": str(retry_after)}
    return _Answer(503, "not-ready", "Not ready", detail, (), headers, {"parts": parts}).response()


def _answer(error: Exception) -> _Answer:
    kind = next((_KINDS[each] for each in type(error).__mro__ if each in _KINDS), None)
    match error:
        case Conflict() if kind:
            answer = _single(kind, error, f"See /v1/books/{error.book_id}.")
            return replace(answer, extensions={"book_id": str(error.book_id)})
        case StaleVersion() if kind:
            etag = f'"{error.current}"'
            answer = _single(kind, error, f"Send If-Match: {etag} once you have seen that version.")
            return replace(answer, headers={"ETag": etag})
        case NoValidKey() if kind:
            return replace(_single(kind, error), headers={"WWW-Authenticate": "Bearer"})
        case ScopeMissing(scope=scope) if kind:
            challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
            answer = replace(_single(kind, error), headers={"WWW-Authenticate": challenge})
            return replace(answer, extensions={"scope": scope})
        case UnparsableJson() if kind:
            return _single(replace(kind, status=error.status_code), error)
        case LimitReached() if kind:
            answer = replace(_single(kind, error), headers=error.headers or {})
            return replace(answer, extensions={"violated-policies": error.names})
        case BodyTooSlow() | Overloaded() if kind:
            return replace(_single(kind, error), headers=error.headers or {})
        case _ if kind:
            return _single(kind, error)
        case Unavailable():
            rebuilding = isinstance(error, IndexRebuilding)
            title = "The band index is being rebuilt" if rebuilding else "A part of the service is down"
            headers = {"Retry-After": str(error.retry_after)}
            return _Answer(503, error.problem, title, str(error), headers=headers)
        case RequestValidationError():
            return _invalid_fields(error)
        case HTTPException():
            return _routing(error)
        case _:
            detail = "Something went wrong inside the service; its log says what. Trying again may help."
            return _Answer(500, BookprintError.problem, "An error of the service", detail)


def _single(kind: _Kind, error: Exception, remedy: str | None = None) -> _Answer:
    detail = error.detail if isinstance(error, HTTPException) else str(error)
    field = getattr(error, "field", None) or kind.field
    remedy = remedy or getattr(error, "remedy", None) or kind.remedy
    errors = [FieldError(field=field, detail=detail, remedy=remedy)]
    detail = detail if isinstance(error, _SAYING_REMEDY) else f"{detail} {remedy}"
    problem = getattr(error, "problem", BookprintError.problem)
    headers = {"Vary": kind.field} if kind.status == HTTPStatus.NOT_ACCEPTABLE else {}
    return _Answer(kind.status, problem, kind.title, detail, errors, headers)


def _invalid_fields(error: RequestValidationError) -> _Answer:
    details = error.errors()
    if len(details) > _MOST_ERRORS:
        excess = InvalidInput(f"{len(details)} fields of the request are unknown or wrong.")
        remedy = "Send only the fields that /docs shows, each with a value of its type."
        return _single(_KINDS[InvalidInput], excess, remedy)
    errors = [_field_error(detail) for detail in details]
    summary = " ".join(f"{error.field}: {error.detail} {error.remedy}" for error in errors)
    return _Answer(422, InvalidInput.problem, _INVALID, summary, errors)


def _field_error(error: Mapping[str, Any]) -> FieldError:
    context = error.get("ctx", {})
    # The first part of the place says path, query, header or body.
    _, *place = error["loc"]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    detail = error["msg"].removesuffix(" after validation").rstrip(".") + "."
    return FieldError(
        field=_shortened(context.get("field") or name or "body"),
        detail=detail,
        remedy=REMEDIES.get(error["type"], "Correct the value.").format_map(context),
    )


def _shortened(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:200]}…"


def _routing(error: HTTPException) -> _Answer:
    headers = error.headers or {}
    match error.status_code:
        case 404:
            return _answer(_UnknownPath(404, "Nothing is found at this path."))
        case 405:
            refused = _MethodNotAllowed(405, "This path does not take this method.")
            answer = _single(_KINDS[_MethodNotAllowed], refused, f"Use one of: {headers.get('Allow', '')}.")
            return replace(answer, headers=headers)
        case status:
            title = HTTPStatus(status).phrase
            return _Answer(status, "http", title, f"{error.detail}.", headers=headers)
