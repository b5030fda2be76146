"""Errors of Postgres in Bookprint's words."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
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
