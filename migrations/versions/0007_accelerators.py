"""Which jobs gain from a GPU, which of them only a worker that holds one may claim, and who holds which."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The columns and the table stand; the version before, which routes nothing, leaves both as they are."""
    op.add_column("jobs", sa.Column("accelerator", sa.String(8), nullable=False, server_default="none"))
    op.add_column("jobs", sa.Column("gpu_only", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index(
        "ix_jobs_gpu_queued",
        "jobs",
        ["tenant", "created_at"],
        postgresql_where=sa.text("state = 'queued' AND gpu_only"),
    )
    op.create_table(
        "held_gpus",
        sa.Column("uuid", sa.String(96), primary_key=True),
        sa.Column("host", sa.String(64), nullable=False),
        sa.Column("worker", sa.String(128), nullable=False),
        sa.Column("lease_expires_at", sa.TIMESTAMP(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Refused, as all are: a job that only a GPU's worker may run would be run by any."""
    raise RuntimeError("what only a GPU's worker may run cannot be taken back: any worker would claim it")
