"""The client of the band index for Redis: one server or a cluster, through redis-py's clients.

One server accepts any keys in a command; a cluster requires keys with the same hash tag. Callers see no other
difference: `together` groups the keys that one command may name.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import redis.exceptions
from hiredis import pack_command
from redis.asyncio import ConnectionPool, Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import AbstractConnection, SSLConnection, parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    ClusterDownError,
    ClusterError,
    ConnectionError as ConnectionLost,
    MovedError,
    NoPermissionError,
    NoScriptError,
    ResponseError,
)

from app.stores.redis.keys import hash_tag
from app.stores.redis.scripts import SCRIPTS
from bookprint_core.errors import BookprintError, Unavailable

if TYPE_CHECKING:
    from limits.aio.storage import RedisStorage


@contextmanager
def redis_errors() -> Iterator[None]:
    """Raise `Unavailable` for lost, refused or slow connections, and for refused commands."""
    try:
        yield
    except (redis.exceptions.MovedError, redis.exceptions.ClusterCrossSlotError) as exc:
        raise Unavailable(
            "REDIS_URL names a node of a Redis cluster as a single server, or the cluster is changing. Begin "
            "the URL with redis+cluster://, or try again in a moment.",
            retry_after=5,
        ) from exc
    except (
        redis.exceptions.AskError,
        redis.exceptions.TryAgainError,
        redis.exceptions.ClusterError,
        redis.exceptions.SlotNotCoveredError,
    ) as exc:
        raise Unavailable(f"The Redis cluster is changing ({exc}). Try again in a moment.") from exc
    except redis.exceptions.AuthenticationError as exc:
        raise Unavailable(f"The band index (Redis) refuses: {exc}", retry_after=5) from exc
    except (
        redis.exceptions.ConnectionError,
        redis.exceptions.TimeoutError,
        redis.exceptions.RedisClusterException,
        OSError,
        AttributeError,  # from redis-py, if a connection is closed while it writes (its issue 4287)
        TypeError,  # in place of AttributeError in other versions of Python
        RuntimeError,  # from uvloop, if the server closes a connection at once
    ) as exc:
        reason = str(exc).rstrip(".")
        raise Unavailable(
            f"The band index (Redis) cannot be reached: {reason}. Try again in a moment."
        ) from exc
    except redis.exceptions.RedisError as exc:
        # Out of memory, read-only after a failover, a key of another type: the operator must act.
        raise Unavailable(f"The band index (Redis) refuses: {exc}", retry_after=5) from exc


Command = tuple[str | bytes | int, ...]
"""A command; its first key is the second word, or the fourth word if the command calls a script."""

_SCANNED_AT_ONCE = 2000
"""Number of keys that one step of a scan examines."""

_WRITTEN_AT_ONCE = 64
"""Number of buckets that scripts change in one round trip. Redis runs one command at a time: all 280 postings
of a book would delay every lookup by two milliseconds."""

_SECONDS = 5.0
"""Maximum seconds without an answer of Redis before a command counts as lost."""


class RedisClient:
    """Client that runs a node's commands in order in one round trip, and all nodes at the same time."""

    def __init__(self, redis: "Redis | RedisCluster") -> None:
        self._redis = redis
        self.is_cluster = isinstance(redis, RedisCluster)
        """Whether keys are distributed over several nodes."""

    async def run(self, commands: Sequence[Command]) -> list[Any]:
        """Return the answers in order; raises `Unavailable` if a node cannot be reached or refuses.

        If a server lacks a script, or a cluster has changed, all commands run again.
        """
        remedied: set[type[Exception]] = set()
        with redis_errors():
            while True:
                try:
                    answers = await self._answers(commands)
                    for answer in answers:
                        if isinstance(answer, Exception):
                            raise answer
                    return answers
                except (NoScriptError, MovedError, ConnectionLost, ClusterDownError) as error:
                    if type(error) in remedied or not await self._remedied(error, commands):
                        raise
                    remedied.add(type(error))

    async def _answers(self, commands: Sequence[Command]) -> list[Any]:
        """Return the answers in order, and the errors of commands that Redis refuses."""
        redis: Any = self._redis
        if isinstance(redis, RedisCluster):
            pipeline: Any = redis.pipeline(transaction=False)
            for words in commands:
                pipeline.execute_command(*words)
            # A redirected command would be answered separately from its epoch.
            return list(await pipeline.execute(raise_on_error=False, allow_redirections=False))
        connection = await redis.connection_pool.get_connection()

        async def exchange() -> list[Any]:
            # A pipeline of redis-py needs a fifth more processor time.
            await connection.send_packed_command(connection.pack_commands(commands))
            return [await _answer(redis, connection, str(words[0])) for words in commands]

        try:
            answers: list[Any] = await connection.retry.call_with_retry(
                exchange, lambda error: connection.disconnect()
            )
            return answers
        finally:
            await redis.connection_pool.release(connection)

    async def _remedied(self, error: Exception, commands: Sequence[Command]) -> bool:
        """Try to remove the cause of an error; return False if nothing helps."""
        if isinstance(error, NoScriptError):
            for script in SCRIPTS:
                await self._redis.script_load(script.body)
        elif self.is_cluster:
            # Single keys show redis-py which nodes serve them, or that it must find the nodes anew.
            with suppress(ConnectionLost, ClusterError):
                for key in {words[3] if words[0] == "EVALSHA" else words[1] for words in commands}:
                    await self._redis.type(str(key))
        else:
            return False
        return True

    async def read(self, keys: Sequence[str]) -> list[bytes | None]:
        groups = self.together(keys)
        answers = await self.run([("MGET", *[keys[place] for place in group]) for group in groups])
        return in_places(groups, answers, len(keys))

    async def write(self, strings: Mapping[str, bytes]) -> None:
        keys = list(strings)
        await self.run(
            [
                ("MSET", *(word for place in group for word in (keys[place], strings[keys[place]])))
                for group in self.together(keys)
            ]
        )

    async def call(self, calls: Sequence[Command]) -> list[Any]:
        """Call scripts, in round trips that change few buckets; return their answers in order."""
        answers: list[Any] = []
        while calls:
            keys = accumulate(int(words[2]) for words in calls)
            count = max(1, sum(each <= _WRITTEN_AT_ONCE for each in keys))
            answers += await self.run(calls[:count])
            calls = calls[count:]
        return answers

    def together(self, keys: Sequence[str]) -> list[list[int]]:
        """Return the indexes of the keys, in groups that one command may name."""
        if not self.is_cluster:
            return [[*range(len(keys))]] if keys else []
        groups: dict[str, list[int]] = {}
        for place, key in enumerate(keys):
            groups.setdefault(hash_tag(key), []).append(place)
        return list(groups.values())

    async def by_node(self, keys: Sequence[str]) -> list[list[str]]:
        """Return the keys that each node serves."""
        if not isinstance(self._redis, RedisCluster):
            return [list(keys)]
        with redis_errors():
            await self._redis.initialize()
            nodes: dict[str, list[str]] = {}
            for key in keys:
                node = self._redis.get_node_from_key(key)
                nodes.setdefault("" if node is None else node.name, []).append(key)
        return list(nodes.values())

    async def names(self, pattern: str) -> AsyncIterator[list[str]]:
        """Yield all matching keys in batches; keys added or deleted meanwhile may be missed."""
        names: list[str] = []
        with redis_errors():
            async for name in self._redis.scan_iter(match=pattern, count=_SCANNED_AT_ONCE):
                names.append(name.decode())
                if len(names) == _SCANNED_AT_ONCE:
                    yield names
                    names = []
        yield names

    async def ping(self) -> None:
        """Raise `Unavailable` if a node does not answer."""
        with redis_errors():
            await self._redis.ping()

    async def require_noeviction(self) -> None:
        """Raise BookprintError if a node may drop keys when its memory is full.

        Only the policy counts, not whether `maxmemory` is set, because that can change at any moment.
        """
        if evicting := sorted(await self._eviction_policies() - {"noeviction"}):
            raise BookprintError(
                f"Redis may drop books from the band index when its memory is full (maxmemory-policy "
                f"{', '.join(evicting)}). Set maxmemory-policy noeviction, then run: bookprint reindex"
            )

    async def _eviction_policies(self) -> set[str]:
        """Return the `maxmemory-policy` of the nodes; an empty set if Redis does not permit the question."""
        with redis_errors(), suppress(NoPermissionError):
            # Managed Redis services permit INFO, but not CONFIG.
            if not isinstance(self._redis, RedisCluster):
                return {(await self._redis.info("memory"))["maxmemory_policy"]}
            await self._redis.initialize()
            nodes = self._redis.get_primaries()
            told = [await self._redis.info("memory", target_nodes=node) for node in nodes]
            return {each["maxmemory_policy"] for each in told}
        return set()


async def _answer(redis: Any, connection: Any, command: str) -> Any:
    """Return the answer to a sent command, or the error with which Redis refuses the command."""
    try:
        return await redis.parse_response(connection, command)
    except ResponseError as error:
        return error


def in_places(groups: Sequence[Sequence[int]], answers: Sequence[Sequence[Any]], size: int) -> list[Any]:
    """Return the values of all groups, each at the index of its key."""
    if len(groups) == 1:
        return list(answers[0])
    values: list[Any] = [None] * size
    for group, answer in zip(groups, answers, strict=True):
        for place, value in zip(group, answer, strict=True):
            values[place] = value
    return values


@asynccontextmanager
async def open_client(url: str) -> AsyncIterator[RedisClient]:
    """Yield a client that connects on first use, and disconnect at the end; see `redis_of` for the URL."""
    redis = redis_of(url)
    try:
        yield RedisClient(redis)
    finally:
        await redis.aclose()


def redis_of(url: str) -> "Redis | RedisCluster":
    """Return the client of redis-py for a URL; raises ValueError for an invalid URL.

    `redis+cluster://` and `rediss+cluster://` name one or more nodes of a cluster, separated by commas. The
    rest of the URL is as for a single server.
    """
    options = options_of(url)
    if is_cluster(url):
        return RedisCluster(**options)
    pool = ConnectionPool.from_url(url, **options)
    pool.connection_class = type("PackingConnection", (_Packing, pool.connection_class), {})
    return Redis.from_pool(pool)


class _Packing(AbstractConnection):
    """A connection whose commands hiredis packs: Python needs over 0.5 ms for the 300 words of a lookup."""

    def pack_command(self, *words: Any) -> list[bytes]:
        name, *others = words
        return [pack_command((*name.split(), *others))]


def is_cluster(url: str) -> bool:
    """Return whether a URL names a cluster."""
    return urlsplit(url).scheme.endswith("+cluster")


def options_of(url: str) -> dict[str, Any]:
    """Return options for redis-py: for a cluster all options, for a single server those not in its URL.

    Raises ValueError for an invalid URL of a cluster.
    """
    options: dict[str, Any] = {
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": _SECONDS,
        "socket_connect_timeout": _SECONDS,
    }
    if not is_cluster(url):
        # One retry if the server has closed an idle connection; none if it does not answer.
        return options | {"retry": Retry(NoBackoff(), 1, supported_errors=(ConnectionLost,))}
    parts = urlsplit(url)
    scheme = parts.scheme.removesuffix("+cluster")
    login, at, hosts = parts.netloc.rpartition("@")
    first, *others = (
        parse_url(urlunsplit((scheme, f"{login}{at}{host}", parts.path, parts.query, "")))
        for host in hosts.split(",")
    )
    if first.get("db"):
        raise ValueError("REDIS_URL: a cluster has only the database number 0.")
    named: dict[str, Any] = {**first}
    if named.pop("connection_class", None) is SSLConnection:
        named["ssl"] = True
    # 0: finding the nodes anew after every few moved slots would close connections in use.
    options["reinitialize_steps"] = 0
    options["startup_nodes"] = [
        ClusterNode(other.get("host", "localhost"), other.get("port", 6379)) for other in others
    ]
    return options | named


_WINDOWS = "bp-limits"
"""Prefix of all keys of the limits; no pattern for keys of the index matches it."""


class TimeWindows:
    """The storage of `limits` in the Redis of a URL, with separate connections and the same timeouts."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connections = AsyncExitStack()

    @cached_property
    def storage(self) -> "RedisStorage":
        """The storage, which connects with the first command and raises the errors of redis-py."""
        # Imported late, because it loads every installed client of Redis, and most processes count nothing.
        from limits.aio.storage import RedisClusterStorage, RedisStorage

        options: dict[str, Any] = {"implementation": "redispy", "key_prefix": _WINDOWS}
        if is_cluster(self._url):
            options |= options_of(self._url)
            storage: RedisStorage = RedisClusterStorage("async+redis+cluster://", **options)
            client: Any = storage.bridge
            self._connections.push_async_callback(client.get_connection().aclose)
        else:
            redis = Redis.from_url(self._url, **options_of(self._url))
            self._connections.push_async_callback(redis.aclose)
            options["connection_pool"] = redis.connection_pool
            storage = RedisStorage("async+redis://", **options)
        return storage

    async def aclose(self) -> None:
        await self._connections.aclose()
