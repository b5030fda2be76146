"""The feed of changes, and the webhooks that it is delivered to."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP
from sqlalchemy.schema import SchemaItem

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "unnumbered_changes",
        sa.Column("sequence", sa.BigInteger, sa.Identity(always=True), nullable=False),
        _moment("at", nullable=False, server_default=sa.func.clock_timestamp()),
        *_change(),
        sa.PrimaryKeyConstraint("sequence", name="pk_unnumbered_changes"),
    )
    op.create_table(
        "changes",
        sa.Column("position", sa.BigInteger, autoincrement=False, nullable=False),
        _moment("at", nullable=False),
        *_change(),
        sa.PrimaryKeyConstraint("position", name="pk_changes"),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Uuid, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("types", ARRAY(sa.Text)),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("former_secret", sa.Text),
        _moment("former_until"),
        sa.Column("position", sa.BigInteger, nullable=False),
        _moment("created_at", nullable=False, server_default=sa.func.now()),
        _moment("claimed_until"),
        sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
        _moment("failing_since"),
        _moment("next_try_at"),
        sa.Column("last_error", sa.Text),
        _moment("disabled_at"),
        sa.Column("disabled_because", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
    )


def downgrade() -> None:
    for name in ("webhooks", "changes", "unnumbered_changes"):
        op.drop_table(name)


def _change() -> list[SchemaItem]:
    return [
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("book_id", sa.Uuid, nullable=False),
        sa.Column("other_id", sa.Uuid),
        sa.Column("data", JSONB, nullable=False),
    ]


def _moment(name: str, **options: object) -> sa.Column[object]:
    return sa.Column(name, TIMESTAMP(timezone=True), **options)
