"""Books, their signatures and texts, and the job queue's own tables."""

import sqlalchemy as sa
from alembic import op
from procrastinate.schema import SchemaManager
from sqlalchemy.dialects.postgresql import ARRAY, TIMESTAMP

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.execute(sa.schema.CreateSequence(sa.Sequence("entry_ids")))
    op.create_table(
        "books",
        sa.Column("id", sa.Uuid, primary_key=True),
        sa.Column("entry_id", sa.BigInteger, nullable=False, server_default=sa.text("nextval('entry_ids')")),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sa.Column("content_key", sa.LargeBinary, nullable=False),
        sa.Column("external_id", sa.Text),
        sa.Column("title", sa.Text),
        sa.Column("title_words", ARRAY(sa.Text), nullable=False, server_default="{}"),
        sa.Column("authors", ARRAY(sa.Text), nullable=False, server_default="{}"),
        sa.Column("language", sa.Text),
        sa.Column("year", sa.Integer),
        sa.Column("volume", sa.Text),
        sa.Column("identifiers", ARRAY(sa.Text), nullable=False, server_default="{}"),
        sa.Column("page_count", sa.Integer),
        sa.Column("word_count", sa.Integer, nullable=False),
        sa.Column("character_count", sa.BigInteger, nullable=False),
        sa.Column("indexed_at", TIMESTAMP(timezone=True)),
        sa.Column("created_at", TIMESTAMP(timezone=True), nullable=False, server_default=sa.func.now()),
        sa.Column("updated_at", TIMESTAMP(timezone=True), nullable=False, server_default=sa.func.now()),
        sa.PrimaryKeyConstraint("id", name="pk_books"),
        sa.UniqueConstraint("entry_id", name="uq_books_entry_id"),
        sa.UniqueConstraint("external_id", name="uq_books_external_id"),
    )
    op.create_index(
        "uq_books_content_key",
        "books",
        ["content_key"],
        unique=True,
        postgresql_where=sa.text("external_id IS NULL"),
    )
    op.create_index("ix_books_identifiers", "books", ["identifiers"], postgresql_using="gin")
    op.create_index("ix_books_title_words", "books", ["title_words"], postgresql_using="gin")
    op.create_index("ix_books_pending", "books", ["entry_id"], postgresql_where=sa.text("indexed_at IS NULL"))
    op.create_table(
        "signatures",
        sa.Column("entry_id", sa.BigInteger, nullable=False),
        sa.Column("recipe", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("shingle_count", sa.Integer),
        sa.Column("unit", sa.Text),
        sa.PrimaryKeyConstraint("entry_id", "recipe", name="pk_signatures"),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["books.entry_id"], name="fk_signatures_entry_id", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "texts",
        sa.Column("entry_id", sa.BigInteger, nullable=False),
        sa.Column("codec", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("entry_id", name="pk_texts"),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["books.entry_id"], name="fk_texts_entry_id", ondelete="CASCADE"
        ),
    )
    # Signatures look random and texts are compressed: Postgres would only try in vain to shrink them.
    op.execute("ALTER TABLE signatures ALTER COLUMN data SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE texts ALTER COLUMN data SET STORAGE EXTERNAL")
    # The driver's own cursor: the script holds many statements, and percent signs that are not parameters.
    with op.get_bind().connection.cursor() as cursor:
        cursor.execute(SchemaManager.get_schema())


def downgrade() -> None:
    raise NotImplementedError("The first migration creates the catalogue; drop the database to undo it.")
