"""Entries that have left the catalogue, noted until no lookup can still meet them in the index."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "departures",
        sa.Column("entry_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("left_at", TIMESTAMP(timezone=True), nullable=False, server_default=sa.func.now()),
    )


def downgrade() -> None:
    op.drop_table("departures")
