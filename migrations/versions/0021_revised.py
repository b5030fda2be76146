"""The share of lines that two books with the same pages have with other words or numbers."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.add_column("relations", sa.Column("revised", sa.Double))


def downgrade() -> None:
    op.drop_column("relations", "revised")
