"""Brings a database to the newest schema; safe to call from several processes at once."""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

import migrations
from app.core.errors import BookprintError

if TYPE_CHECKING:  # workers never migrate, so they do without Alembic
    from alembic.config import Config

_LOCK = 7_236_501
"""Key of the advisory lock that lets one process migrate while the others wait."""


def upgrade(database_url: str) -> None:
    """Apply every migration that the database lacks; a database that is up to date is left alone.

    Raises BookprintError where the database is out of reach or of another version.
    """
    from alembic import command
    from alembic.util import CommandError

    engine = sa.create_engine(database_url, poolclass=sa.NullPool)
    try:
        with engine.connect() as lock, engine.connect() as connection:
            lock.execute(sa.text("SELECT pg_advisory_lock(:key)"), {"key": _LOCK})
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.commit()
    except sa.exc.OperationalError as exc:
        raise BookprintError(f"The database cannot be reached. Check DATABASE_URL. {exc.orig}") from exc
    except CommandError as exc:
        raise BookprintError(f"The database's schema is not one of this version of Bookprint: {exc}") from exc
    finally:
        engine.dispose()


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    return config
