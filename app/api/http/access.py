"""API keys at the door: each operation names the scope that it needs, and its route asks for it first of all.

A route asks before it reads anything. FastAPI reads a body before it runs dependencies, so a stranger could
have one of any size parsed.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import BaseRoute
from starlette.types import Message, Receive, Scope, Send

from app.api.http.admission import Admission, brings_body
from app.api.http.usage import LimitReached, pass_within_limits
from app.core.errors import NoValidKey, ScopeMissing, Unavailable
from app.services.keys import ANYONE, NO_LIMITS, SCOPES, Caller, Keys, Scope as KeyScope
from app.services.limits import Limits

OPEN: dict[str, Any] = {"security": []}
"""What an operation adds to its description that needs no key."""

NEEDED = "x-scope"
"""Name under which an operation's description has its scope."""

LOOKUP: dict[str, Any] = {"x-lookup": True}
"""What an operation adds to its description that counts as a lookup."""

SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, as Authorization: Bearer bp_…",
    },
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same API key."},
}
"""The ways to send a key, as OpenAPI has them; `_sent_key` reads both."""

_OPEN_PATHS = frozenset({"/", "/docs", "/openapi.json"})
"""The description of the API, which holds no secret."""


def needs(scope: KeyScope) -> dict[str, Any]:
    """What an operation adds to its description: the scope that a key must have for it."""
    return {NEEDED: scope, "security": _with_scope(scope)}


def shows_more_with(scope: KeyScope) -> dict[str, Any]:
    """What an operation adds to its description that answers anyone, but more to a key with the scope."""
    return {"security": [{}, *_with_scope(scope)]}


def _with_scope(scope: KeyScope) -> list[dict[str, list[KeyScope]]]:
    return [{name: [scope]} for name in SCHEMES]


class ScopedRoute(APIRoute):
    """A route that answers only to keys with the scope that its operation names."""

    @property
    def scope(self) -> KeyScope | None:
        """The scope that is needed; None: no key is."""
        needed: KeyScope | None = (self.openapi_extra or {}).get(NEEDED)
        return needed

    @property
    def is_decided(self) -> bool:
        """Whether the operation says who may use it."""
        declared = self.openapi_extra or {}
        return self.scope in SCOPES if NEEDED in declared else "security" in declared

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on whose key has the scope, once there is a permit for it.

        Raises `NoValidKey`, `ScopeMissing`, `LimitReached` and `Overloaded`.
        """
        if self.scope is None or scope["method"] not in (self.methods or ()):
            await super().handle(scope, receive, send)
            return
        caller = ANYONE if not scope["app"].state.asks_for_keys else await _caller(scope)
        if not caller.may(self.scope):
            raise ScopeMissing(self.scope)
        scope.setdefault("state", {})["caller"] = caller
        if caller.limits == NO_LIMITS:
            await self._with_permit(scope, receive, send)
            return
        is_lookup = LOOKUP.items() <= (self.openapi_extra or {}).items()
        await pass_within_limits(self._with_permit, is_lookup, scope, receive, send)

    async def _with_permit(self, scope: Scope, receive: Receive, send: Send) -> None:
        admission: Admission = scope["app"].state.admission
        scope["state"]["permit"] = permit = admission.permit_for(scope)

        async def sending(message: Message) -> None:
            # The answer is made; a client that reads it slowly keeps nobody out.
            permit.release()
            await send(message)

        try:
            if not brings_body(scope):
                await permit.acquire()
            await super().handle(scope, receive, sending)
        finally:
            permit.end()


def require_scopes(routes: Iterable[BaseRoute]) -> None:
    """Raise RuntimeError for a route that does not say which scope it needs."""
    for route in routes:
        path = getattr(route, "path", None)
        is_decided = route.is_decided if isinstance(route, ScopedRoute) else path in _OPEN_PATHS
        # The routes of an included router stand beside it in the list.
        if path is not None and not is_decided:
            methods = " ".join(sorted(getattr(route, "methods", None) or ()))
            raise RuntimeError(
                f"{methods} {path} names no scope. Make it a ScopedRoute with openapi_extra=needs(…) or OPEN."
            )


async def require_key_still_valid(scope: Scope) -> None:
    """Raise `NoValidKey` for a request whose key has been revoked, rotated or expired since it began."""
    if scope["app"].state.asks_for_keys:
        await _caller(scope)


async def sees_details(request: Request) -> bool:
    """Whether the request may see how the service is built; raises as `_caller` does for a wrong key."""
    if not request.app.state.asks_for_keys:
        return True
    if _sent_key(request.headers) is None:
        return False
    try:
        caller = await _caller(request.scope)
    except Unavailable:
        return False
    return caller.may("read")


SeesDetails = Annotated[bool, Depends(sees_details)]


async def _caller(scope: Scope) -> Caller:
    """Whose request it is; raises `NoValidKey`, and `LimitReached` where many without one came from there."""
    known: Keys = scope["app"].state.services.keys
    caller = await known.caller_of(_sent_key(Headers(scope=scope)))
    if caller is None:
        limits: Limits = scope["app"].state.services.limits
        address, *_ = scope.get("client") or ("",)
        attempts = await limits.take_attempt(address)
        raise LimitReached([attempts]) if attempts is not None and attempts.is_refusal else NoValidKey
    return caller


def _sent_key(headers: Headers) -> str | None:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else headers.get("x-api-key")
