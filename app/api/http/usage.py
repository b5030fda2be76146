"""Who sends a request, by the key that it comes with, and the limits of that key.

Requests that go beyond a limit are refused, and answers tell what is left. The header fields are those of
draft-ietf-httpapi-ratelimit-headers-11.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import nullcontext
from math import ceil
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.admission import declared_size
from app.api.http.problems import RequestRefusal
from app.core.errors import Unavailable
from app.services.access.keys import Caller, Keys, NoValidKey
from app.services.access.limits import Limit, Limits, Usage

UPLOAD_BYTES = 1 << 20
"""A body that is longer, or that does not tell its length, is an upload."""

_UNITS = {"bytes": "content-bytes", "uploads": "concurrent-requests"}
"""What is counted where it is not requests, in the words of the draft."""


class LimitReached(RequestRefusal):
    """The request goes beyond limits; `usages` are those that it was held against."""

    problem = "quota-exceeded"
    status = 429
    title = "A limit is reached"
    field = "Authorization"

    def __init__(self, usages: Sequence[Usage]) -> None:
        reached = [usage for usage in usages if usage.is_refusal]
        wait = max(_whole(usage.wait or 0.0) for usage in reached)
        told = " ".join(_told(usage.limit) for usage in reached)
        super().__init__(
            told,
            {"Retry-After": str(wait), **usage_headers(usages)},
            {"violated-policies": [usage.limit.name for usage in reached]},
        )
        self.remedy = f"Send it again in {wait} seconds."


def usage_headers(usages: Iterable[Usage]) -> dict[str, str]:
    """The fields that tell the limits and what is left of them; none where there are none."""
    usages = list(usages)
    if not usages:
        return {}
    return {
        "RateLimit-Policy": ", ".join(_policy(usage.limit) for usage in usages),
        "RateLimit": ", ".join(_left(usage) for usage in usages),
    }


async def pass_within_limits(
    app: ASGIApp, is_lookup: bool, scope: Scope, receive: Receive, send: Send
) -> None:
    """Pass a request on that keeps to the limits of its caller; raises LimitReached."""
    caller, limits = _caller(scope), _limits(scope)
    size = declared_size(scope)
    is_upload = size is None or size > UPLOAD_BYTES
    with limits.uploading(caller) if is_upload else nullcontext() as uploads:
        usages = [] if uploads is None else [uploads]
        if not any(usage.is_refusal for usage in usages):
            counted_now = size if size is not None and _can_fit(size, caller) else 0
            usages += await limits.take(caller, requests=1, lookups=int(is_lookup), size=counted_now)
        if any(usage.is_refusal for usage in usages):
            raise LimitReached(usages)
        await app(scope, receive, _telling(send, usage_headers(usages)))


async def count_request(scope: Scope, caller: Caller) -> None:
    """Count a request for a caller who was not known before; raises LimitReached."""
    usages = await _limits(scope).take(caller, requests=1)
    if any(usage.is_refusal for usage in usages):
        raise LimitReached(usages)


async def count_lookups(scope: Scope, lookups: int, waits: bool = False) -> None:
    """Count lookups that a request asks for together.

    Beyond the limit it raises LimitReached or, where it `waits`, returns when there is room.
    """
    while usages := await _limits(scope).take(_caller(scope), lookups=lookups):
        refusals = [usage for usage in usages if usage.is_refusal]
        if not refusals:
            return
        if not waits:
            raise LimitReached(usages)
        await asyncio.sleep(refusals[0].wait or 0.0)


async def counted(parts: AsyncIterator[bytes], scope: Scope, waits: bool = False) -> AsyncIterator[bytes]:
    """The parts of a body, each counted as it comes unless its declared length has been.

    Beyond the limit it raises LimitReached or, where it `waits`, takes no more parts until there is room.
    """
    caller, limits = _caller(scope), _limits(scope)
    most, size = caller.limits.bytes_per_minute, declared_size(scope)
    if most is None or (size is not None and _can_fit(size, caller)):
        async for part in parts:
            yield part
        return
    async for part in parts:
        while refusals := [
            usage for usage in await limits.take(caller, size=min(len(part), most)) if usage.is_refusal
        ]:
            if not waits:
                raise LimitReached(refusals)
            await asyncio.sleep(refusals[0].wait or 0.0)
        yield part


def _can_fit(size: int, caller: Caller) -> bool:
    """Whether a body of this size can be counted before it is read."""
    most = caller.limits.bytes_per_minute
    return most is None or size <= most


def _telling(send: Send, headers: dict[str, str]) -> Send:
    if not headers:
        return send

    async def tell(message: Message) -> None:
        if message["type"] == "http.response.start":
            answered = MutableHeaders(scope=message)
            for name, value in headers.items():
                answered.setdefault(name, value)  # a refusal tells the limit that was reached
        await send(message)

    return tell


def _policy(limit: Limit) -> str:
    unit = f';qu="{_UNITS[limit.name]}"' if limit.name in _UNITS else ""
    window = f";w={limit.seconds}" if limit.seconds else ""
    return f'"{limit.name}";q={limit.most}{unit}{window}'


def _left(usage: Usage) -> str:
    window = "" if usage.more_in is None else f";t={_whole(usage.more_in)}"
    return f'"{usage.limit.name}";r={usage.left}{window}'


def _told(limit: Limit) -> str:
    match limit.name:
        case "uploads":
            return f"This key may have {limit.most:,} uploads at once."
        case "attempts":
            return f"{limit.most:,} requests without a valid key came from this address in {limit.seconds} s."
        case name:
            return f"This key may use {limit.most:,} {name} in {limit.seconds} seconds."


def _whole(seconds: float) -> int:
    return max(1, ceil(seconds))


def _caller(scope: Scope) -> Caller:
    caller: Caller = scope["state"]["caller"]
    return caller


def _limits(scope: Scope) -> Limits:
    limits: Limits = scope["app"].state.services.limits
    return limits


async def require_key_still_valid(scope: Scope) -> None:
    """Raise `NoValidKey` for a request whose key has been revoked, rotated or expired since it began."""
    if scope["app"].state.asks_for_keys:
        await scope["route"].caller(scope)


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
        await count_attempt(scope)
        raise NoValidKey
    return caller


async def count_attempt(scope: Scope) -> None:
    """Count a request without a valid key; raises `LimitReached` where many came from its address."""
    address, *_ = scope.get("client") or ("",)
    attempts = await _limits(scope).take_attempt(address)
    if attempts is not None and attempts.is_refusal:
        raise LimitReached([attempts])


def _sent_key(headers: Headers) -> str | None:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" else headers.get("x-api-key")
