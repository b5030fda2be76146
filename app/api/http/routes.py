"""Routes: each operation names its scope, and its route checks the key before it reads anything.

FastAPI reads a body before it runs dependencies: without this check, anyone could have a huge body parsed.
"""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Message, Receive, Scope, Send

from app.api.http.admission import brings_body
from app.api.http.bodies import BodyRequest, media_type, require_json, require_uncompressed
from app.api.http.problems import refusals
from app.api.http.usage import caller_of, count_request, size_to_count
from app.services.access.keys import ANYONE, NO_LIMITS, SCOPES, Caller, Scope as KeyScope, ScopeMissing

NEEDED = "x-scope"
"""OpenAPI extension field with the scope of an operation."""

SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, as Authorization: Bearer bp_…",
    },
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key, bp_…"},
}
"""OpenAPI security schemes: the two ways to send a key, both read by `app.api.http.usage`."""

FORM = "multipart/form-data"

_OPEN_PATHS = frozenset({"/docs", "/openapi.json", "/static"})
"""Paths without a scope: the description of the API and the static files, which contain no secrets."""

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class ScopedRoute(APIRoute):
    """A route that requires a key with its scope, room in the limits of the key, and a permit.

    `scope=None`: public. `more_with`: scope that unlocks the full answer. `is_lookup`: counts against the
    lookup limit. `of_file`: endpoint for multipart/form-data. `arguments_of`: reads the arguments of an
    endpoint that returns its own Response; FastAPI's reading would double the time of a short answer.
    `also`: statuses of problems beside those that `refusals` derives; None: describes no problems.
    """

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        scope: KeyScope | None,
        more_with: KeyScope | None = None,
        is_lookup: bool = False,
        of_file: Callable[..., Any] | None = None,
        arguments_of: Callable[[Request], dict[str, Any]] | None = None,
        also: Iterable[int] | None = (),
        openapi_extra: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if {scope, more_with} - {None, *SCOPES}:
            raise RuntimeError(f"{path} names an unknown scope: {scope or more_with}.")
        self._scope, self._is_lookup = scope, is_lookup
        self._file_handler = None
        if of_file is not None:
            status = options.get("status_code")
            self._file_handler = APIRoute(path, of_file, status_code=status).get_route_handler()
        self._arguments_of = arguments_of
        described: dict[str, Any] = {"security": _security(scope, more_with)}
        described |= {NEEDED: scope} if scope else {}
        described |= {"x-lookup": True} if is_lookup else {}
        if also is not None:
            options["responses"] = options.get("responses", {}) | refusals(path, endpoint, also)
        super().__init__(path, endpoint, openapi_extra=described | (openapi_extra or {}), **options)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the key, scope and limits of a request, and answer it while holding a permit.

        Raises `NoValidKey`, `ScopeMissing`, `LimitReached` and `Overloaded`.
        """
        if self._scope is None or scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        state = scope["app"].state
        caller = await self.caller(scope) if state.asks_for_keys else ANYONE
        if not caller.may(self._scope):
            raise ScopeMissing(self._scope)
        scope.setdefault("state", {})["caller"] = caller
        if caller.limits != NO_LIMITS:
            await count_request(scope, caller, is_lookup=self._is_lookup, size=size_to_count(scope, caller))
        async with state.admission.permit_for(scope) as permit:
            scope["state"]["permit"] = permit

            async def sending(message: Message) -> None:
                # The answer is complete, so a client that reads it slowly must not hold the permit.
                permit.release()
                await send(message)

            if not brings_body(scope):
                await permit.acquire()
            if self._arguments_of is None:
                await super().handle(scope, receive, sending)
                return
            response: Response = await self.endpoint(**self._arguments_of(Request(scope, receive)))
            await response(scope, receive, sending)

    async def caller(self, scope: Scope) -> Caller:
        """Return the caller of a request, if keys are required; raises the errors of `caller_of`."""
        return await caller_of(scope)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that bounds and parses the body, and then calls FastAPI's handler."""
        handler, file_handler = super().get_route_handler(), self._file_handler
        if self.body_field is None:
            return handler

        async def handle(request: Request) -> Response:
            require_uncompressed(request.headers)
            if file_handler is not None and media_type(request.headers) == FORM:
                return await file_handler(BodyRequest(request, is_file=True))
            require_json(request.headers)
            sent = BodyRequest(request)
            # FastAPI would report any error while reading as invalid JSON.
            await sent.parse()
            return await handler(sent)

        return handle


class SubjectRouter:
    """The routes of one subject, each with its scope: `@router.get("/x", scope="read")`."""

    route_class = ScopedRoute

    def __init__(self, prefix: str = "", *, tag: str, description: str | None = None) -> None:
        self.routes: list[ScopedRoute] = []
        self.subject = {"name": tag, "description": description} if description else None
        self._prefix, self._tag = prefix, tag

    def get(self, path: str, *, scope: KeyScope | None, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._operation("GET", path, scope, options)

    def post(self, path: str, *, scope: KeyScope | None, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._operation("POST", path, scope, options)

    def put(self, path: str, *, scope: KeyScope | None, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._operation("PUT", path, scope, options)

    def patch(self, path: str, *, scope: KeyScope | None, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._operation("PATCH", path, scope, options)

    def delete(self, path: str, *, scope: KeyScope | None, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._operation("DELETE", path, scope, options)

    def _operation(
        self, method: str, path: str, scope: KeyScope | None, options: dict[str, Any]
    ) -> Callable[[Endpoint], Endpoint]:
        def add(endpoint: Endpoint) -> Endpoint:
            route = self.route_class(
                self._prefix + path,
                endpoint,
                scope=scope,
                methods=[method],
                tags=[self._tag],
                generate_unique_id_function=lambda route: route.name,
                # A body without a Content-Type is read as JSON.
                strict_content_type=False,
                **options,
            )
            self.routes.append(route)
            return endpoint

        return add


def require_scopes(routes: Iterable[BaseRoute]) -> None:
    """Raise RuntimeError for a route without a scope."""
    for route in routes:
        path = getattr(route, "path", None)
        if not isinstance(route, ScopedRoute) and path not in _OPEN_PATHS:
            methods = " ".join(sorted(getattr(route, "methods", None) or ()))
            raise RuntimeError(f"{methods} {path} names no scope. Add it to the router of a subject.")


def _security(scope: KeyScope | None, more_with: KeyScope | None) -> list[dict[str, list[KeyScope]]]:
    """Return the OpenAPI security requirements of an operation; {} allows no key."""
    asked = scope or more_with
    keys = [] if asked is None else [{name: [asked]} for name in SCHEMES]
    return [{}, *keys] if more_with else keys
