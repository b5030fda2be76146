"""The suites of recipes under which books are indexed: which one serves, which one is being built."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    suites = op.create_table(
        "suites",
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("minhash", sa.Text, nullable=False),
        sa.Column("sample", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name="pk_suites"),
    )
    op.create_index(
        "uq_suites_state", "suites", ["state"], unique=True, postgresql_where=sa.text("state <> 'retired'")
    )
    # Written out, because a later version may have another default.
    op.bulk_insert(
        suites,
        [
            {
                "fingerprint": "gap-simhash128-v1",
                "minhash": "word5-minhash128-v1",
                "sample": "word5-sample128-v1",
                "state": "serving",
            }
        ],
    )


def downgrade() -> None:
    op.drop_table("suites")
