"""Time windows in Redis, where the library `limits` counts for all processes together."""

from contextlib import AsyncExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis

from app.stores.redis.client import is_cluster, options_of

if TYPE_CHECKING:
    from limits.aio.storage import RedisStorage

_KEYS = "bp-limits"
"""All keys begin so, which no pattern fits by which the index looks for its own."""


class TimeWindows:
    """The storage of `limits` on the Redis of a URL, with connections of its own, bounded as all others."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connections = AsyncExitStack()

    @cached_property
    def storage(self) -> "RedisStorage":
        """Connects with the first command; its errors are those of redis-py."""
        # Late, because it loads every client of Redis that is installed, and most processes count nothing.
        from limits.aio.storage import RedisClusterStorage, RedisStorage

        options: dict[str, Any] = {"implementation": "redispy", "key_prefix": _KEYS}
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
