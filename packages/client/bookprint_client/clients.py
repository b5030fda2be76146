"""Clients for threads and for asyncio. They differ only in sending and waiting."""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self, cast

import httpx

from bookprint_client.call import AnswerT, Call, ItemT, PagedCall
from bookprint_client.exchange import Interrupted, Retries, answer_of, http_options, missing, request_options


class _Base:
    """Client of the service at `url`, with at most `connections` connections at once.

    While the service is down or overloaded, calls are retried for `patience` seconds. A wait because of the
    key's limit is logged and does not count towards `patience`.
    `key` is the API key, if the service requires one. `tls` decides which certificates are trusted over
    https. Without it, the authorities of httpx, and of the system or SSL_CERT_FILE, are trusted.
    """

    def __init__(
        self,
        url: str,
        connections: int = 10,
        patience: float = 60.0,
        key: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._open(http_options(url, connections, key, tls))
        self.url = url.rstrip("/")
        self._patience = patience

    def _open(self, options: dict[str, Any]) -> None:
        raise NotImplementedError


class Client(_Base):
    """Client that sends calls and waits for their answers; thread-safe. Setting `stop` ends the waiting."""

    def _open(self, options: dict[str, Any]) -> None:
        self._http = httpx.Client(**options)
        self.stop = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def send(self, call: Call[AnswerT]) -> AnswerT:
        """Send a call and return its answer. Raises Refused, NoService, Interrupted or ClientError."""
        retries = Retries(self.url, call, self._patience)
        while True:
            try:
                with request_options(call) as options:
                    response = self._http.request(**options)
                wait = retries.after_response(response)
                if wait is None:
                    return answer_of(call, response)
            except httpx.TransportError as exc:
                wait = retries.after_error(exc)
            if self.stop.wait(wait):
                raise Interrupted

    def pages(self, call: PagedCall[AnswerT, Any]) -> Iterator[AnswerT]:
        page = self.send(call)
        yield page
        while cursor := cast(dict[str, Any], page)["next_cursor"]:
            page = self.send(call.at(cursor))
            yield page

    def items(self, call: PagedCall[Any, ItemT]) -> Iterator[ItemT]:
        for page in self.pages(call):
            yield from page["items"]

    def insist(self) -> None:
        """Raise NoService if no service answers."""
        try:
            self._http.get("/health/live")
        except httpx.TransportError as exc:
            raise missing(self.url, exc) from exc

    def is_ready(self) -> bool:
        """Return whether the service answers and is ready."""
        try:
            return self._http.get("/health/ready", timeout=5.0).is_success
        except httpx.TransportError:
            return False


class AsyncClient(_Base):
    """Client that sends calls and awaits their answers; safe for the tasks of one event loop."""

    def _open(self, options: dict[str, Any]) -> None:
        self._http = httpx.AsyncClient(**options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def send(self, call: Call[AnswerT]) -> AnswerT:
        """Send a call and return its answer. Raises Refused, NoService, or another ClientError."""
        retries = Retries(self.url, call, self._patience)
        while True:
            try:
                with request_options(call) as options:
                    response = await self._http.request(**options)
                wait = retries.after_response(response)
                if wait is None:
                    return answer_of(call, response)
            except httpx.TransportError as exc:
                wait = retries.after_error(exc)
            await asyncio.sleep(wait)

    async def pages(self, call: PagedCall[AnswerT, Any]) -> AsyncIterator[AnswerT]:
        page = await self.send(call)
        yield page
        while cursor := cast(dict[str, Any], page)["next_cursor"]:
            page = await self.send(call.at(cursor))
            yield page

    async def items(self, call: PagedCall[Any, ItemT]) -> AsyncIterator[ItemT]:
        async for page in self.pages(call):
            for item in page["items"]:
                yield item
