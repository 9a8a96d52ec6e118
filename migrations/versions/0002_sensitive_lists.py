"""Lists of sensitive links: what a curator named, which version they were checked against, where they lie."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The table stands, empty: no dataset has a list yet."""
    op.create_table(
        "sensitive_lists",
        sa.Column("id", sa.String(64), primary_key=True),
        _reference("dataset_id", "datasets", index=True),
        _reference("version_id", "dataset_versions"),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("format", sa.String(32), nullable=False),
        sa.Column("options", JSONB(), nullable=False),
        sa.Column("object_key", sa.String(256)),
        sa.Column("counts", JSONB()),
        sa.Column("message", sa.String(512)),
        sa.Column("findings", JSONB()),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True)),
        sa.Column("leased_by", sa.String(128)),
    )


def downgrade() -> None:
    """Refused: what a release was made with is part of its record."""
    raise RuntimeError("sensitive lists cannot be taken back; jobs and releases refer to them")


def _reference(name: str, target: str, *, index: bool = False) -> sa.Column:
    key = sa.ForeignKey(f"{target}.id", ondelete="RESTRICT")
    return sa.Column(name, sa.String(64), key, nullable=False, index=index)
