"""Jobs that index one book are no more: relating it does that, or the next reconciliation."""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute("DELETE FROM procrastinate_jobs WHERE task_name = 'index_book'")


def downgrade() -> None:
    pass
