"""Where a webhook may lead: to public addresses, and to hosts that the settings allow.

A name is resolved once, its addresses are checked, and the connection is made to one of those. Asked a second
time, a name could lead elsewhere (DNS rebinding).
"""

import asyncio
import socket
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from app.core.errors import BookprintError

_ASSIGNED = IPv6Network("2000::/3")
"""All unicast addresses of the internet (RFC 4291, 2.4); the others belong to special networks."""


class NoWayThere(BookprintError):
    """A host cannot be resolved, or leads where webhooks must not."""


async def addresses_of(host: str, port: int, allowed: Collection[str]) -> list[str]:
    """The addresses of a host, in the order in which to try them; raises `NoWayThere`."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        raise NoWayThere(f"The host {host} cannot be resolved.") from exc
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    if host.lower() not in allowed and not all(map(is_public, addresses)):
        raise NoWayThere(f"The host {host} has an address in a private or special network.")
    return addresses


def is_public(address: str) -> bool:
    """Whether an address belongs to the public internet.

    >>> [is_public(each) for each in ("93.184.215.14", "10.0.0.1", "::ffff:127.0.0.1", "fe80::1%eth0")]
    [True, False, False, False]
    """
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        # Addresses of the second version that stand for one of the first lead where that leads.
        embedded = ip.ipv4_mapped or ip.sixtofour
        return _is_global(embedded) if embedded else ip in _ASSIGNED and not ip.teredo and _is_global(ip)
    return _is_global(ip)


def _is_global(ip: IPv4Address | IPv6Address) -> bool:
    return ip.is_global and not (ip.is_multicast or ip.is_reserved)
