"""Errors of Postgres in Bookprint's words."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg_pool import PoolTimeout

from app.core.errors import Unavailable


@contextmanager
def postgres_errors() -> Iterator[None]:
    """Turn lost or refused connections to Postgres into `Unavailable`."""
    try:
        yield
    except PoolTimeout as exc:
        raise Unavailable(
            "The catalogue (Postgres) cannot be reached, or every connection to it is busy. "
            "Try again in a moment."
        ) from exc
    except (psycopg.OperationalError, psycopg.InterfaceError) as exc:
        raise Unavailable("The catalogue (Postgres) cannot be reached. Try again in a moment.") from exc
