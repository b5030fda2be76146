"""An index of digests, which are stored as signatures."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_index(
        "ix_signatures_recipe_data",
        "signatures",
        ["recipe", "data"],
        postgresql_where=sa.text("recipe IN ('md5-text', 'textprofile-md5-v1')"),
    )


def downgrade() -> None:
    op.drop_index("ix_signatures_recipe_data", "signatures")
    op.execute("DELETE FROM signatures WHERE recipe IN ('md5-text', 'textprofile-md5-v1')")
