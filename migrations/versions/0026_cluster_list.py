"""Clusters with their sizes, and with what workers measure of each, so that lists of them are quick."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0026"
down_revision = "0025"

_AGREEMENT_RANK = "CASE WHEN measured THEN coalesce(agreement, 2) ELSE 3 END"


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
        sa.Column("size_rank", sa.Double, sa.Computed("-size", persisted=True), nullable=False),
        sa.Column("agreement_rank", sa.Double, sa.Computed(_AGREEMENT_RANK, persisted=True), nullable=False),
        sa.PrimaryKeyConstraint("by", "founder_id", name="pk_clusters"),
    )
    op.create_index(
        "ix_clusters_unmeasured", "clusters", ["by", "founder_id"], postgresql_where=sa.text("NOT measured")
    )
    for rank in ("size_rank", "agreement_rank"):
        op.create_index(f"ix_clusters_by_{rank}_founder_id", "clusters", ["by", rank, "founder_id"])
    op.execute("""
        INSERT INTO clusters (by, founder_id, size)
        SELECT by, founder_id, count(*) FROM cluster_members GROUP BY by, founder_id
    """)


def downgrade() -> None:
    op.drop_table("clusters")
