"""Columns of compressed bytes and of hashes, which Postgres no longer tries to compress again."""

from alembic import op

revision = "0022"
down_revision = "0021"

_COLUMNS = (("texts", "data"), ("signatures", "data"))


def upgrade() -> None:
    for table, column in _COLUMNS:
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")


def downgrade() -> None:
    for table, column in _COLUMNS:
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTENDED")
