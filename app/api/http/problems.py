"""Errors as documents: every refusal and every failure becomes one `application/problem+json` (RFC 9457).

This is the only module that knows which error has which status.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import ErrorDetails, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.api.http.errors import BodyTooLarge, UnparsableJson, UnsupportedMediaType
from app.core.errors import (
    Conflict,
    EmptyText,
    IndexRebuilding,
    InvalidIdentifier,
    InvalidInput,
    InvalidText,
    NoDecision,
    NotCompared,
    NothingToConfirm,
    RecipeMismatch,
    RecipeNotIndexed,
    StaleVersion,
    Unavailable,
    UnknownBook,
    UnknownCluster,
    UnknownJob,
    UnknownRecipe,
)

MEDIA_TYPE = "application/problem+json"

_MOST_ERRORS = 100
"""Errors told of one request; a body can have as many as it has fields."""


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
    """What went wrong (RFC 9457)."""

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

    def response(self) -> Response:
        problem = Problem(
            type=f"urn:bookprint:problem:{self.kind}",
            title=self.title,
            status=self.status,
            detail=self.detail,
            errors=list(self.errors),
            **self.extensions,
        )
        return Response(
            problem.model_dump_json(), self.status, headers=dict(self.headers), media_type=MEDIA_TYPE
        )


_SELF_EXPLAINING = (
    Conflict,
    EmptyText,
    InvalidText,
    NotCompared,
    NothingToConfirm,
    StaleVersion,
    UnknownBook,
    UnknownCluster,
    UnknownJob,
)

_INVALID: tuple[tuple[type[InvalidInput], str, str, str], ...] = (
    (
        EmptyText,
        "empty-text",
        "The text has nothing to compute from",
        "Send a text with at least one letter or digit.",
    ),
    (
        InvalidText,
        "invalid-text",
        "The text is not well-formed",
        "Send Unicode text without U+0000 and without lone surrogates.",
    ),
    (
        InvalidIdentifier,
        "invalid-identifier",
        "Not a book identifier",
        "Copy the identifier again, as a book's `identifier` shows it.",
    ),
    (
        RecipeMismatch,
        "recipe-mismatch",
        "Signatures of two recipes",
        "Compute the signatures with the recipes that books of this service show.",
    ),
    (
        RecipeNotIndexed,
        "recipe-not-indexed",
        "The recipe is not indexed",
        "Send the text, or a fingerprint of a recipe that is indexed.",
    ),
    (
        UnknownRecipe,
        "unknown-recipe",
        "The recipe is not known",
        "Use one of the recipes that the detail names.",
    ),
)
"""Kind, title and remedy of the domain's own refusals; any other `InvalidInput` is simply invalid."""


def problem_response(error: Exception) -> Response:
    """The problem document for an error; one that is not foreseen here is an internal error."""
    return _answer(error).response()


def parts_down(parts: Mapping[str, Mapping[str, Any]], retry_after: int) -> Response:
    """The problem that says which parts of the service are not well."""
    detail = " ".join(f"{name}: {part['detail']}" for name, part in parts.items() if not part["ok"])
    return _Answer(
        503,
        "not-ready",
        "Not ready",
        detail,
        headers={"Retry-After": str(retry_after)},
        extensions={"parts": parts},
    ).response()


def _answer(error: Exception) -> _Answer:
    match error:
        case InvalidInput():
            return _invalid_input(error)
        case UnknownBook():
            remedy = "Use the id of a book that GET /v1/books lists."
            return _single(404, "unknown-book", "No such book", error, "id", remedy)
        case UnknownCluster():
            remedy = "Use the id that a book's cluster shows."
            return _single(404, "unknown-cluster", "No such cluster", error, "id", remedy)
        case UnknownJob():
            remedy = "Use the id of a job that this service has named within a day."
            return _single(404, "unknown-job", "No such job", error, "id", remedy)
        case NotCompared():
            remedy = "Use the id of a book that this book's relations list."
            return _single(404, "not-compared", "Not compared", error, "other_id", remedy)
        case NoDecision():
            remedy = "Read the relation to see whether there is a decision; there is nothing to withdraw."
            return _single(404, "no-decision", "No decision", error, "other_id", remedy)
        case NothingToConfirm():
            remedy = "Name the kind, or wait until the books have been compared."
            return _single(409, "nothing-to-confirm", "Nothing to confirm", error, "verdict", remedy)
        case Conflict():
            remedy = f"See /v1/books/{error.book_id}."
            answer = _single(409, "conflict", "Another book is in the way", error, "external_id", remedy)
            return replace(answer, extensions={"book_id": str(error.book_id)})
        case StaleVersion():
            etag = f'"{error.current}"'
            remedy = f"Send If-Match: {etag} once you have seen that version."
            answer = _single(412, "stale-version", "The book has changed", error, "If-Match", remedy)
            return replace(answer, headers={"ETag": etag})
        case Unavailable():
            kind, title = "unavailable", "A part of the service is down"
            if isinstance(error, IndexRebuilding):
                kind, title = "index-rebuilding", "The band index is being rebuilt"
            return _Answer(503, kind, title, str(error), headers={"Retry-After": str(error.retry_after)})
        case BodyTooLarge():
            remedy = f"Send at most {error.max_bytes} bytes, or have BOOKPRINT_MAX_BODY_BYTES raised."
            return _single(413, "body-too-large", "The body is too large", error, "body", remedy)
        case UnsupportedMediaType():
            remedy = "Send uncompressed UTF-8 JSON with Content-Type: application/json."
            return _single(415, "unsupported-media-type", "The body is not JSON", error, error.header, remedy)
        case UnparsableJson():
            title = "The body cannot be read as JSON"
            return _single(error.status, "unparsable", title, error, error.field, error.remedy)
        case ValidationError() | RequestValidationError():
            return _invalid_fields(error)
        case HTTPException():
            return _routing(error)
        case _:
            return _Answer(
                500,
                "internal",
                "An error of the service",
                "Something went wrong inside the service; its log says what. Trying again may help.",
            )


def _single(status: int, kind: str, title: str, error: Exception, name: str, remedy: str) -> _Answer:
    errors = [FieldError(field=name, detail=str(error), remedy=remedy)]
    # The domain's own messages say what to do, as far as they can know.
    detail = str(error) if isinstance(error, _SELF_EXPLAINING) else f"{error} {remedy}"
    return _Answer(status, kind, title, detail, errors)


def _invalid_input(error: InvalidInput) -> _Answer:
    for kind_of_error, kind, title, remedy in _INVALID:
        if isinstance(error, kind_of_error):
            return _single(422, kind, title, error, error.field or "body", remedy)
    remedy = "Correct this field and send the request again."
    return _single(422, "invalid", "The request is invalid", error, error.field or "body", remedy)


def _invalid_fields(error: ValidationError | RequestValidationError) -> _Answer:
    title = "The request is invalid"
    if isinstance(error, ValidationError):
        if error.error_count() > _MOST_ERRORS:
            # Listing them would cost more than reading the body did.
            detail = f"{error.error_count()} fields of the body are unknown or wrong."
            remedy = "Send only the fields that /docs shows, each with a value of its type."
            return _single(422, "invalid", title, ValueError(detail), "body", remedy)
        details: Sequence[ErrorDetails] = error.errors(include_url=False, include_input=False)
        errors = [_field_error(detail, detail["loc"]) for detail in details]
    else:
        # The first part of the place says path, query or header.
        errors = [_field_error(detail, detail["loc"][1:]) for detail in error.errors()]
    summary = " ".join(f"{error.field}: {error.detail} {error.remedy}" for error in errors)
    return _Answer(422, "invalid", title, summary, errors)


def _field_error(error: Mapping[str, Any], place: Sequence[int | str]) -> FieldError:
    context = error.get("ctx", {})
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    detail = error["msg"].removesuffix(" after validation").rstrip(".") + "."
    return FieldError(
        field=_shortened(context.get("field") or name or "body"),
        detail=detail,
        remedy=_REMEDIES.get(error["type"], "Correct the value.").format_map(context),
    )


_REMEDIES = {
    "extra_forbidden": "Leave it out or correct its name; /docs shows the names that are known.",
    "missing": "Send it.",
    "string_type": "Send a string.",
    "string_too_long": "Send at most {max_length} characters.",
    "string_too_short": "Send at least {min_length} character, or leave the field out.",
    "string_pattern_mismatch": "Send a value of the form {pattern}.",
    "int_type": "Send a whole number.",
    "int_from_float": "Send a whole number.",
    "int_parsing": "Send a whole number.",
    "int_parsing_size": "Send a smaller number.",
    "list_type": "Send a list.",
    "too_long": "Send at most {max_length} items.",
    "too_short": "Send at least {min_length} item.",
    "model_type": 'Send a JSON object, as {{"text": "…"}}.',
    "greater_than_equal": "Send {ge} or more.",
    "less_than_equal": "Send {le} or less.",
    "decision_form": 'Send {{"verdict": "confirmed"}}, {{"verdict": "rejected"}} or {{"kind": "SAME_TEXT"}}.',
    "nul": "Remove the character U+0000.",
    "one_of": "Send exactly one of {names}.",
    "not_together": "Leave one of them out.",
    "identifier_form": "Write it as scheme:value, for example isbn:9780141439600.",
}
"""What to do about each kind of validation error; the context of the error fills the gaps."""


def _shortened(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:200]}…"


def _routing(error: HTTPException) -> _Answer:
    headers = error.headers or {}
    match error.status_code:
        case 404:
            detail = ValueError("Nothing is found at this path.")
            remedy = "See /docs for the paths that there are; none ends with a slash."
            return _single(404, "unknown-path", "No such path", detail, "path", remedy)
        case 405:
            detail = ValueError("This path does not take this method.")
            remedy = f"Use one of: {headers.get('Allow', '')}."
            answer = _single(405, "method-not-allowed", "Method not allowed", detail, "method", remedy)
            return replace(answer, headers=headers)
        case status:
            title = HTTPStatus(status).phrase
            return _Answer(status, "http", title, f"{error.detail}.", headers=headers)
