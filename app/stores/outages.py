"""Says in Bookprint's words that a server behind a store cannot be reached."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import redis.exceptions
import sqlalchemy.exc
from procrastinate.exceptions import ConnectorException

from app.core.errors import Unavailable


@contextmanager
def postgres_outages() -> Iterator[None]:
    """Turn lost or refused connections to Postgres into `Unavailable`."""
    try:
        yield
    except (
        sqlalchemy.exc.OperationalError,
        sqlalchemy.exc.InterfaceError,
        psycopg.OperationalError,
        psycopg.InterfaceError,
        ConnectorException,
    ) as exc:
        raise Unavailable("The catalogue (Postgres) cannot be reached. Try again in a moment.") from exc
    except sqlalchemy.exc.TimeoutError as exc:
        raise Unavailable("Every connection to the catalogue is busy. Try again in a moment.") from exc
    except sqlalchemy.exc.DBAPIError as exc:
        if exc.connection_invalidated:
            raise Unavailable("The connection to the catalogue was lost. Try again in a moment.") from exc
        raise


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
