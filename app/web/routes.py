"""Routes of pages: sign-in, address fields, and forms of bounded size that only this site may send."""

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from fastapi import Request
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.http.admission import SMALL_BODY, brings_body, declared_size
from app.api.http.bodies import (
    BodyRequest,
    BodyTooLarge,
    PacedRequest,
    media_type,
    require_uncompressed,
)
from app.api.http.problems import RequestRefusal
from app.api.http.routes import FORM, ScopedRoute, SubjectRouter
from app.services.access.keys import Caller, NoValidKey, Scope as KeyScope
from app.services.access.sessions import OpenSession, Sessions
from bookprint_core.errors import InvalidInput, Unavailable
from bookprint_core.metadata import LONGEST_COLLECTION, control_in

_SAFE = frozenset({"GET", "HEAD"})
_LONGEST_SHOWN = 100  # characters


class ForeignForm(RequestRefusal):
    """A form was sent by a page of another site."""

    status = 403
    title = "A form from another site"
    remedy = "Open the page of this service and send its form."
    field = "Origin"

    def __init__(self, origin: str) -> None:
        super().__init__(f"The form was not sent by a page of this service ({origin[:_LONGEST_SHOWN]}).")


class Filters(BaseModel):
    """Fields of a form in the query string; a blank field counts as absent."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    collection: Annotated[str, StringConstraints(max_length=LONGEST_COLLECTION)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, sent: dict[str, Any]) -> dict[str, Any]:
        for name, value in sent.items():
            if (code := control_in(str(value))) is not None:
                raise InvalidInput(f"The control character {code} is not allowed. Remove it.", name)
        return {name: value for name, value in sent.items() if str(value).strip()}

    def query(self, **more: object) -> str:
        """Return the fields as a query string; `more` adds or replaces fields."""
        fields = self.model_dump(mode="json", exclude_none=True, exclude_defaults=True) | more
        return urlencode(fields)


def cookie_name(scope: Scope) -> str:
    """Return the name of the session cookie. Over TLS it is bound to this host and valid for all paths."""
    return "__Host-bookprint" if scope["scheme"] == "https" else "bookprint"


async def session_of(scope: Scope) -> OpenSession | None:
    """Return the session of the browser's cookie; None if nobody has signed in."""
    cookies = cookie_parser(Headers(scope=scope).get("cookie", ""))
    if not (token := cookies.get(cookie_name(scope))):
        return None
    sessions: Sessions = scope["app"].state.services.sessions
    return await sessions.find(token)


class PageRoute(ScopedRoute):
    """Route of a page or a form, for sessions with the scope.

    `scope=None` makes a public route.
    """

    def __init__(
        self, path: str, endpoint: Callable[..., Any], *, scope: KeyScope | None, **options: Any
    ) -> None:
        options = {"response_class": HTMLResponse, "response_model": None, "also": None} | options
        self.is_open = scope is None
        super().__init__(path, endpoint, scope=scope, include_in_schema=False, **options)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as `ScopedRoute` does; also raises `ForeignForm`."""
        if scope["method"] not in _SAFE:
            _require_own_form(scope)
        await super().handle(scope, receive, send)

    async def caller(self, scope: Scope) -> Caller:
        """Return the caller who has signed in; raises `NoValidKey`."""
        if (session := await session_of(scope)) is None:
            raise NoValidKey
        return session.caller

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler with bounded bodies. Forms with files have the bounds of files."""
        handle_page = APIRoute.get_route_handler(self)

        async def handler(request: Request) -> Response:
            if not self.is_open and request.method in _SAFE:
                with suppress(Unavailable):
                    request.state.queued = await request.app.state.services.decisions.queued()
            return await handle_page(request)

        async def handle(request: Request) -> Response:
            if not brings_body(request.scope):
                return await handler(request)
            require_uncompressed(request.headers)
            if self.is_open:
                size = declared_size(request.scope)
                if size is None or size > SMALL_BODY:
                    raise BodyTooLarge(SMALL_BODY)
                open_form = PacedRequest(request.scope, request.receive)
                await open_form.form()  # before FastAPI reads it, as below
                return await handler(open_form)
            sent = BodyRequest(request, is_file=media_type(request.headers) == FORM)
            try:
                # Read first: FastAPI would report errors during its own reading as invalid form fields.
                await sent.form()
                return await handler(sent)
            finally:
                await sent.close()

        return handle


class PageRouter(SubjectRouter):
    """The pages of one subject, declared with `@router.get("/x", scope="read")`."""

    route_class = PageRoute

    def __init__(self) -> None:
        super().__init__(tag="pages")


def _require_own_form(scope: Scope) -> None:
    """Raise `ForeignForm` unless a page of this service sends the request.

    By the Fetch standard, browsers send Sec-Fetch-Site over TLS and to loopback, and Origin with every form.
    """
    headers = Headers(scope=scope)
    origin, site = headers.get("origin", "null"), headers.get("sec-fetch-site")
    host = urlsplit(origin).netloc
    if site != "same-origin" and not (site is None and host and host == headers.get("host")):
        raise ForeignForm(origin)
