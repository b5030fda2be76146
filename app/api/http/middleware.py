"""The layers around the routes: what browsers are told and refused, and what is answered on a failure.

Answers never depend on cookies, so where a key is asked for a page of another origin needs it too (the Fetch
standard: Origin, Sec-Fetch-Site and the CORS protocol). Where none is, whatever the user of a browser opens
could use the service, and a site that has its own name lead to this machine (DNS rebinding) could read it:
such requests are refused.

Answers are data: no page may be built from them, framed, guessed at or embedded elsewhere. Pages of our own
carry a policy of their own, which stands. No cache keeps what a key was sent for.
"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit
from uuid import uuid4

import structlog
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.admission import declared_size
from app.api.http.bodies import UnsupportedMediaType
from app.api.http.problems import (
    PageOfProblem,
    Problem,
    RequestRefusal,
    document,
    problem_of,
    problem_response,
)

log = structlog.get_logger()

_DAY = 86_400
_LOOPBACK = r"(localhost|127(\.\d{1,3}){3}|\[::1\])"
_PAGES_OF_THIS_MACHINE = rf"https?://{_LOOPBACK}(:\d+)?"
_OPEN_PATHS = ("/reconcile/", "/changes/")
"""What pages of any origin may read, as the reconciliation API and IIIF Change Discovery ask for it."""

_LONGEST_SHOWN = 100  # characters


class HostNotServed(RequestRefusal):
    """The request is for a host that is not known to be this one."""

    status = 421
    title = "Not a host of this service"
    remedy = "Ask at localhost or 127.0.0.1, or have BOOKPRINT_PUBLIC_URL name the address that clients use."
    field = "Host"

    def __init__(self, host: str) -> None:
        super().__init__(f"Nothing is answered at the host {host[:_LONGEST_SHOWN]}.")


class ForeignPage(RequestRefusal):
    """A page of another origin sent the request, and no key is asked for."""

    status = 403
    title = "A page of another site"
    remedy = "Where its pages may use this service, have BOOKPRINT_CORS_ORIGINS name the origin."
    field = "Origin"

    def __init__(self, origin: str) -> None:
        super().__init__(f"The request comes from a page of another site ({origin[:_LONGEST_SHOWN]}).")


class CrossOrigin:
    """Lets pages of some origins read answers.

    Those of `origins` may use the whole API. What is open to pages of any origin is so with `any_page`, and
    otherwise to these and to those of this machine.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str], any_page: bool) -> None:
        self._app: ASGIApp = app
        if origins:
            self._app = CORSMiddleware(
                app,
                allow_origins=origins,
                allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
                allow_headers=["Authorization", "X-API-Key", "Content-Type", "If-Match"],
                expose_headers=["ETag", "Location", "Retry-After"],
                max_age=_DAY,
            )
        self._open = CORSMiddleware(
            app,
            allow_origins=["*"] if any_page else origins,
            allow_origin_regex=_PAGES_OF_THIS_MACHINE,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            max_age=_DAY,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight request; pass any other on, and let its answer be read."""
        await (self._open if _is_open(scope) else self._app)(scope, receive, send)


class OwnPages:
    """Refuses other hosts than this machine and the public URL, and pages of other origins than `origins`.

    For services that ask for no key. A program that is no browser sends neither Origin nor Sec-Fetch-Site.
    """

    def __init__(self, app: ASGIApp, public_url: str | None, origins: Sequence[str]) -> None:
        self._app = app
        public = urlsplit((public_url or "").lower())
        names = [_LOOPBACK] + [re.escape(re.sub(r":\d*$", "", public.netloc))] * bool(public_url)
        self._hosts = re.compile(rf"({'|'.join(names)})(:\d+)?", re.IGNORECASE)
        self._origins = {f"{public.scheme}://{public.netloc}", *origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        error = self._objection(scope) if scope["type"] == "http" else None
        await (self._app if error is None else problem_response(error))(scope, receive, send)

    def _objection(self, scope: Scope) -> RequestRefusal | None:
        headers = Headers(scope=scope)
        host = headers.get("host")
        if host is not None and not self._hosts.fullmatch(host):
            return HostNotServed(host)
        if self._is_foreign(scope, headers):
            return ForeignPage(headers.get("origin", "null"))
        if declared_size(scope) != 0 and "content-type" not in headers:
            return UnsupportedMediaType(
                "The body comes without a Content-Type.",
                remedy="Send Content-Type: application/json, application/x-ndjson for lines, or "
                "application/x-www-form-urlencoded for a form.",
            )
        return None

    def _is_foreign(self, scope: Scope, headers: Headers) -> bool:
        origin, site = headers.get("origin", "null"), headers.get("sec-fetch-site")
        if origin != "null":
            return not (
                origin == f"{scope['scheme']}://{headers.get('host')}"
                or origin in self._origins
                or (_is_open(scope) and re.fullmatch(_PAGES_OF_THIS_MACHINE, origin))
            )
        if site is None:
            return "origin" in headers
        # A link leads here from anywhere, and the page with the link does not see the answer.
        is_link = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        return site not in {"same-origin", "none"} and not is_link


def _is_open(scope: Scope) -> bool:
    return scope["type"] == "http" and f"{scope['path']}/".startswith(_OPEN_PATHS)


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


class SecurityHeaders:
    """Adds the headers to every answer, as far as it has none of their names."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        added = HEADERS_OVER_TLS if scope.get("scheme") == "https" else HEADERS
        if any(name in _WITH_KEY for name, _ in scope["headers"]):
            added = (*added, _FOR_KEYS)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                present = {name for name, _ in headers}
                message["headers"] = headers + [header for header in added if header[0] not in present]
            await send(message)

        await self._app(scope, receive, guarded)


class UnhandledErrors:
    """Logs unforeseen errors and answers them with a problem that shows nothing of the inside.

    The problem names the request as the log does.
    """

    def __init__(self, app: ASGIApp, page_of: PageOfProblem) -> None:
        self._app = app
        self._page_of = page_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except ClientDisconnect:
            log.info("client went away", method=scope["method"], path=scope["path"])
        except Exception as error:
            if begun and isinstance(error.__cause__, RequestRefusal):  # which Starlette can no longer answer
                # Without the end of the answer the connection is closed.
                reason = str(error.__cause__)
                log.info("an answer ends early", method=scope["method"], path=scope["path"], reason=reason)
                return
            number = uuid4().hex
            log.exception("request failed", method=scope["method"], path=scope["path"], request=number)
            if begun:
                raise
            problem = problem_of(error)
            problem.detail += f" In the log it is request {number}."
            await (await self._response(Request(scope), problem))(scope, receive, send)

    async def _response(self, request: Request, problem: Problem) -> Response:
        try:
            return await self._page_of(request, problem) or document(problem)
        except Exception:
            log.exception("an error has no page", path=request.scope["path"])
            return document(problem)


class HeadAsGet:
    """Answers HEAD as GET; the server leaves the body out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)
