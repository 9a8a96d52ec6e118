"""Which tables of the engine's catalogue were made of a release, and their snapshots."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Null for every job so far, and for those that the version before publishes, whose files name them."""
    op.add_column("jobs", sa.Column("tables", JSONB()))


def downgrade() -> None:
    """Refused, as all are: what is told of tables would be lost."""
    raise RuntimeError("what is told of tables cannot be taken back")
