"""Webhooks that are catalogues: which one stands at an address, and its sealed token."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Both are null for every webhook so far, which are told events; the version before writes neither."""
    op.add_column("webhook_endpoints", sa.Column("catalogue", sa.String(32)))
    op.add_column("webhook_endpoints", sa.Column("token", sa.LargeBinary()))


def downgrade() -> None:
    """Refused, as all are: the version before would tell events to catalogues."""
    raise RuntimeError("catalogues cannot be taken back: they would be told events that are none of theirs")
