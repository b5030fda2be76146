"""Errors as documents: every refusal and every failure becomes one `application/problem+json` (RFC 9457)."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.api.http.bodies import UnparsableJson
from app.api.http.problems.document import FieldError, Problem, ProblemAnswer
from app.api.http.problems.kinds import (
    INVALID,
    KINDS,
    SAYING_REMEDY,
    MethodNotAllowed,
    ProblemKind,
    UnknownPath,
)
from app.api.http.problems.remedies import REMEDIES
from app.api.http.transport.admission import Overloaded
from app.api.http.transport.pace import BodyTooSlow
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
