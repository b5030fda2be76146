"""Books are found by titles, authors and years written in other ways."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

from app.core.model import Metadata
from app.core.text.names import folded, name_keys

revision = "0011"
down_revision = "0010"

_AT_ONCE = 2_000

_SELECT = sa.text("""
    SELECT id, title, authors, year FROM books
    WHERE id > :after AND (title IS NOT NULL OR authors <> '{}' OR year IS NOT NULL)
    ORDER BY id LIMIT :limit
""")
_UPDATE = sa.text("UPDATE books SET folded_title = :folded_title, name_keys = :name_keys WHERE id = :id")


def upgrade() -> None:
    op.add_column(
        "books", sa.Column("folded_title", sa.Text(collation="C"), nullable=False, server_default="")
    )
    op.add_column("books", sa.Column("name_keys", ARRAY(sa.Integer), nullable=False, server_default="{}"))
    _fill()
    op.create_index("ix_books_folded_title", "books", ["folded_title", "id"])
    op.create_index(
        "ix_books_name_keys",
        "books",
        ["name_keys"],
        postgresql_using="gin",
        postgresql_with={"gin_pending_list_limit": 256},
    )


def downgrade() -> None:
    op.drop_column("books", "name_keys")
    op.drop_column("books", "folded_title")


def _fill() -> None:
    """Compute the columns of the books that are there already."""
    connection, after = op.get_bind(), "00000000-0000-0000-0000-000000000000"
    while books := connection.execute(_SELECT, {"after": after, "limit": _AT_ONCE}).all():
        values = [
            {
                "id": book.id,
                "folded_title": folded(book.title or ""),
                "name_keys": name_keys(Metadata(book.title, tuple(book.authors), year=book.year)),
            }
            for book in books
        ]
        connection.execute(_UPDATE, values)
        after = books[-1].id
