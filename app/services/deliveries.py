"""Delivering changes to webhooks, signed by the Standard Webhooks specification.

Each webhook reads the feed and receives one change after the other. Its position moves only over delivered
changes, so after a crash a change may be delivered twice, but none is missed.
"""

import asyncio
import ssl
import time
from collections.abc import Collection, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import httpcore
import orjson
from standardwebhooks import Webhook as Signer

from app.services.changes import Changes, ChangesGone
from app.services.webhooks import NoWayThere, addresses_of
from app.stores.postgres.changes import ChangeFeed
from app.stores.postgres.webhooks import DeliveryProgress, Webhook, WebhookStore

_LONGEST_ANSWER = 64 * 1024
"""Maximum bytes of an answer that are read, so that its connection can be used again."""

_FAILED = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)

_CHANGES_A_ROUND = 128
"""Maximum number of changes after which the position of a webhook is stored."""

_SECONDS_A_ROUND = 5.0
"""Seconds after which the round ends and the position is stored."""

_MOST_WEBHOOKS = 32
"""Maximum number of webhooks that one process delivers to at the same time."""


class NotTaken(Exception):
    """The receiver did not accept a message; the text gives the reason."""


class Gone(NotTaken):
    """The receiver wants no more messages: status 410."""


class Sender(AbstractAsyncContextManager["Sender"]):
    """HTTP client for one URL, with one connection that ends with the block.

    Only an answer of 2xx within `seconds` counts; redirects are not followed.
    """

    def __init__(self, url: str, allowed_hosts: Collection[str], tls: ssl.SSLContext, seconds: float) -> None:
        self._url = url
        self._seconds = seconds
        self._connection = httpcore.AsyncConnectionPool(
            max_connections=1, ssl_context=tls, network_backend=_CheckedAddresses(allowed_hosts)
        )

    async def __aexit__(self, *_: object) -> None:
        await self._connection.aclose()

    async def send(self, body: bytes, headers: dict[str, str]) -> None:
        """Send one message; raises `NotTaken`."""
        try:
            async with asyncio.timeout(self._seconds):
                status = await self._status(body, headers)
        except TimeoutError:
            raise NotTaken(f"No answer within {self._seconds:g} seconds.") from None
        except NoWayThere as exc:
            raise NotTaken(str(exc)) from exc
        except httpcore.ConnectError as exc:
            raise NotTaken(f"No connection: {exc}") from exc
        except _FAILED as exc:
            raise NotTaken(f"The connection failed: {str(exc) or type(exc).__name__}") from exc
        if status == 410:
            raise Gone("The receiver answered 410.")
        if 300 <= status < 400:
            raise NotTaken(f"The receiver answered {status}; redirects are not followed.")
        if not 200 <= status < 300:
            raise NotTaken(f"The receiver answered {status}.")

    async def _status(self, body: bytes, headers: dict[str, str]) -> int:
        size = 0
        # httpcore would leave out the brackets of an IPv6 address.
        named = [("Host", urlsplit(self._url).netloc), *headers.items()]
        async with self._connection.stream("POST", self._url, headers=named, content=body) as response:
            async for chunk in response.aiter_stream():
                size += len(chunk)
                if size > _LONGEST_ANSWER:
                    break
            return response.status


class _CheckedAddresses(httpcore.AsyncNetworkBackend):
    """Network backend that resolves a name once per connection, and connects only to checked addresses."""

    def __init__(self, allowed_hosts: Collection[str]) -> None:
        self._allowed_hosts = allowed_hosts
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Return a connection to the first address that accepts it; raises `NoWayThere`."""
        *others, last = await addresses_of(host, port, self._allowed_hosts)
        for address in others:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError:
                continue
        return await self._backend.connect_tcp(last, port, timeout, local_address, socket_options)


@dataclass(frozen=True, slots=True)
class Patience:
    """Times after which a delivery is retried, and given up."""

    answer: float = 15.0  # maximum seconds to wait for an answer
    again: timedelta = timedelta(seconds=0.25)  # after a failure that follows delivered changes
    first_wait: timedelta = timedelta(seconds=1)  # after other failures; doubles each time
    longest_wait: timedelta = timedelta(hours=1)
    give_up_after: timedelta = timedelta(days=3)

    def wait(self, failures: int) -> timedelta:
        """Return the wait after this number of failures in a row."""
        if not failures:
            return self.again
        doubled = self.first_wait * float(2 ** min(failures - 1, 20))
        return min(doubled, self.longest_wait)

    @property
    def claim(self) -> timedelta:
        """Time for which one process claims a webhook: longer than any round."""
        return timedelta(seconds=2 * self.answer)


class Delivery:
    """Service that delivers changes to the webhooks that wait for changes."""

    def __init__(
        self,
        webhooks: WebhookStore,
        feed: ChangeFeed,
        changes: Changes,
        allowed_hosts: Collection[str],
        patience: Patience | None = None,
    ) -> None:
        self._webhooks = webhooks
        self._feed = feed
        self.changes = changes
        self._allowed_hosts = allowed_hosts
        self._patience = patience or Patience()
        self._tls = httpcore.default_ssl_context()
        self._under_way = 0  # webhooks that are claimed here

    async def claim(self) -> list[Webhook]:
        """Number new changes, and claim webhooks with undelivered changes; the caller delivers to each."""
        await self.changes.number()
        claimed = await self._webhooks.update_claimed(self._patience.claim, _MOST_WEBHOOKS - self._under_way)
        self._under_way += len(claimed)
        return claimed

    async def deliver(self, webhook: Webhook) -> None:
        """Deliver to a claimed webhook until no change is left, or a change is not accepted."""
        claimed: Webhook | None = webhook
        try:
            async with Sender(webhook.url, self._allowed_hosts, self._tls, self._patience.answer) as sender:
                while claimed is not None:
                    claimed = await self._round(claimed, sender)
        finally:
            self._under_way -= 1
            await self._webhooks.update_unclaimed(webhook.id)

    async def _round(self, webhook: Webhook, sender: Sender) -> Webhook | None:
        """Send the next changes; return None if nothing more is to be sent for now."""
        page = await self._feed.read(webhook.position, _CHANGES_A_ROUND, webhook.types)
        if webhook.position < page.bounds.oldest - 1:
            await self._webhooks.update_disabled(
                webhook.id, f"Changes were not delivered in time. {ChangesGone()}"
            )
            return None
        if page.reached <= webhook.position:
            return None
        position, until = webhook.position, time.monotonic() + _SECONDS_A_ROUND
        for change in page.changes:
            # The same JSON as in the feed.
            item = {"cursor": change.cursor} | asdict(change)
            del item["position"]
            body = orjson.dumps(item, option=orjson.OPT_UTC_Z).decode()
            try:
                await sender.send(body.encode(), signed(webhook, change.cursor, body, datetime.now(UTC)))
            except NotTaken as reason:
                await self._note_failure(webhook, position, reason)
                return None
            position = change.position
            if time.monotonic() > until:
                break
        else:
            position = page.reached
        return await self._webhooks.update_delivered(
            webhook.id, DeliveryProgress(position), self._patience.claim
        )

    async def _note_failure(self, webhook: Webhook, position: int, reason: NotTaken) -> None:
        """Store the position of the last delivered change; retry later, or disable the webhook."""
        failures = webhook.failures + 1 if position == webhook.position else 0
        progress = DeliveryProgress(position, failures, str(reason), self._patience.wait(failures))
        noted = await self._webhooks.update_delivered(webhook.id, progress, self._patience.claim)
        if noted is None:
            return
        if isinstance(reason, Gone):
            await self._webhooks.update_disabled(webhook.id, "The receiver answered 410 Gone.")
            return
        since = noted.failing_since
        if since is not None and datetime.now(UTC) - since >= self._patience.give_up_after:
            await self._webhooks.update_disabled(
                webhook.id,
                f"A change could not be delivered since {since.isoformat()}. Last error: {reason}",
            )


def signed(webhook: Webhook, message_id: str, body: str, at: datetime) -> dict[str, str]:
    """Return the headers of a message: its id, the time, and a signature with each valid secret."""
    secrets = [secret for secret in (webhook.secret, webhook.former_secret) if secret is not None]
    return {
        "Content-Type": "application/json",
        "User-Agent": "Bookprint",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(Signer(secret).sign(message_id, at, body) for secret in secrets),
    }
