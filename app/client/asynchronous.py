"""The client for asyncio."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeVar, cast

import httpx

from app.client import exchange
from app.client.calls import Call, PagedCall

AnswerT = TypeVar("AnswerT")
ItemT = TypeVar("ItemT")


class AsyncClient:
    """Sends calls to the service at `url`; safe for tasks of one event loop.

    While it is down or overloaded it is asked again for `patience` seconds. Where the key has reached a
    limit, the wait that the service asks for is logged and does not count.
    `key` is the API key to send, where the service asks for one. `tls` says whose certificates are trusted
    over https; without it, those that the system or SSL_CERT_FILE trusts.
    """

    def __init__(
        self,
        url: str,
        connections: int = 10,
        patience: float = 60.0,
        key: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(**exchange.options(url, connections, key, tls))
        self.url = url.rstrip("/")
        self._patience = patience

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def send(self, call: Call[AnswerT]) -> AnswerT:
        """The answer to a call; raises Refused and NoService."""
        retries = exchange.Retries(self.url, call, self._patience, time.monotonic())
        while True:
            try:
                with ExitStack() as opened:
                    response = await self._http.request(**exchange.request_options(call, opened))
                wait = retries.after_response(response, time.monotonic())
                if wait is None:
                    return exchange.answer_of(call, response)
            except httpx.TransportError as exc:
                wait = retries.after_error(exc, time.monotonic())
            await asyncio.sleep(wait)

    async def pages(self, call: PagedCall[AnswerT, Any]) -> AsyncIterator[AnswerT]:
        """The answer to a call, page by page."""
        page = await self.send(call)
        yield page
        while cursor := cast(dict[str, Any], page)["next_cursor"]:
            page = await self.send(call.at(cursor))
            yield page

    async def items(self, call: PagedCall[Any, ItemT]) -> AsyncIterator[ItemT]:
        """The items of all pages of the answer to a call."""
        async for page in self.pages(call):
            for item in page["items"]:
                yield item
