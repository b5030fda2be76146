"""From a URL to the Redis nodes behind it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection, Connection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from app.stores.cluster import ClusterNodes
from app.stores.nodes import Nodes, SingleNode
from app.stores.topology import Address

_SECONDS = 5.0
"""Longest silence of Redis before a command counts as lost."""

_CLUSTER = "+cluster"
_OF_POOLS = {"host", "port", "db", "connection_class", "max_connections", "socket_timeout"}


@asynccontextmanager
async def open_nodes(url: str) -> AsyncIterator[Nodes]:
    """Connect lazily to the Redis of this URL, and disconnect at the end.

    `redis+cluster://` and `rediss+cluster://` name one or more nodes of a cluster, separated by commas; the
    rest of the URL is that of a single server.
    """
    if urlsplit(url).scheme.endswith(_CLUSTER):
        cluster = cluster_of(url)
        try:
            yield cluster
        finally:
            await cluster.aclose()
    else:
        redis = Redis.from_url(
            url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS, retry=Retry(NoBackoff(), 1)
        )
        try:
            yield SingleNode(redis)
        finally:
            await redis.aclose()


def cluster_of(url: str) -> ClusterNodes:
    """The cluster of a `redis+cluster://` URL; raises ValueError where the URL makes no sense."""
    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    scheme = parts.scheme.removesuffix(_CLUSTER)
    options: dict[str, Any] = {}
    seeds = []
    for host in hosts.split(","):
        options = dict(parse_url(urlunsplit((scheme, f"{login}{at}{host}", parts.path, parts.query, ""))))
        seeds.append(Address(options.get("host", "localhost"), options.get("port", 6379)))
    if options.get("db"):
        raise ValueError("REDIS_URL: a cluster has no database but number 0.")
    kind: type[Connection] = options.get("connection_class", Connection)
    options = {name: value for name, value in options.items() if name not in _OF_POOLS} | {
        "socket_connect_timeout": _SECONDS,
        "socket_timeout": None,  # `ClusterNode` has an eye on the clock
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
    }

    def connect(address: Address) -> AbstractConnection:
        return kind(host=address.host, port=address.port, **options)

    return ClusterNodes(seeds, connect)
