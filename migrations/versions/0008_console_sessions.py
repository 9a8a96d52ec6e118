"""Sessions of the console."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The table stands; the version before, which has no console, never looks at it."""
    op.create_table(
        "console_sessions",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("token_hash", sa.LargeBinary(32), nullable=False, unique=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("key_id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("person", sa.String(128), nullable=False),
        sa.Column("team", sa.String(64)),
        sa.Column("roles", sa.ARRAY(sa.String(16)), nullable=False),
        sa.Column("created_at", sa.TIMESTAMP(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("seen_at", sa.TIMESTAMP(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.Column("ends_at", sa.TIMESTAMP(timezone=True), nullable=False),
    )
    op.create_index("ix_console_sessions_tenant", "console_sessions", ["tenant", "created_at"])
    op.create_index("ix_console_sessions_key_id", "console_sessions", ["key_id"])
    op.create_index("ix_console_sessions_ends_at", "console_sessions", ["ends_at"])


def downgrade() -> None:
    """Refused, as all are: whoever is signed in would be signed out, and nobody could sign in."""
    raise RuntimeError("the sessions of the console cannot be taken back")
