"""Who sends a request, by the key that it comes with."""

from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.types import Scope

from app.api.http.usage import LimitReached
from app.core.errors import NoValidKey, Unavailable
from app.services.keys import Caller, Keys
from app.services.limits import Limits


async def require_key_still_valid(scope: Scope) -> None:
    """Raise `NoValidKey` for a request whose key has been revoked, rotated or expired since it began."""
    if scope["app"].state.asks_for_keys:
        await caller_of(scope)


async def sees_details(request: Request) -> bool:
    """Whether the request may see how the service is built; raises as `caller_of` does for a wrong key."""
    if not request.app.state.asks_for_keys:
        return True
    if _sent_key(request.headers) is None:
        return False
    try:
        caller = await caller_of(request.scope)
    except Unavailable:
        return False
    return caller.may("read")


SeesDetails = Annotated[bool, Depends(sees_details)]


async def caller_of(scope: Scope) -> Caller:
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
