"""API keys: their hashes, scopes, limits and terms."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("requests_per_minute", sa.Integer()),
        sa.Column("lookups_per_minute", sa.Integer()),
        sa.Column("bytes_per_minute", sa.BigInteger()),
        sa.Column("uploads_at_once", sa.Integer()),
        sa.Column(
            "created_at", postgresql.TIMESTAMP(timezone=True), server_default=sa.func.now(), nullable=False
        ),
        sa.Column("expires_at", postgresql.TIMESTAMP(timezone=True)),
        sa.Column("revoked_at", postgresql.TIMESTAMP(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.UniqueConstraint("hash", name="uq_keys_hash"),
    )


def downgrade() -> None:
    op.drop_table("keys")
