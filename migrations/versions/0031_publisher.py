"""A book may have a publisher."""

from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    op.execute("ALTER TABLE books ADD COLUMN IF NOT EXISTS publisher text")


def downgrade() -> None:
    op.drop_column("books", "publisher")
