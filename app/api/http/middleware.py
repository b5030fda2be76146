"""The layer around the routes: security headers, refusals of foreign pages, and answers to errors.

Answers never depend on cookies. If the service requires keys, a page of another origin therefore needs one
(Fetch standard: Origin, Sec-Fetch-Site and CORS). Without keys, any page open in a browser could use the
service, and a site could read it by pointing its host name here (DNS rebinding). These requests are refused.

Answers are data: browsers must not render, frame, sniff or embed them. Pages of this service set their own
policy instead. Answers to requests with a key are not cached.
"""

import re
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import structlog
from fastapi import FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.admission import declared_size, first_values
from app.api.http.bodies import UnsupportedMediaType
from app.api.http.metrics import Metrics
from app.api.http.problems import (
    FORESEEN,
    PageOfProblem,
    Problem,
    RequestRefusal,
    document,
    problem_of,
    problem_response,
    response_to,
)
from app.settings import Settings

log = structlog.get_logger()

_DAY = 86_400
_LOOPBACK = r"(localhost|127(\.\d{1,3}){3}|\[::1\])"
_PAGES_OF_THIS_MACHINE = rf"https?://{_LOOPBACK}(:\d+)?"
_OPEN_PATHS = ("/reconcile/", "/changes/")
"""Paths that pages of any origin may read, as the reconciliation API and IIIF Change Discovery require."""

_LONGEST_SHOWN = 100  # characters

_ANSWER = "bookprint.answer"
"""Key of the answer in the scope of a request."""

CLIENT_GONE: Final = 499
"""Status counted for a request whose client left before the answer."""


class HostNotServed(RequestRefusal):
    """The Host header does not name this service."""

    status = 421
    title = "Not a host of this service"
    remedy = "Ask at localhost or 127.0.0.1, or have BOOKPRINT_PUBLIC_URL name the address that clients use."
    field = "Host"

    def __init__(self, host: str) -> None:
        super().__init__(f"This service does not answer at the host {host[:_LONGEST_SHOWN]}.")


class ForeignPage(RequestRefusal):
    """A page of another origin sent the request, and the service does not require keys."""

    status = 403
    title = "A page of another site"
    remedy = "Have BOOKPRINT_CORS_ORIGINS name the origin if its pages may use this service."
    field = "Origin"

    def __init__(self, origin: str) -> None:
        super().__init__(f"The request comes from a page of another site ({origin[:_LONGEST_SHOWN]}).")


class _OwnPages:
    """Check for services without keys: allows only this machine, the public URL and pages of `origins`.

    Programs other than browsers send neither Origin nor Sec-Fetch-Site.
    """

    def __init__(self, public_url: str | None, origins: Sequence[str]) -> None:
        public = urlsplit((public_url or "").lower())
        names = [_LOOPBACK] + [re.escape(re.sub(r":\d*$", "", public.netloc))] * bool(public_url)
        self._hosts = re.compile(rf"({'|'.join(names)})(:\d+)?", re.IGNORECASE)
        self._origins = {f"{public.scheme}://{public.netloc}", *origins}

    def objection(self, scope: Scope) -> RequestRefusal | None:
        """Return the refusal of a request, or None if it is allowed."""
        headers = first_values(scope)
        host = headers.get("host")
        if host is not None and not self._hosts.fullmatch(host):
            return HostNotServed(host)
        if self._is_foreign(scope, headers):
            return ForeignPage(headers.get("origin", "null"))
        if "content-type" not in headers and declared_size(scope) != 0:
            return UnsupportedMediaType(
                "The body has no Content-Type.",
                remedy="Send Content-Type: application/json, application/x-ndjson for lines, or "
                "application/x-www-form-urlencoded for a form.",
            )
        return None

    def _is_foreign(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        origin, site = headers.get("origin", "null"), headers.get("sec-fetch-site")
        if origin != "null":
            return not (
                origin == f"{scope['scheme']}://{headers.get('host')}"
                or origin in self._origins
                or (_is_open(scope) and re.fullmatch(_PAGES_OF_THIS_MACHINE, origin))
            )
        if site is None:
            return "origin" in headers
        # Links from any page are allowed: the page with the link cannot read the answer.
        is_link = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        return site not in {"same-origin", "none"} and not is_link


def _is_open(scope: Scope) -> bool:
    return f"{scope['path']}/".startswith(_OPEN_PATHS)


_YEAR = 365 * 86_400

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
HEADERS_OVER_TLS = (*HEADERS, (b"strict-transport-security", b"max-age=%d" % _YEAR))
_FOR_KEYS = (b"cache-control", b"private, no-store")
_WITH_KEY = frozenset({b"authorization", b"x-api-key"})


class _Answer:
    """The answer to one request: its status, and the headers to add."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._send = send
        self._headers = HEADERS_OVER_TLS if scope.get("scheme") == "https" else HEADERS
        if any(name in _WITH_KEY for name, _ in scope["headers"]):
            self._headers = (*self._headers, _FOR_KEYS)
        self.status: int | None = None  # None: not started

    async def send(self, message: Message) -> None:
        """Send a part of the answer; the first part gets the missing headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            present = {name for name, _ in headers}
            message["headers"] = headers + [header for header in self._headers if header[0] not in present]
        await self._send(message)


class Exchange:
    """The only layer between the server and the routes.

    It answers HEAD as GET; the server leaves out the body. It counts and times each request, refuses the
    requests that `_OwnPages` forbids, applies CORS, and adds headers. An error becomes a problem. The problem
    of an unforeseen error contains no internals, only the number of the request in the log.
    """

    def __init__(self, app: FastAPI, settings: Settings, page_of: PageOfProblem) -> None:
        # FastAPI closes the files of forms with the exit stack of this middleware.
        self._router = AsyncExitStackMiddleware(app.router)
        self._metrics: Metrics = app.state.metrics
        self._page_of = page_of
        origins, asks_for_keys = settings.cors_origins, settings.auth != "off"
        self._own_pages = None if asks_for_keys else _OwnPages(settings.public_url, origins)
        self._closed: ASGIApp = self._answer
        if origins:
            self._closed = CORSMiddleware(
                self._answer,
                allow_origins=origins,
                allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
                allow_headers=["Authorization", "X-API-Key", "Content-Type", "If-Match"],
                expose_headers=["ETag", "Location", "Retry-After"],
                max_age=_DAY,
            )
        # With keys, pages of any origin may read the open paths; without, only `origins` and this machine.
        self._open = CORSMiddleware(
            self._answer,
            allow_origins=["*"] if asks_for_keys else origins,
            allow_origin_regex=_PAGES_OF_THIS_MACHINE,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            max_age=_DAY,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        started = perf_counter()
        scope[_ANSWER] = answer = _Answer(scope, send)
        try:
            if self._own_pages and (refusal := self._own_pages.objection(scope)):
                await problem_response(refusal)(scope, receive, answer.send)
            else:
                await (self._open if _is_open(scope) else self._closed)(scope, receive, answer.send)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            seconds = perf_counter() - started
            self._metrics.count_request(scope["method"], route, answer.status or CLIENT_GONE, seconds)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: _Answer = scope[_ANSWER]
        try:
            try:
                await self._router(scope, receive, send)
            except FORESEEN as error:
                if answer.status is not None:
                    raise
                response = await response_to(error, Request(scope, receive), self._page_of)
                await response(scope, receive, send)
        except ClientDisconnect:
            log.info("client went away", method=scope["method"], path=scope["path"])
        except Exception as error:
            if answer.status is not None and isinstance(error, RequestRefusal):
                # The server closes the connection, because the answer has no end.
                reason = str(error)
                log.info("an answer ends early", method=scope["method"], path=scope["path"], reason=reason)
                return
            number = uuid4().hex
            log.exception("request failed", method=scope["method"], path=scope["path"], request=number)
            if answer.status is not None:
                raise
            problem = problem_of(error)
            problem.detail += f" In the log it is request {number}."
            await (await self._shown(Request(scope), problem))(scope, receive, send)

    async def _shown(self, request: Request, problem: Problem) -> Response:
        try:
            return await self._page_of(request, problem) or document(problem)
        except Exception:
            log.exception("an error has no page", path=request.scope["path"])
            return document(problem)
