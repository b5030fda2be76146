"""What scans lack, kept; workers look at all that have another scan of their printing."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_table(
        "completeness",
        sa.Column("book_id", sa.Uuid, nullable=False),
        sa.Column(
            "written_by",
            sa.BigInteger,
            nullable=False,
            server_default=sa.text("pg_current_xact_id()::text::bigint"),
        ),
        sa.Column("looked", sa.Boolean, nullable=False, server_default="false"),
        sa.Column("compared_with", ARRAY(sa.Uuid)),
        sa.Column("findings", JSONB, nullable=False, server_default="[]"),
        sa.Column("rank", sa.Double),
        sa.PrimaryKeyConstraint("book_id", name="pk_completeness"),
    )
    op.create_index(
        "ix_completeness_stale",
        "completeness",
        ["written_by", "book_id"],
        postgresql_where=sa.text("NOT looked"),
    )
    op.create_index(
        "ix_completeness_rank_book_id",
        "completeness",
        ["rank", "book_id"],
        postgresql_where=sa.text("rank IS NOT NULL"),
    )
    op.execute("""
        INSERT INTO completeness (book_id)
        SELECT left_id FROM relations WHERE kind = 'SAME_PAGINATION'
        UNION SELECT right_id FROM relations WHERE kind = 'SAME_PAGINATION'
        UNION SELECT left_id FROM decisions WHERE kind = 'SAME_PAGINATION'
        UNION SELECT right_id FROM decisions WHERE kind = 'SAME_PAGINATION'
    """)


def downgrade() -> None:
    op.drop_table("completeness")
