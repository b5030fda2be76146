"""Routes: each operation names the scope that it needs, and its route asks for it first of all.

A route asks before it reads anything. FastAPI reads a body before it runs dependencies, so a stranger could
have one of any size parsed.
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
"""Name under which an operation's description has its scope."""

SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, as Authorization: Bearer bp_…",
    },
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same API key."},
}
"""The ways to send a key, as OpenAPI has them; `app.api.http.usage` reads both."""

FORM = "multipart/form-data"

_OPEN_PATHS = frozenset({"/docs", "/openapi.json", "/static"})
"""The description of the API and the files of the pages, which hold no secret."""

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class ScopedRoute(APIRoute):
    """A route that answers only to keys with its scope, within the limits of the key, with a permit.

    `scope=None`: public. `more_with`: scope that unlocks the full answer. `is_lookup`: counts against the
    lookup limit. `of_file`: endpoint of requests as multipart/form-data. `arguments_of`: reads the arguments
    of an endpoint that makes its own response, in place of FastAPI, which takes as long as a short answer.
    `also`: statuses of problems beside those of all endpoints that read the same; None: no problem is
    described.
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
            raise RuntimeError(f"{path} names no scope that there is: {scope or more_with}.")
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
        """Pass a request on whose key has the scope, once there is a permit for it.

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
                # The answer is made; a client that reads it slowly keeps nobody out.
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
        """Whose request it is, where keys are asked for; raises as `caller_of` does."""
        return await caller_of(scope)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, to which a body comes within bounds and as the JSON that it declares."""
        handler, file_handler = super().get_route_handler(), self._file_handler
        if self.body_field is None:
            return handler

        async def handle(request: Request) -> Response:
            require_uncompressed(request.headers)
            if file_handler is not None and media_type(request.headers) == FORM:
                return await file_handler(BodyRequest(request, is_file=True))
            require_json(request.headers)
            sent = BodyRequest(request)
            # FastAPI would take what is raised while it reads for a fault of the JSON.
            await sent.parse()
            return await handler(sent)

        return handle


class SubjectRouter:
    """The routes of one subject, each with the scope that it needs: `@router.get("/x", scope="read")`."""

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
                # A body that is not declared is taken as JSON.
                strict_content_type=False,
                **options,
            )
            self.routes.append(route)
            return endpoint

        return add


def require_scopes(routes: Iterable[BaseRoute]) -> None:
    """Raise RuntimeError for a route that does not say which scope it needs."""
    for route in routes:
        path = getattr(route, "path", None)
        if not isinstance(route, ScopedRoute) and path not in _OPEN_PATHS:
            methods = " ".join(sorted(getattr(route, "methods", None) or ()))
            raise RuntimeError(f"{methods} {path} names no scope. Add it to the router of a subject.")


def _security(scope: KeyScope | None, more_with: KeyScope | None) -> list[dict[str, list[KeyScope]]]:
    """The keys that an operation asks for, as OpenAPI has them; {} stands for none."""
    asked = scope or more_with
    keys = [] if asked is None else [{name: [asked]} for name in SCHEMES]
    return [{}, *keys] if more_with else keys
