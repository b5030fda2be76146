"""A book may belong to a collection, and a key may be bound to one."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("books", sa.Column("collection", sa.Text))
    op.add_column("keys", sa.Column("collection", sa.Text))
    op.create_index(
        "ix_books_collection",
        "books",
        ["collection", "id"],
        postgresql_include=["entry_id"],
        postgresql_where=sa.text("collection IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_books_collection", "books")
    op.drop_column("keys", "collection")
    op.drop_column("books", "collection")
