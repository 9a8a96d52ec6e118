"""When each tenant was last served, where uploads wait and where comparisons and audits do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The table stands; workers of the version before, which take what they are rung for, need none."""
    op.create_table(
        "turns",
        sa.Column("desk", sa.String(16), primary_key=True),
        sa.Column("tenant", sa.String(64), primary_key=True),
        sa.Column("served_at", sa.TIMESTAMP(timezone=True), nullable=False),
    )
    op.create_index(
        "ix_dataset_versions_work",
        "dataset_versions",
        ["state"],
        postgresql_where=sa.text("state IN ('queued', 'validating')"),
    )


def downgrade() -> None:
    """Refused, as all are: without it nobody would know whose turn it is."""
    raise RuntimeError("the turns of tenants cannot be taken back; every claim of an upload is found by them")
