"""The schema of the database: which one it has, and the way to the newest.

Several processes may bring it there at once.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from asyncpg import UndefinedTableError

import migrations
from app.core.errors import BookprintError
from app.stores.postgres.connections import SQL, Database
from migrations import NEWEST

if TYPE_CHECKING:  # services and workers never migrate, so they do without Alembic
    from alembic.config import Config

_LOCK = 7_236_501
"""Key of the advisory lock that lets one process migrate while the others wait."""

_READ_REVISIONS = SQL("SELECT version_num FROM alembic_version")


class SchemaQueries:
    """Reads the schema's revision."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def has_newest(self) -> bool:
        """Whether the database has the schema that this version of Bookprint expects."""
        try:
            revisions = await self._database.rows(_READ_REVISIONS)
        except UndefinedTableError:
            return False
        return [row["version_num"] for row in revisions] == [NEWEST]


def upgrade(database_url: str) -> None:
    """Apply every migration that the database lacks; a database that is up to date is left alone.

    Raises BookprintError where the database is out of reach or of another version.
    """
    import sqlalchemy as sa
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
