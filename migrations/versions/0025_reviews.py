"""A queue of relations to look at, and the history of decisions with opinions that wait."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "reviews",
        sa.Column("left_id", sa.Uuid, nullable=False),
        sa.Column("right_id", sa.Uuid, nullable=False),
        sa.Column("worth", sa.Double, nullable=False),
        sa.Column("parts", ARRAY(sa.Integer), nullable=False),
        sa.PrimaryKeyConstraint("left_id", "right_id", name="pk_reviews"),
        sa.ForeignKeyConstraint(
            ["left_id", "right_id"],
            ["relations.left_id", "relations.right_id"],
            name="fk_reviews_left_id",
            ondelete="CASCADE",
        ),
    )
    # Those found so far come behind all doubts that are known, until they are found again.
    op.execute(
        """
        INSERT INTO reviews SELECT left_id, right_id, 1 - confidence, '{1,1}' FROM relations
        WHERE NOT EXISTS (
            SELECT FROM decisions d WHERE (d.left_id, d.right_id) = (relations.left_id, relations.right_id)
        )
        """
    )
    op.create_index("ix_reviews_worth_left_id_right_id", "reviews", ["worth", "left_id", "right_id"])
    op.create_table(
        "opinions",
        sa.Column("sequence", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("at", TIMESTAMP(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("left_id", sa.Uuid, nullable=False),
        sa.Column("right_id", sa.Uuid, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("kind", sa.Text),
        sa.Column("note", sa.Text),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("verdict_before", sa.Text),
        sa.Column("kind_before", sa.Text),
        sa.Column("name_before", sa.Text),
        sa.PrimaryKeyConstraint("sequence", name="pk_opinions"),
    )
    op.execute(
        """
        INSERT INTO opinions (at, left_id, right_id, author, name, verdict, kind, outcome)
        SELECT decided_at, left_id, right_id, coalesce(decided_by, ''), decided_by, verdict, kind, 'counts'
        FROM decisions ORDER BY decided_at
        """
    )
    op.create_index("ix_opinions_left_id_right_id", "opinions", ["left_id", "right_id"])
    op.create_index("ix_opinions_name_sequence", "opinions", ["name", "sequence"])


def downgrade() -> None:
    op.drop_table("opinions")
    op.drop_table("reviews")
