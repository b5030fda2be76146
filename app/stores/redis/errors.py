"""Errors of Redis in Bookprint's words."""

from collections.abc import Iterator
from contextlib import contextmanager

import redis.exceptions

from app.core.errors import Unavailable


@contextmanager
def redis_outages() -> Iterator[None]:
    """Turn lost, refused or too slow connections to Redis, and commands it refuses, into `Unavailable`."""
    try:
        yield
    except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError) as exc:
        raise Unavailable("The band index (Redis) cannot be reached. Try again in a moment.") from exc
    except (redis.exceptions.MovedError, redis.exceptions.ClusterCrossSlotError) as exc:
        raise Unavailable(
            "REDIS_URL names a node of a Redis cluster as if it were alone: let it begin with redis+cluster://.",
            retry_after=5,
        ) from exc
    except redis.exceptions.RedisError as exc:
        # Out of memory, read-only after a failover, a key of another type: all of them for the operator.
        raise Unavailable(f"The band index (Redis) refuses: {exc}", retry_after=5) from exc
