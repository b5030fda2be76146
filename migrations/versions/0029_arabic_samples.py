"""A library without books starts with samples in which Arabic letters of one shape are one."""

from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.execute("UPDATE suites SET sample = 'char20-sample256-v2' WHERE NOT EXISTS (SELECT FROM books)")


def downgrade() -> None:
    op.execute("UPDATE suites SET sample = 'char20-sample256-v1' WHERE NOT EXISTS (SELECT FROM books)")
