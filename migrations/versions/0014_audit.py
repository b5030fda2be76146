"""The audit log, to which lines are only ever added, and the authors of decisions."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TIMESTAMP

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("sequence", sa.BigInteger, sa.Identity(always=True), nullable=False),
        sa.Column("at", TIMESTAMP(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("key_id", sa.Uuid),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("address", sa.Text),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("object_id", sa.Uuid, nullable=False),
        sa.Column("other_id", sa.Uuid),
        sa.PrimaryKeyConstraint("sequence", name="pk_audit"),
    )
    op.create_index("ix_audit_at", "audit", ["at"], postgresql_using="brin")
    op.create_index(
        "ix_audit_action_sequence",
        "audit",
        ["action", "sequence"],
        postgresql_where=sa.text("action <> 'book.created'"),
    )
    op.create_index("ix_audit_object_id", "audit", ["object_id"])
    for column in ("key_id", "other_id"):
        op.create_index(
            f"ix_audit_{column}",
            "audit",
            [column],
            postgresql_where=sa.text(f"{column} IS NOT NULL"),
        )
    # Without the name of an age the comparison is null, and nothing is deleted.
    op.execute("""
        CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            kept_for interval := nullif(current_setting('bookprint.audit_kept_for', true), '');
        BEGIN
            IF TG_OP = 'DELETE' THEN
                IF OLD.at < now() - kept_for THEN
                    RETURN OLD;
                END IF;
            END IF;
            RAISE EXCEPTION 'Entries of the audit log are neither changed nor deleted before their time.';
        END
        $$
    """)
    op.execute("""
        CREATE TRIGGER refuse_audit_change BEFORE UPDATE OR DELETE ON audit
        FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()
    """)
    op.execute("""
        CREATE TRIGGER refuse_audit_truncation BEFORE TRUNCATE ON audit
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()
    """)
    op.add_column("decisions", sa.Column("decided_by", sa.Text))


def downgrade() -> None:
    op.drop_column("decisions", "decided_by")
    op.drop_table("audit")
    op.execute("DROP FUNCTION refuse_audit_change")
