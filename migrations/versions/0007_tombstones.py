"""Entries that were deleted are called tombstones."""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.rename_table("departures", "tombstones")
    op.execute("ALTER TABLE tombstones RENAME CONSTRAINT pk_departures TO pk_tombstones")
    op.alter_column("tombstones", "left_at", new_column_name="deleted_at")


def downgrade() -> None:
    op.alter_column("tombstones", "deleted_at", new_column_name="left_at")
    op.execute("ALTER TABLE tombstones RENAME CONSTRAINT pk_tombstones TO pk_departures")
    op.rename_table("tombstones", "departures")
