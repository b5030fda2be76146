"""Clusters with their sizes, and with what workers measure of each, so that lists of them are quick."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0027"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "clusters",
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("founder_id", sa.Uuid, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column(
            "written_by",
            sa.BigInteger,
            nullable=False,
            server_default=sa.text("pg_current_xact_id()::text::bigint"),
        ),
        sa.Column("measured", sa.Boolean, nullable=False, server_default="false"),
        sa.Column("agreement", sa.Double),
        sa.Column("kinds", JSONB),
        sa.Column("best_id", sa.Uuid),
        sa.PrimaryKeyConstraint("by", "founder_id", name="pk_clusters"),
    )
    op.create_index(
        "ix_clusters_unmeasured", "clusters", ["by", "founder_id"], postgresql_where=sa.text("NOT measured")
    )
    op.execute("""
        INSERT INTO clusters (by, founder_id, size)
        SELECT by, founder_id, count(*) FROM cluster_members GROUP BY by, founder_id
    """)


def downgrade() -> None:
    op.drop_table("clusters")
