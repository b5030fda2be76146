"""Brings a database to the newest schema; safe to call from several processes at once."""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

import migrations

if TYPE_CHECKING:  # workers never migrate, so they do without Alembic
    from alembic.config import Config

_LOCK = 7_236_501
"""Key of the advisory lock that lets one process migrate while the others wait."""


def upgrade(database_url: str) -> None:
    """Apply every migration that the database lacks; a database that is up to date is left alone."""
    from alembic import command

    engine = sa.create_engine(database_url, poolclass=sa.NullPool)
    with engine.connect() as lock, engine.connect() as connection:
        lock.execute(sa.text("SELECT pg_advisory_lock(:key)"), {"key": _LOCK})
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()
    engine.dispose()


def is_current(connection: sa.Connection) -> bool:
    """Whether the database has the schema that this version of Bookprint expects."""
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    heads = ScriptDirectory.from_config(_config()).get_heads()
    return set(MigrationContext.configure(connection).get_current_heads()) == set(heads)


def _config() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    return config
