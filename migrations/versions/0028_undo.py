"""What each opinion came instead of, so that to undo it restores that; and indexes by book and author."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"

_BEFORE = ("verdict_before", "kind_before", "name_before")


def upgrade() -> None:
    for name in ("left_entry", "right_entry", "before", "ended_by"):
        op.add_column("opinions", sa.Column(name, sa.BigInteger))
    op.execute(
        """
        UPDATE opinions SET before = (
            SELECT max(e.sequence) FROM opinions e
            WHERE (e.left_id, e.right_id) = (opinions.left_id, opinions.right_id)
                AND e.sequence < opinions.sequence AND e.outcome = 'counts'
                AND (e.verdict, e.kind, e.name) IS NOT DISTINCT FROM
                    (opinions.verdict_before, opinions.kind_before, opinions.name_before)
        )
        WHERE verdict_before IS NOT NULL
        """
    )
    # What earlier opinions on a pair judged is not known better than by the decision that stands.
    op.execute(
        """
        UPDATE opinions SET left_entry = decisions.left_entry, right_entry = decisions.right_entry
        FROM decisions
        WHERE (opinions.left_id, opinions.right_id) = (decisions.left_id, decisions.right_id)
        """
    )
    for name in _BEFORE:
        op.drop_column("opinions", name)
    op.create_index("ix_opinions_right_id", "opinions", ["right_id"])
    op.create_index("ix_opinions_author_sequence", "opinions", ["author", "sequence"])


def downgrade() -> None:
    op.drop_index("ix_opinions_author_sequence")
    op.drop_index("ix_opinions_right_id")
    for name in _BEFORE:
        op.add_column("opinions", sa.Column(name, sa.Text))
    op.execute(
        """
        UPDATE opinions SET verdict_before = e.verdict, kind_before = e.kind, name_before = e.name
        FROM opinions e WHERE e.sequence = opinions.before
        """
    )
    for name in ("left_entry", "right_entry", "before", "ended_by"):
        op.drop_column("opinions", name)
