"""The problem document (RFC 9457): the form of every refusal and every failure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.api.http.admission import Overloaded
from app.api.http.bodies import BodyTooSlow, UnparsableJson
from app.api.http.problem_kinds import (
    INVALID,
    KINDS,
    SAYING_REMEDY,
    MethodNotAllowed,
    ProblemKind,
    UnknownPath,
)
from app.api.http.usage import LimitReached
from app.core.errors import (
    BookprintError,
    Conflict,
    IndexRebuilding,
    InvalidInput,
    NoValidKey,
    ScopeMissing,
    StaleVersion,
    Unavailable,
)

MEDIA_TYPE = "application/problem+json"


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


@dataclass(frozen=True, slots=True)
class ProblemAnswer:
    """A problem before it is written down."""

    status: int
    kind: str
    title: str
    detail: str
    errors: Sequence[FieldError] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    extensions: Mapping[str, Any] = field(default_factory=dict)

    def problem(self) -> Problem:
        """The document."""
        return Problem(
            type=f"urn:bookprint:problem:{self.kind}",
            title=self.title,
            status=self.status,
            detail=self.detail,
            errors=list(self.errors),
            **self.extensions,
        )

    def response(self) -> Response:
        """The document as an answer."""
        headers = dict(self.headers)
        return Response(self.problem().model_dump_json(), self.status, headers=headers, media_type=MEDIA_TYPE)


REMEDIES = {
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
    "model_attributes_type": 'Send a JSON object, as {{"text": "…"}}.',
    "greater_than_equal": "Send {ge} or more.",
    "less_than_equal": "Send {le} or less.",
    "uuid_parsing": "Send an id, as 0193508e-7a3c-7c19-9b54-2f1d6a0e4c11.",
    "moment": "Send a time with its offset, as 2027-01-31T18:00:00Z.",
    "decision_form": 'Send {{"verdict": "confirmed"}}, {{"verdict": "rejected"}} or {{"kind": "SAME_TEXT"}}.',
    "repeated_part": "Send it once.",
    "missing_file": "Send the book as a part `file` with a filename, as curl does with -F file=@book.epub.",
    "marc_record": "Repair the record, or send it in another form; docs/marc.md says what is taken.",
    "one_of": "Send exactly one of {names}.",
    "not_together": "Leave one of them out.",
    "nothing_to_find": "Send a query that is not empty, or a property.",
    "control": "Remove it.",
    "long_value": "Send at most {most} characters.",
    "identifier_form": "Write it as scheme:value, for example isbn:9780141439600.",
}
"""The remedy for each kind of validation error; the context of the error fills the gaps."""


_MOST_ERRORS = 100
"""Errors listed of one request; a body can have as many as it has fields."""


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
    return ProblemAnswer(503, "not-ready", "Not ready", detail, (), headers, {"parts": parts}).response()


def _answer(error: Exception) -> ProblemAnswer:
    kind = next((KINDS[each] for each in type(error).__mro__ if each in KINDS), None)
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
            return ProblemAnswer(503, error.problem, title, str(error), headers=headers)
        case RequestValidationError():
            return _invalid_fields(error)
        case HTTPException():
            return _routing(error)
        case _:
            detail = "Something went wrong inside the service; its log says what. Trying again may help."
            return ProblemAnswer(500, BookprintError.problem, "An error of the service", detail)


def _single(kind: ProblemKind, error: Exception, remedy: str | None = None) -> ProblemAnswer:
    detail = error.detail if isinstance(error, HTTPException) else str(error)
    field = getattr(error, "field", None) or kind.field
    remedy = remedy or getattr(error, "remedy", None) or kind.remedy
    errors = [FieldError(field=field, detail=detail, remedy=remedy)]
    detail = detail if isinstance(error, SAYING_REMEDY) else f"{detail} {remedy}"
    problem = getattr(error, "problem", BookprintError.problem)
    headers = {"Vary": kind.field} if kind.status == HTTPStatus.NOT_ACCEPTABLE else {}
    return ProblemAnswer(kind.status, problem, kind.title, detail, errors, headers)


def _invalid_fields(error: RequestValidationError) -> ProblemAnswer:
    details = error.errors()
    if len(details) > _MOST_ERRORS:
        excess = InvalidInput(f"{len(details)} fields of the request are unknown or wrong.")
        remedy = "Send only the fields that /docs shows, each with a value of its type."
        return _single(KINDS[InvalidInput], excess, remedy)
    errors = [_field_error(detail) for detail in details]
    summary = " ".join(f"{error.field}: {error.detail} {error.remedy}" for error in errors)
    return ProblemAnswer(422, InvalidInput.problem, INVALID, summary, errors)


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


def _routing(error: HTTPException) -> ProblemAnswer:
    headers = error.headers or {}
    match error.status_code:
        case 404:
            return _answer(UnknownPath(404, "Nothing is found at this path."))
        case 405:
            refused = MethodNotAllowed(405, "This path does not take this method.")
            answer = _single(KINDS[MethodNotAllowed], refused, f"Use one of: {headers.get('Allow', '')}.")
            return replace(answer, headers=headers)
        case status:
            title = HTTPStatus(status).phrase
            return ProblemAnswer(status, "http", title, f"{error.detail}.", headers=headers)
