"""The schema version of the database."""

from asyncpg import UndefinedTableError

from app.stores.postgres.connections import Database
from app.stores.postgres.statements import SQL
from migrations import NEWEST

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
