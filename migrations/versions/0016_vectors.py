"""Vectors, stored as signatures; readers follow them by the transactions that have written them."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    # The default is no volatile function, so that no row is written anew.
    op.add_column(
        "signatures",
        sa.Column(
            "written_by",
            sa.BigInteger(),
            nullable=False,
            server_default=sa.text("pg_current_xact_id()::text::bigint"),
        ),
    )
    op.create_index(
        "ix_signatures_written_by_entry_id",
        "signatures",
        ["written_by", "entry_id"],
        postgresql_where=sa.text("recipe = 'tfidf-simhash1024-v1'"),
    )


def downgrade() -> None:
    op.drop_index("ix_signatures_written_by_entry_id", "signatures")
    op.drop_column("signatures", "written_by")
    op.execute("DELETE FROM signatures WHERE recipe = 'tfidf-simhash1024-v1'")
