"""Relations between books, people's decisions on them, and clusters."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.schema import SchemaItem

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "relations",
        *_pair("relations"),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("direction", sa.Text),
        sa.Column("confidence", sa.Double, nullable=False),
        sa.Column("classifier", sa.Text, nullable=False),
        sa.Column("left_because", sa.Text, nullable=False),
        sa.Column("right_because", sa.Text, nullable=False),
        sa.Column("confidences", JSONB, nullable=False),
        sa.Column("signals", JSONB),
        sa.Column("unit", sa.Text),
        sa.Column("runs", JSONB, nullable=False, server_default="[]"),
        sa.Column("page_map", sa.LargeBinary),
        sa.Column("related_at", TIMESTAMP(timezone=True), nullable=False, server_default=sa.func.now()),
    )
    op.create_index("ix_relations_right_id", "relations", ["right_id"])
    op.create_table(
        "decisions",
        *_pair("decisions"),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("kind", sa.Text),
        sa.Column("decided_at", TIMESTAMP(timezone=True), nullable=False, server_default=sa.func.now()),
    )
    op.create_index("ix_decisions_right_id", "decisions", ["right_id"])
    op.create_index(
        "ix_decisions_never",
        "decisions",
        ["left_id", "right_id"],
        postgresql_where=sa.text("verdict = 'rejected' OR kind = 'UNRELATED'"),
    )
    op.create_table(
        "related_entries",
        sa.Column("entry_id", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("passed_over", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("entry_id", name="pk_related_entries"),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["books.entry_id"], name="fk_related_entries_entry_id", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "relation_counts",
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("pairs", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("kind", name="pk_relation_counts"),
    )
    op.execute(
        "CREATE INDEX ix_relate_jobs ON procrastinate_jobs (CAST(args ->> 'entry_id' AS bigint)) "
        "WHERE task_name = 'relate' AND status <> 'succeeded'"
    )
    op.create_table(
        "cluster_members",
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("book_id", sa.Uuid, nullable=False),
        sa.Column("founder_id", sa.Uuid, nullable=False),
        sa.PrimaryKeyConstraint("by", "book_id", name="pk_cluster_members"),
    )
    op.create_index(
        "ix_cluster_members_by_founder_id_book_id", "cluster_members", ["by", "founder_id", "book_id"]
    )
    op.create_table(
        "cluster_borders",
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("left_id", sa.Uuid, nullable=False),
        sa.Column("right_id", sa.Uuid, nullable=False),
        sa.PrimaryKeyConstraint("by", "left_id", "right_id", name="pk_cluster_borders"),
        sa.CheckConstraint("left_id < right_id", name="ck_cluster_borders_ordered"),
    )
    op.create_index("ix_cluster_borders_by_right_id", "cluster_borders", ["by", "right_id"])
    op.create_table(
        "cluster_heirs",
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("book_id", sa.Uuid, nullable=False),
        sa.Column("heir_id", sa.Uuid, nullable=False),
        sa.PrimaryKeyConstraint("by", "book_id", name="pk_cluster_heirs"),
    )
    op.create_index("ix_cluster_heirs_by_heir_id", "cluster_heirs", ["by", "heir_id"])


def downgrade() -> None:
    op.drop_index("ix_relate_jobs", "procrastinate_jobs")
    for name in (
        "cluster_heirs",
        "cluster_borders",
        "cluster_members",
        "relation_counts",
        "related_entries",
        "decisions",
        "relations",
    ):
        op.drop_table(name)


def _pair(table: str) -> list[SchemaItem]:
    """Two books, the older one left, and their contents."""
    return [
        sa.Column("left_id", sa.Uuid, nullable=False),
        sa.Column("right_id", sa.Uuid, nullable=False),
        sa.Column("left_entry", sa.BigInteger, nullable=False),
        sa.Column("right_entry", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("left_id", "right_id", name=f"pk_{table}"),
        sa.CheckConstraint("left_id < right_id", name=f"ck_{table}_ordered"),
        _of_book(table, "left_id"),
        _of_book(table, "right_id"),
    ]


def _of_book(table: str, column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], ["books.id"], name=f"fk_{table}_{column}", ondelete="CASCADE")
