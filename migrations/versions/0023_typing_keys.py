"""Books are found by short titles that were typed with errors."""

import sqlalchemy as sa
from alembic import op

from app.core.model import Metadata
from app.core.text.names import name_keys

revision = "0023"
down_revision = "0022"

_AT_ONCE = 2_000

_SELECT = sa.text("""
    SELECT id, title, authors, year FROM books
    WHERE id > :after AND title IS NOT NULL ORDER BY id LIMIT :limit
""")
_UPDATE = sa.text("UPDATE books SET name_keys = :name_keys WHERE id = :id")


def upgrade() -> None:
    connection, after = op.get_bind(), "00000000-0000-0000-0000-000000000000"
    while books := connection.execute(_SELECT, {"after": after, "limit": _AT_ONCE}).all():
        values = [
            {
                "id": book.id,
                "name_keys": name_keys(Metadata(book.title, tuple(book.authors), year=book.year)),
            }
            for book in books
        ]
        connection.execute(_UPDATE, values)
        after = books[-1].id


def downgrade() -> None:
    """Nobody looks for the keys that are left."""
