"""Suites may differ in their samples alone; a library without books starts with samples of letters."""

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.drop_index("uq_suites_state", "suites")
    op.drop_constraint("pk_suites", "suites")
    op.create_primary_key("pk_suites", "suites", ["state"])
    op.execute("UPDATE suites SET sample = 'char20-sample256-v1' WHERE NOT EXISTS (SELECT FROM books)")


def downgrade() -> None:
    op.execute("DELETE FROM suites WHERE state = 'building' OR sample <> 'word5-sample128-v1'")
    op.execute(
        "INSERT INTO suites"
        " SELECT 'gap-simhash128-v1', 'word5-minhash128-v1', 'word5-sample128-v1', 'serving'"
        " WHERE NOT EXISTS (SELECT FROM suites)"
    )
    op.drop_constraint("pk_suites", "suites")
    op.create_primary_key("pk_suites", "suites", ["fingerprint"])
    op.create_index("uq_suites_state", "suites", ["state"], unique=True)
