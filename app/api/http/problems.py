"""Problem documents (RFC 9457), the answers to all refusals and failures.

An error contains its own status, title and remedy; this module adds header fields and extensions.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from inspect import signature
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from app.services.access.keys import NoValidKey, ScopeMissing
from bookprint_core.errors import (
    BookprintError,
    Conflict,
    InvalidInput,
    OtherContent,
    StaleVersion,
    TextNotKept,
    Unavailable,
)

MEDIA_TYPE = "application/problem+json"


class RequestRefusal(BookprintError):
    """An error of HTTP itself, with header fields and extensions of its problem."""

    def __init__(
        self,
        detail: str,
        headers: Mapping[str, str] | None = None,
        extensions: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.headers = headers or {}
        self.extensions = extensions or {}


class UnknownPath(RequestRefusal):
    """The path has no endpoint."""

    status = 404
    title = "No such path"
    remedy = "See /docs for all paths; none ends with a slash."
    field = "path"


class MethodNotAllowed(RequestRefusal):
    """The endpoint at the path allows other methods."""

    status = 405
    title = "Method not allowed"
    field = "method"

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__("This path does not allow this method.", headers)
        self.remedy = f"Use one of: {headers.get('Allow', '')}."


class FieldError(BaseModel):
    """A part of the request to change."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"field": "d", "detail": "128 is the largest.", "remedy": "Send 128 or less."}
        }
    )

    field: str = Field(description="The field, parameter or header, such as `authors[2]` or `If-Match`.")
    detail: str = Field(description="The fault of the field.")
    remedy: str = Field(description="The way to correct the field.")


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

    type: str = Field(description="URI of the kind of problem.")
    title: str = Field(description="The kind of problem in words, the same for all problems of a `type`.")
    status: int = Field(description="The HTTP status of the answer.")
    detail: str = Field(description="The fault in this request, and the way to correct it.")
    errors: list[FieldError] = Field(default=[], description="The changes to make, field by field.")


_DESCRIPTIONS = {
    400: "The body is not well-formed.",
    401: "The request has no valid API key.",
    403: "The API key lacks the scope that `scope` names, or a book of the request is outside the key's "
    "collection.",
    404: "The book, cluster, job, relation, decision, page or webhook does not exist.",
    406: "The answer is not available in any type that Accept names.",
    409: "Another book, named by `book_id`, is in conflict; there is nothing to confirm; a text is not "
    "stored; too many pages match to list each; or a vector is missing.",
    410: "The requested changes are no longer stored.",
    412: "The book has changed since the version in If-Match.",
    413: "The body, the file, or the text in it is too large.",
    415: "The type of the body or the format of the file is not supported.",
    422: "The request is invalid; `errors` names each field and its remedy.",
    429: "A limit of the key, named by `violated-policies`, is reached; try again after Retry-After seconds.",
    503: "A part of the service is down, being rebuilt or overloaded; try again after Retry-After seconds.",
}

Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """Describe the problems that an operation can answer, for FastAPI's `responses`."""
    # FastAPI would describe a `model` under the media type of success, so the problems refer to a schema.
    content = {MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}
    return {status: {"description": _DESCRIPTIONS[status], "content": content} for status in statuses}


def refusals(path: str, endpoint: Callable[..., Any], also: Iterable[int]) -> Responses:
    """Describe the problems of an operation, derived from its endpoint's parameters, and those in `also`."""
    read = signature(endpoint).parameters.keys()
    causes = {"services": (503,), "query": (422,), "body": (400, 413, 415, 422)}
    found = {status for name, statuses in causes.items() if name in read for status in statuses}
    return problems(*sorted({*found, *also, *((404, 422) if "{" in path else ())}))


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
    "marc_record": "Send one whole record, as MARC 21, MARCXML or MARC-in-JSON.",
    "one_of": "Send exactly one of {names}.",
    "not_together": "Leave one of them out.",
    "nothing_to_find": "Send a query that is not empty, or a property.",
    "control": "Remove it.",
    "long_value": "Send at most {most} characters.",
    "identifier_form": "Write it as scheme:value, for example isbn:9780141439600.",
}
"""Remedy for each kind of validation error; the context of the error fills the placeholders."""


_MOST_ERRORS = 100
"""Maximum number of errors listed for one request; each field of a body can have one."""


def problem_of(error: Exception) -> Problem:
    """Return the problem document for an error, without header fields."""
    return _answer(error)[0]


def problem_response(error: Exception) -> Response:
    """Return the answer to an error; an unforeseen error is answered as an internal error."""
    return document(*_answer(error))


def document(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a JSON answer."""
    return Response(
        problem.model_dump_json(), problem.status, headers=dict(headers or {}), media_type=MEDIA_TYPE
    )


def _answer(error: Exception) -> tuple[Problem, Mapping[str, str]]:
    """Return the problem document and the header fields."""
    match error:
        case BookprintError() if error.status != BookprintError.status:
            return _refused(error)
        case RequestValidationError():
            return _invalid_fields(error)
        case HTTPException():
            return _routing(error)
        case _:
            detail = "Something went wrong inside the service; its log says what. Trying again may help."
            return _problem(500, BookprintError.problem, BookprintError.title, detail), {}


def _problem(
    status: int, kind: str, title: str, detail: str, errors: Sequence[FieldError] = (), **extensions: Any
) -> Problem:
    name = f"urn:bookprint:problem:{kind}"
    return Problem(type=name, title=title, status=status, detail=detail, errors=list(errors), **extensions)


def _refused(error: BookprintError) -> tuple[Problem, Mapping[str, str]]:
    remedy, headers, extensions = error.remedy, dict[str, str](), dict[str, Any]()
    match error:
        case RequestRefusal():
            headers, extensions = dict(error.headers), dict(error.extensions)
        case Conflict():
            path, extensions = f"/v1/books/{error.book_id}", {"book_id": str(error.book_id)}
            remedy = f"See {path}."
            if isinstance(error, OtherContent):
                remedy = f"Replace its content with PUT {path}/content, or post under another external_id."
        case TextNotKept():
            remedy = "Send it with PUT /v1/books/…/content while texts are kept."
        case StaleVersion():
            headers = {"ETag": f'"{error.current}"'}
            remedy = f"Send If-Match: {headers['ETag']} once you have seen that version."
        case NoValidKey():
            headers = {"WWW-Authenticate": "Bearer"}
        case ScopeMissing(scope=scope):
            headers = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'}
            extensions = {"scope": scope}
        case Unavailable():
            headers = {"Retry-After": str(error.retry_after)}
    if error.status == HTTPStatus.NOT_ACCEPTABLE:
        headers = {"Vary": error.field}
    detail = str(error)
    errors = [FieldError(field=error.field, detail=detail, remedy=remedy)] if error.field else []
    detail = detail if error.tells_remedy else f"{detail} {remedy}"
    return _problem(error.status, error.problem, error.title, detail, errors, **extensions), headers


def _invalid_fields(error: RequestValidationError) -> tuple[Problem, Mapping[str, str]]:
    details = error.errors()
    if len(details) > _MOST_ERRORS:
        excess = InvalidInput(f"{len(details)} fields of the request are unknown or wrong.")
        excess.remedy = "Send only the fields that /docs shows, each with a value of its type."
        return _refused(excess)
    errors = [_field_error(detail) for detail in details]
    summary = " ".join(f"{error.field}: {error.detail} {error.remedy}" for error in errors)
    kind = InvalidInput
    return _problem(kind.status, kind.problem, kind.title, summary, errors), {}


def _field_error(error: Mapping[str, Any]) -> FieldError:
    context = error.get("ctx", {})
    # The first part of the location is path, query, header or body.
    _, *place = error["loc"]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    name = context.get("field") or name or "body"
    detail = error["msg"].removesuffix(" after validation").rstrip(".") + "."
    return FieldError(
        field=name if len(name) <= 200 else f"{name[:200]}…",
        detail=detail,
        remedy=REMEDIES.get(error["type"], "Correct the value.").format_map(context),
    )


def _routing(error: HTTPException) -> tuple[Problem, Mapping[str, str]]:
    headers = error.headers or {}
    match error.status_code:
        case 404:
            return _refused(UnknownPath("Nothing is found at this path."))
        case 405:
            return _refused(MethodNotAllowed(headers))
        case status:
            title = HTTPStatus(status).phrase
            return _problem(status, "http", title, f"{error.detail}."), headers


FORESEEN = (BookprintError, RequestValidationError, HTTPException)
"""Errors that requests are expected to raise."""

_DENIED = frozenset({401, 403, 429})

PageOfProblem = Callable[[Request, Problem], Awaitable[Response | None]]
"""Function that shows a problem as a page; None: the client is a program."""


async def response_to(error: Exception, request: Request, page_of: PageOfProblem) -> Response:
    """Return the answer to a request that raised one of the `FORESEEN` errors."""
    app: FastAPI = request.app
    if isinstance(error, HTTPException) and error.status_code == 405:
        error = HTTPException(405, headers={"Allow": ", ".join(_allowed_methods(app.routes, request.scope))})
    problem, headers = _answer(error)
    if (response := await page_of(request, problem)) is None:
        response = document(problem, headers)
    else:
        response.headers.update(headers)
    if isinstance(error, BookprintError) and response.status_code in _DENIED:
        app.state.metrics.count_denied(error.problem)
    return response


def _allowed_methods(routes: Sequence[BaseRoute], scope: Scope) -> list[str]:
    matching = (route for route in routes if route.matches(scope)[0] is not Match.NONE)
    methods = {method for route in matching for method in getattr(route, "methods", None) or ()}
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)
