"""The labels that are printed on the pages of a book."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("books", sa.Column("page_labels", ARRAY(sa.Text)))


def downgrade() -> None:
    op.drop_column("books", "page_labels")
