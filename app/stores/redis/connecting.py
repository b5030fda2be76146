"""From a URL to the Redis nodes behind it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from redis.asyncio.connection import AbstractConnection, Connection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from app.stores.redis.node import Node
from app.stores.redis.nodes import SECONDS, GiveWay, Nodes, SingleNode, at_once
from app.stores.redis.redis_cluster import ClusterNodes
from app.stores.redis.topology import Address

_OPTIONS: dict[str, Any] = {
    "socket_connect_timeout": SECONDS,
    "socket_timeout": None,  # `Node` has an eye on the clock
    "retry": Retry(NoBackoff(), 0),
    "protocol": 2,
}

_CLUSTER = "+cluster"
_OF_POOLS = {"host", "port", "db", "connection_class", "max_connections", "socket_timeout"}


@asynccontextmanager
async def open_nodes(url: str, give_way: GiveWay = at_once) -> AsyncIterator[Nodes]:
    """Connect lazily to the Redis of this URL, and disconnect at the end.

    `redis+cluster://` and `rediss+cluster://` name one or more nodes of a cluster, separated by commas; the
    rest of the URL is that of a single server, which gives way between the parts of large writes.
    """
    if urlsplit(url).scheme.endswith(_CLUSTER):
        cluster = cluster_of(url)
        try:
            yield cluster
        finally:
            await cluster.aclose()
    else:
        node = single_of(url, give_way)
        try:
            yield node
        finally:
            await node.aclose()


def single_of(url: str, give_way: GiveWay = at_once) -> SingleNode:
    """The server of a `redis://`, `rediss://` or `unix://` URL; raises ValueError where it makes no sense."""
    options: dict[str, Any] = dict(parse_url(url))
    kind: Callable[..., AbstractConnection] = options.pop("connection_class", Connection)
    options.pop("max_connections", None)
    name = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
    return SingleNode(Node(str(name), partial(kind, **(options | _OPTIONS))), give_way)


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
    options = {name: value for name, value in options.items() if name not in _OF_POOLS} | _OPTIONS

    def connect(address: Address) -> AbstractConnection:
        return kind(host=address.host, port=address.port, **options)

    return ClusterNodes(seeds, connect)
