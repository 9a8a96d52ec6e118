"""Indexes by which the job whose turn it is, and how many jobs a tenant has open, are found at once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_jobs_open": (
        ("tenant", "requested_by"),
        "state IN ('awaiting_approval', 'queued', 'running', 'publishing', 'cancelling')",
    ),
    "ix_jobs_leased": (("tenant",), "state IN ('running', 'publishing', 'cancelling')"),
    "ix_jobs_paid_queued": (("tenant", "created_at"), "state = 'queued' AND sample_of IS NULL"),
    "ix_jobs_samples_queued": (("tenant", "created_at"), "state = 'queued' AND sample_of IS NOT NULL"),
    "ix_jobs_tenant_started": (("tenant", "started_at"), "started_at IS NOT NULL"),
}


def upgrade() -> None:
    """The indexes stand; workers of the version before, which take what they are rung for, need none."""
    for name, (columns, where) in INDEXES.items():
        op.create_index(name, "jobs", list(columns), postgresql_where=sa.text(where))


def downgrade() -> None:
    """Refused, as all are: without them each claim would read every job that waits."""
    raise RuntimeError("the indexes of turns cannot be taken back; every claim is found by them")
