"""The caller of a request, found by the API key, and the limits of that key.

A request beyond a limit is refused. The refusal states the seconds to wait.
"""

import asyncio
from collections.abc import AsyncIterator
from math import ceil
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.types import Scope

from app.api.http.admission import declared_size
from app.api.http.problems import RequestRefusal
from app.services.access.keys import Caller, Keys, NoValidKey
from app.services.access.limits import Limits, OverLimit
from bookprint_core.errors import Unavailable

_LOOK_AGAIN = 1.0
"""Longest pause, in seconds, between two checks of a limit."""


class LimitReached(RequestRefusal):
    """The request exceeds a limit."""

    problem = "quota-exceeded"
    status = 429
    title = "A limit is reached"
    field = "Authorization"

    def __init__(self, refusal: OverLimit) -> None:
        limit, wait = refusal.limit, max(1, ceil(refusal.wait))
        used = f"This key may use {limit.most:,} {limit.name} in {limit.seconds} seconds."
        if limit.name == "attempts":
            used = f"{limit.most:,} requests without a valid key came from this address in {limit.seconds} s."
        super().__init__(used, {"Retry-After": str(wait)}, {"violated-policies": [limit.name]})
        self.remedy = f"Send it again in {wait} seconds."


async def count_request(scope: Scope, caller: Caller, *, is_lookup: bool = False, size: int = 0) -> None:
    """Count a request and `size` bytes of its body; raises LimitReached."""
    await _take(scope, caller, requests=1, lookups=int(is_lookup), size=size)


async def count_lookups(scope: Scope, lookups: int, waits: bool = False) -> None:
    """Count the lookups of one request.

    Beyond the limit it raises LimitReached. With `waits` it returns once the limit allows them.
    """
    caller: Caller = scope["state"]["caller"]
    await _take(scope, caller, waits, lookups=lookups)


async def counted(parts: AsyncIterator[bytes], scope: Scope, waits: bool = False) -> AsyncIterator[bytes]:
    """Yield the parts of a body and count their bytes, unless the declared length is already counted.

    Beyond the limit it raises LimitReached. With `waits` it reads no more until the limit allows it.
    """
    caller: Caller = scope["state"]["caller"]
    most = caller.limits.bytes_per_minute
    is_counted = most is None or size_to_count(scope, caller) == declared_size(scope)
    async for part in parts:
        if most is not None and not is_counted:
            await _take(scope, caller, waits, size=min(len(part), most))
        yield part


def size_to_count(scope: Scope, caller: Caller) -> int:
    """Return the declared size of a body; 0 if it is unknown or above the caller's limit per minute."""
    size, most = declared_size(scope), caller.limits.bytes_per_minute
    return 0 if size is None or (most is not None and size > most) else size


async def _take(scope: Scope, caller: Caller, waits: bool = False, **amounts: int) -> None:
    while refusal := await _limits(scope).take(caller, **amounts):
        if not waits:
            raise LimitReached(refusal)
        await asyncio.sleep(min(refusal.wait, _LOOK_AGAIN))


def _limits(scope: Scope) -> Limits:
    limits: Limits = scope["app"].state.services.limits
    return limits


async def require_key_still_valid(scope: Scope) -> None:
    """Raise `NoValidKey` if the key was revoked or rotated, or has expired, since the request began."""
    if scope["app"].state.asks_for_keys:
        await scope["route"].caller(scope)


async def sees_details(request: Request) -> bool:
    """Return whether the request may see the parts of the service; raises the errors of `caller_of`."""
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
    """Return the caller of a request; raises `NoValidKey`, or `LimitReached` after many attempts."""
    known: Keys = scope["app"].state.services.keys
    caller = await known.caller_of(_sent_key(Headers(scope=scope)))
    if caller is None:
        await count_attempt(scope)
        raise NoValidKey
    return caller


async def count_attempt(scope: Scope) -> None:
    """Count a request without a valid key; raises `LimitReached` if its address sent too many."""
    address, *_ = scope.get("client") or ("",)
    if refusal := await _limits(scope).take_attempt(address):
        raise LimitReached(refusal)


def _sent_key(headers: Headers) -> str | None:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else headers.get("x-api-key")
