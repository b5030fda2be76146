"""The share of text by which relations join books in clusters; those stored before join as they did."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("relations", sa.Column("link", sa.Double))
    op.execute("""
        UPDATE relations SET link = greatest(
            (signals -> 'text_shared' ->> 'left')::float8, (signals -> 'text_shared' ->> 'right')::float8
        )
        WHERE kind NOT IN ('UNRELATED', 'INSUFFICIENT_TEXT')
    """)


def downgrade() -> None:
    op.drop_column("relations", "link")
