"""Books keep the MARC records that their catalogues sent."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "marc_records",
        sa.Column("book_id", sa.Uuid, nullable=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("changed", ARRAY(sa.Text), nullable=False, server_default="{}"),
        sa.PrimaryKeyConstraint("book_id", name="pk_marc_records"),
        sa.ForeignKeyConstraint(
            ["book_id"], ["books.id"], name="fk_marc_records_book_id", ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    op.drop_table("marc_records")
