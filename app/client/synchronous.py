"""The client for threads."""

import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeVar, cast

import httpx

from app.client import exchange
from app.client.calls import Call, PagedCall
from app.client.errors import Interrupted

AnswerT = TypeVar("AnswerT")
ItemT = TypeVar("ItemT")


class Client:
    """Sends calls to the service at `url`; safe for threads.

    While it is down or overloaded it is asked again for `patience` seconds; setting `stop` ends the waiting.
    Where the key has reached a limit, the wait that the service asks for is logged and does not count.
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
        self._http = httpx.Client(**exchange.options(url, connections, key, tls))
        self.url = url.rstrip("/")
        self.stop = threading.Event()
        self._patience = patience

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def send(self, call: Call[AnswerT]) -> AnswerT:
        """The answer to a call; raises Refused, NoService and Interrupted."""
        retries = exchange.Retries(self.url, call, self._patience, time.monotonic())
        while True:
            try:
                with ExitStack() as opened:
                    response = self._http.request(**exchange.request_options(call, opened))
                wait = retries.after_response(response, time.monotonic())
                if wait is None:
                    return exchange.answer_of(call, response)
            except httpx.TransportError as exc:
                wait = retries.after_error(exc, time.monotonic())
            if self.stop.wait(wait):
                raise Interrupted

    def pages(self, call: PagedCall[AnswerT, Any]) -> Iterator[AnswerT]:
        """The answer to a call, page by page."""
        page = self.send(call)
        yield page
        while cursor := cast(dict[str, Any], page)["next_cursor"]:
            page = self.send(call.at(cursor))
            yield page

    def items(self, call: PagedCall[Any, ItemT]) -> Iterator[ItemT]:
        """The items of all pages of the answer to a call."""
        for page in self.pages(call):
            yield from page["items"]

    def insist(self) -> None:
        """Raise NoService when nothing answers."""
        try:
            self._http.get("/health/live")
        except httpx.TransportError as exc:
            raise exchange.missing(self.url, exc) from exc

    def is_ready(self) -> bool:
        """Whether the service answers and can do its work."""
        try:
            return self._http.get("/health/ready", timeout=5.0).is_success
        except httpx.TransportError:
            return False
