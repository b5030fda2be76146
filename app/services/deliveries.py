"""Delivering changes to webhooks, signed as the Standard Webhooks specification says.

Each webhook is a reader of the feed. Some changes are sent at once, so that a distant receiver keeps up; the
position moves only over what was delivered. What is delivered beyond it is remembered here, and sent again
after a crash.
"""

import asyncio
import ssl
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from urllib.parse import urlsplit
from uuid import UUID

import httpcore
import orjson
from standardwebhooks import Webhook as Signer

from app.services.changes import Changes, ChangesGone, FeedItem, to_item
from app.services.webhooks import NoWayThere, addresses_of, host_and_port
from app.stores.postgres.changes import Change, ChangeFeed
from app.stores.postgres.webhooks import Progress, Webhook, WebhookStore

CONNECTIONS = 16

_LONGEST_ANSWER = 64 * 1024
"""Bytes of an answer that are read, so that its connection can be used again."""

_SECONDS_TO_BEGIN = 5.0
"""Seconds of one call within which a message is begun to be sent."""

_FAILED = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)


@dataclass(frozen=True, slots=True)
class Target:
    """Where messages go."""

    url: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """The part of the URL that names the host, as the header Host does."""
        return urlsplit(self.url).netloc


@dataclass(frozen=True, slots=True)
class Message:
    """One POST."""

    body: bytes
    headers: Mapping[str, str]


class NotTaken(Exception):
    """A message that was not taken; the text says why."""


class Gone(NotTaken):
    """The receiver wants nothing more: 410."""


class Sender:
    """Sends to one target, and keeps its connections until the end of the block.

    Only an answer of 2xx within `seconds` counts; redirects are not followed.
    """

    def __init__(
        self, target: Target, allowed_hosts: Collection[str], tls: ssl.SSLContext, seconds: float
    ) -> None:
        self._target = target
        self._allowed_hosts = allowed_hosts
        self._tls = tls
        self._seconds = seconds
        self._idle: list[httpcore.AsyncHTTPConnection] = []

    async def __aenter__(self) -> "Sender":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._idle:
            await connection.aclose()

    async def send(self, messages: Sequence[Message]) -> list[NotTaken | None]:
        """Send the messages, and return why each was not taken, in their order; None: it was.

        After a few seconds no more are begun, and the list is the shorter.
        """
        try:
            addresses = await addresses_of(self._target.host, self._target.port, self._allowed_hosts)
        except NoWayThere as exc:
            return [NotTaken(str(exc)) for _ in messages]
        outcomes: dict[int, NotTaken | None] = {}
        waiting = iter(enumerate(messages))
        until = time.monotonic() + _SECONDS_TO_BEGIN

        async def send_some() -> None:
            for number, message in waiting:
                outcomes[number] = await self._send(message, addresses)
                if time.monotonic() > until:
                    return

        async with asyncio.TaskGroup() as group:
            for _ in range(min(CONNECTIONS, len(messages))):
                group.create_task(send_some())
        return [outcomes[number] for number in range(len(outcomes))]

    async def _send(self, message: Message, addresses: Sequence[str]) -> NotTaken | None:
        connection = self._connection(addresses)
        try:
            async with asyncio.timeout(self._seconds):
                status = await self._status(connection, message)
        except TimeoutError:
            reason = f"No answer within {self._seconds:g} seconds."
        except httpcore.ConnectError as exc:
            reason = f"No connection: {exc}"
        except _FAILED as exc:
            reason = f"The connection failed: {str(exc) or type(exc).__name__}"
        else:
            if connection.is_idle():
                self._idle.append(connection)
            return _not_taken(status)
        await connection.aclose()
        return NotTaken(reason)

    def _connection(self, addresses: Sequence[str]) -> httpcore.AsyncHTTPConnection:
        """An idle connection that still stands, else a new one."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.has_expired():
                return connection
        return httpcore.AsyncHTTPConnection(
            httpcore.URL(self._target.url).origin,
            ssl_context=self._tls,
            network_backend=_CheckedAddresses(addresses),
        )

    async def _status(self, connection: httpcore.AsyncHTTPConnection, message: Message) -> int:
        size = 0
        headers = [
            ("Host", self._target.authority),
            ("Content-Length", str(len(message.body))),
            *message.headers.items(),
        ]
        async with connection.stream(
            "POST", self._target.url, headers=headers, content=message.body
        ) as response:
            async for chunk in response.aiter_stream():
                size += len(chunk)
                if size > _LONGEST_ANSWER:
                    break
            return response.status


class _CheckedAddresses(httpcore.AsyncNetworkBackend):
    """Connects to these addresses, wherever the name in the URL leads by now."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to the first address that takes one."""
        *others, last = self._addresses
        for address in others:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError:
                continue
        return await self._backend.connect_tcp(last, port, timeout, local_address, socket_options)


def _not_taken(status: int) -> NotTaken | None:
    if 200 <= status < 300:
        return None
    if status == 410:
        return Gone("The receiver answered 410.")
    if 300 <= status < 400:
        return NotTaken(f"The receiver answered {status}; redirects are not followed.")
    return NotTaken(f"The receiver answered {status}.")


_WINDOW = 128
"""Changes beyond the position of a webhook that may be under way or delivered."""

_MOST_WEBHOOKS = 32
"""Webhooks that one process delivers to at the same time."""


@dataclass(frozen=True, slots=True)
class Patience:
    """The times after which a delivery is given up, and tried again."""

    answer: float = 15.0  # seconds for an answer
    again: timedelta = timedelta(seconds=0.25)  # after a round in which only some were delivered
    first_wait: timedelta = timedelta(seconds=1)  # after a round in which none was; doubles each time
    longest_wait: timedelta = timedelta(hours=1)
    give_up_after: timedelta = timedelta(days=3)

    def wait(self, failures: int) -> timedelta:
        """The wait after so many rounds in a row in which nothing was delivered."""
        if not failures:
            return self.again
        doubled = self.first_wait * float(2 ** min(failures - 1, 20))
        return min(doubled, self.longest_wait)

    @property
    def claim(self) -> timedelta:
        """Time for which one process has a webhook for itself: longer than any round takes."""
        return timedelta(seconds=2 * self.answer)


class Delivery:
    """Delivers changes to the webhooks that wait for some."""

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
        self._changes = changes
        self._allowed_hosts = allowed_hosts
        self._patience = patience or Patience()
        self._tls = httpcore.default_ssl_context()
        self._beyond: dict[UUID, set[int]] = {}  # positions delivered beyond that of the webhook

    async def sweep(self) -> int:
        """Forget changes that are too old to be kept; returns how many."""
        return await self._changes.sweep()

    async def claim(self) -> list[Webhook]:
        """Number new changes, and claim the webhooks that changes wait for."""
        await self._changes.number()
        return await self._webhooks.update_claimed(self._patience.claim, _MOST_WEBHOOKS)

    async def deliver(self, webhook: Webhook) -> None:
        """Deliver to a claimed webhook until it has everything, or nothing gets through."""
        target = Target(webhook.url, *host_and_port(webhook.url))
        claimed: Webhook | None = webhook
        try:
            async with Sender(target, self._allowed_hosts, self._tls, self._patience.answer) as sender:
                while claimed and (claimed := await self._round(claimed, sender)) and not claimed.failures:
                    if claimed.next_try_at is not None:
                        await asyncio.sleep(self._patience.again.total_seconds())
        finally:
            await self._webhooks.update_unclaimed(webhook.id)

    async def _round(self, webhook: Webhook, sender: Sender) -> Webhook | None:
        """Send the next changes; None: there are none, or nothing is to be sent any more."""
        page = await self._feed.read(webhook.position, _WINDOW, webhook.types)
        if webhook.position < page.bounds.oldest - 1:
            await self._webhooks.update_disabled(
                webhook.id, f"Changes were not delivered in time. {ChangesGone()}"
            )
            return None
        if page.reached <= webhook.position:
            return None
        beyond = self._beyond.setdefault(webhook.id, set())
        wanted = [change for change in page.changes if change.position not in beyond]
        # One change shows whether the receiver is back.
        wanted = wanted[:1] if webhook.failures else wanted
        outcomes = await sender.send([_message(webhook, change) for change in wanted])
        # Those that there was no time for have no outcome.
        tried = list(zip(wanted, outcomes, strict=False))
        beyond.update(change.position for change, reason in tried if reason is None)
        not_taken = [reason for _, reason in tried if reason is not None]
        missing = next((each.position for each in page.changes if each.position not in beyond), None)
        delivered = [each.position for each in page.changes if missing is None or each.position < missing]
        position = page.reached if missing is None else max(delivered, default=webhook.position)
        self._beyond[webhook.id] = {each for each in beyond if each > position}
        failures = webhook.failures + 1 if not_taken and len(not_taken) == len(tried) else 0
        return await self._note(webhook, position, failures, not_taken)

    async def _note(
        self, webhook: Webhook, position: int, failures: int, not_taken: Sequence[NotTaken]
    ) -> Webhook | None:
        """Store the outcome of a round; None: the webhook is disabled or deleted."""
        error = str(not_taken[0]) if not_taken else None
        progress = Progress(position, failures, error, self._patience.wait(failures))
        noted = await self._webhooks.update_delivered(webhook.id, progress, self._patience.claim)
        if noted is None:
            self._beyond.pop(webhook.id, None)
            return None
        because = self._end(noted, not_taken)
        if because is not None:
            await self._webhooks.update_disabled(webhook.id, because)
            return None
        return noted

    def _end(self, webhook: Webhook, not_taken: Sequence[NotTaken]) -> str | None:
        """Why nothing is to be sent any more; None: it goes on."""
        if any(isinstance(each, Gone) for each in not_taken):
            return "The receiver answered 410 Gone."
        since, give_up_after = webhook.failing_since, self._patience.give_up_after
        if since is None or datetime.now(UTC) - since < give_up_after:
            return None
        return f"A change could not be delivered since {since.isoformat()}. Last error: {webhook.last_error}"


def body_of(item: FeedItem) -> str:
    """The item as the feed answers it."""
    return orjson.dumps(asdict(item), option=orjson.OPT_UTC_Z).decode()


def signed(webhook: Webhook, message_id: str, body: str, at: datetime) -> dict[str, str]:
    """The headers of a message: its id, the time, and a signature with each secret that counts."""
    secrets = [secret for secret in (webhook.secret, webhook.former_secret) if secret is not None]
    return {
        "Content-Type": "application/json",
        "User-Agent": "Bookprint",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(Signer(secret).sign(message_id, at, body) for secret in secrets),
    }


def _message(webhook: Webhook, change: Change) -> Message:
    item = to_item(change)
    body = body_of(item)
    return Message(body.encode(), signed(webhook, item.cursor, body, datetime.now(UTC)))
