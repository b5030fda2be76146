"""Why jobs failed, and the indexes that make looking after the queue cheap."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "job_failures",
        sa.Column("job_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("deaths", sa.Integer, nullable=False, server_default="0"),
        sa.Column("failed_at", TIMESTAMP(timezone=True), nullable=False, server_default=sa.func.now()),
        sa.ForeignKeyConstraint(
            ["job_id"], ["procrastinate_jobs.id"], name="fk_job_failures_job_id", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "failure_counts",
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("tries", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("task", name="pk_failure_counts"),
    )
    op.execute(
        "CREATE INDEX ix_failed_jobs ON procrastinate_jobs (task_name) "
        "WHERE status IN ('failed', 'cancelled', 'aborted')"
    )
    op.execute("CREATE INDEX ix_job_successes ON procrastinate_events (at) WHERE type = 'succeeded'")


def downgrade() -> None:
    op.drop_index("ix_job_successes", "procrastinate_events")
    op.drop_index("ix_failed_jobs", "procrastinate_jobs")
    op.drop_table("failure_counts")
    op.drop_table("job_failures")
