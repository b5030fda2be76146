"""Webhooks as clients see them: register, read, delete, replace secrets."""

import asyncio
import os
import re
import socket
from base64 import b64encode
from collections.abc import Collection, Sequence
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from app.services.changes import Changes
from app.stores.postgres.audit import Actor
from app.stores.postgres.changes import ChangeType
from app.stores.postgres.connections import Database
from app.stores.postgres.webhooks import UnknownWebhook as UnknownWebhook, Webhook as Webhook, WebhookStore
from bookprint_core.errors import BookprintError, InvalidInput

_ASSIGNED = IPv6Network("2000::/3")
"""All unicast addresses of the internet (RFC 4291, 2.4); other addresses belong to special networks."""

_SPECIAL = (IPv4Network("192.88.99.0/24"), IPv6Network("3fff::/20"))
"""Special networks that Python 3.11 counts as public: the relays of RFC 3068 and the examples of RFC 9637."""


class NoWayThere(BookprintError):
    """A host cannot be resolved, or has an address to which webhooks must not send."""


async def addresses_of(host: str, port: int, allowed: Collection[str]) -> list[str]:
    """Return the addresses of a host, in the order in which to try them; raises `NoWayThere`."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        raise NoWayThere(f"The host {host} cannot be resolved.") from exc
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    if host.lower() not in allowed and not all(map(is_public, addresses)):
        raise NoWayThere(f"The host {host} has an address in a private or special network.")
    return addresses


def is_public(address: str) -> bool:
    """Return whether an address belongs to the public internet.

    >>> [is_public(each) for each in ("93.184.215.14", "10.0.0.1", "::ffff:127.0.0.1", "fe80::1%eth0")]
    [True, False, False, False]
    """
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        # An IPv6 address that embeds an IPv4 address reaches the same host.
        embedded = ip.ipv4_mapped or ip.sixtofour
        return _is_global(embedded) if embedded else ip in _ASSIGNED and not ip.teredo and _is_global(ip)
    return _is_global(ip)


def _is_global(ip: IPv4Address | IPv6Address) -> bool:
    is_special = any(ip in network for network in _SPECIAL if network.version == ip.version)
    return ip.is_global and not (ip.is_multicast or ip.is_reserved or is_special)


OVERLAP = timedelta(days=1)
"""Time for which a former secret still signs beside the new secret."""

_SECRET_BYTES = 32
_PLAIN = re.compile(r"[!-~]+")
_PORTS = {"http": 80, "https": 443}


class Webhooks(WebhookStore):
    """The webhooks of the service."""

    def __init__(self, database: Database, changes: Changes, allowed_hosts: Collection[str]) -> None:
        super().__init__(database)
        self._changes = changes
        self._allowed_hosts = allowed_hosts

    async def register(self, url: str, types: Sequence[ChangeType] | None, *, actor: Actor) -> Webhook:
        """Deliver all changes (of these types) from now on to a URL.

        Raises `InvalidInput` for a URL to which nothing can be delivered.
        """
        await self._check(url)
        await self._changes.number()
        kinds = None if types is None else list(dict.fromkeys(types))
        return await self.insert(uuid4(), url, kinds, new_secret(), actor=actor)

    async def rotate(self, webhook_id: UUID, *, actor: Actor) -> Webhook:
        """Replace the secret of a webhook; the old secret also signs for a day. Raises `UnknownWebhook`."""
        return await self.update_secret(webhook_id, new_secret(), OVERLAP, actor=actor)

    async def _check(self, url: str) -> None:
        if not _PLAIN.fullmatch(url):
            raise InvalidInput(
                "The URL contains a blank, a control or a non-ASCII character. Percent-encode it.", "url"
            )
        host, port = host_and_port(url)
        try:
            await addresses_of(host, port, self._allowed_hosts)
        except NoWayThere as exc:
            raise InvalidInput(
                f"{exc} Send a URL that leads to the public internet, or add the host to "
                "BOOKPRINT_WEBHOOK_ALLOW_HOSTS.",
                "url",
            ) from exc


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host and the port of a URL; raises `InvalidInput` for a URL to which nothing can be sent."""
    try:
        parts = urlsplit(url)
        default = _PORTS.get(parts.scheme)
        host, port = parts.hostname, default if parts.port is None else default and parts.port
        is_plain = "@" not in parts.netloc and not parts.fragment
    except ValueError:
        host, port, is_plain = None, None, False
    if not (host and port and is_plain):
        raise InvalidInput(
            "Changes cannot be posted to this URL. Send one such as https://catalogue.example/changes, "
            "without a user name and without a fragment.",
            "url",
        )
    return host, port


def new_secret() -> str:
    """Return a secret to sign with, in the form of the Standard Webhooks specification."""
    return f"whsec_{b64encode(os.urandom(_SECRET_BYTES)).decode()}"
