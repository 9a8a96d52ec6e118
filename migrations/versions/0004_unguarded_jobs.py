"""An index of the jobs that opened their graph without a guarantee: each has to have exposed its account."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The index stands; workers of the version before need not know it."""
    op.create_index(
        "ix_jobs_unguarded",
        "jobs",
        ["id"],
        postgresql_where=sa.text(
            "spec ->> 'kind' = 'none' AND first_read_at IS NOT NULL AND sample_of IS NULL"
        ),
    )


def downgrade() -> None:
    """Refused, as of every revision: which accounts are exposed is found by it."""
    raise RuntimeError("the index of unguarded jobs cannot be taken back; exposures are found by it")
