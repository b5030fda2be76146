"""The complete schema of `schema.py` and the tables of the job queue.

New libraries contain everything that later migrations add, so those migrations must check what exists.
"""

from alembic import op
from procrastinate.schema import SchemaManager

from app.stores.postgres.pairs.schema import metadata
from app.stores.postgres.schema import queued_jobs

revision = "0001"
down_revision = None


def upgrade() -> None:
    # Driver's own cursor: the script has many statements, and percent signs that are not parameters.
    with op.get_bind().connection.cursor() as cursor:
        cursor.execute(SchemaManager.get_schema())
    metadata.create_all(
        op.get_bind(),
        [table for table in metadata.sorted_tables if table is not queued_jobs],
        checkfirst=False,
    )
    # Signatures look random and texts are compressed, so Postgres could not shrink them.
    op.execute("ALTER TABLE signatures ALTER COLUMN data SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE signatures ALTER COLUMN places SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE texts ALTER COLUMN data SET STORAGE EXTERNAL")
    op.execute(
        "CREATE INDEX ix_relate_jobs ON procrastinate_jobs (CAST(args ->> 'entry_id' AS bigint)) "
        "WHERE task_name = 'relate' AND status <> 'succeeded'"
    )
    op.execute(
        "CREATE INDEX ix_failed_jobs ON procrastinate_jobs (task_name) "
        "WHERE status IN ('failed', 'cancelled', 'aborted')"
    )
    op.execute("CREATE INDEX ix_job_successes ON procrastinate_events (at) WHERE type = 'succeeded'")
    # If the setting is missing, the comparison is null and nothing is deleted.
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
