"""Books have the number of their words that occur once; null for those that were stored without it."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("books", sa.Column("single_words", sa.Integer()))


def downgrade() -> None:
    op.drop_column("books", "single_words")
