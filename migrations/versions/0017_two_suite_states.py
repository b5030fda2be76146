"""Suites serve or are being built; those that have served before, and those that were being dropped, go.

Their indexes leave Redis when the index is next compared with the catalogue.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.execute("DELETE FROM suites WHERE state IN ('retired', 'closing')")
    op.drop_index("uq_suites_state", "suites")
    op.create_index("uq_suites_state", "suites", ["state"], unique=True)


def downgrade() -> None:
    op.drop_index("uq_suites_state", "suites")
    op.create_index(
        "uq_suites_state", "suites", ["state"], unique=True, postgresql_where=sa.text("state <> 'retired'")
    )
