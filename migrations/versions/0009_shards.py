"""Releases in shards: datasets whose edges stay in parts, fitted jobs, and what of each shard is drawn."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No dataset is in parts yet, and no job in shards; the version before makes none and sees none."""
    op.add_column("datasets", sa.Column("in_parts", sa.Boolean(), server_default="false", nullable=False))
    op.add_column("jobs", sa.Column("fitted_attempt", sa.Integer()))
    op.add_column("jobs", sa.Column("shards", sa.Integer()))
    op.create_table(
        "shards",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("job_id", sa.String(64), sa.ForeignKey("jobs.id", ondelete="RESTRICT"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempt_limit", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(64)),
        sa.Column("size_bytes", sa.BigInteger()),
        sa.Column("rows", sa.BigInteger()),
        sa.Column("first_source", sa.BigInteger()),
        sa.Column("last_source", sa.BigInteger()),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True)),
        sa.Column("leased_by", sa.String(128)),
        sa.UniqueConstraint("job_id", "number"),
    )
    op.create_index("ix_shards_state_lease", "shards", ["state", "lease_expires_at"])


def downgrade() -> None:
    """Refused: a job whose shards are drawn was paid for, and could not end."""
    raise RuntimeError("shards cannot be taken back; jobs under way are drawn in them")
