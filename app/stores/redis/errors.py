"""Errors of Redis in Bookprint's words."""

from collections.abc import Iterator
from contextlib import contextmanager

import redis.exceptions

from app.core.errors import Unavailable


@contextmanager
def redis_errors() -> Iterator[None]:
    """Turn connections lost, refused or too slow, and commands refused, into `Unavailable`."""
    try:
        yield
    except (redis.exceptions.MovedError, redis.exceptions.ClusterCrossSlotError) as exc:
        raise Unavailable(
            "REDIS_URL names a node of a Redis cluster as if it were alone, or the cluster is changing. Let "
            "the URL begin with redis+cluster://, or try again in a moment.",
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
        AttributeError,  # from redis-py, where a connection is closed as it writes (its issue 4287)
        TypeError,  # the same in other versions of Python
    ) as exc:
        reason = str(exc).rstrip(".")
        raise Unavailable(
            f"The band index (Redis) cannot be reached: {reason}. Try again in a moment."
        ) from exc
    except redis.exceptions.RedisError as exc:
        # Out of memory, read-only after a failover, a key of another type: all of them for the operator.
        raise Unavailable(f"The band index (Redis) refuses: {exc}", retry_after=5) from exc
