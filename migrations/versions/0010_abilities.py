"""What workers can do: only some have the libraries that learned methods need."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The table stands empty, which says nothing of any worker; the version before tells and asks nothing."""
    op.create_table(
        "worker_abilities",
        sa.Column("worker", sa.String(128), primary_key=True),
        sa.Column("abilities", sa.ARRAY(sa.String(96)), nullable=False),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    """Refused, as all are: a worker of the version before claims jobs that it cannot do."""
    raise RuntimeError("what workers can do cannot be taken back: any would claim what needs a library")
