"""The ISCC of a book's present content, where it is computed."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("books", sa.Column("iscc", sa.Text()))
    op.create_index("ix_books_iscc", "books", ["iscc"], postgresql_where=sa.text("iscc IS NOT NULL"))


def downgrade() -> None:
    op.drop_index("ix_books_iscc", "books")
    op.drop_column("books", "iscc")
