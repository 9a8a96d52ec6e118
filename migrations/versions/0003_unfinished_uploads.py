"""A view of the uploads that are not validated yet: for who scales validators, and may see no dataset."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One row an upload: its state, and nothing by which it could be told from another."""
    op.execute("""
        CREATE VIEW unfinished_uploads AS
        SELECT state FROM dataset_versions WHERE state IN ('queued', 'validating')
        UNION ALL
        SELECT CASE state WHEN 'checking' THEN 'validating' ELSE state END FROM sensitive_lists
        WHERE state IN ('queued', 'checking')
    """)


def downgrade() -> None:
    """Refused, as all are: who scales by the view would see nothing that waits."""
    raise RuntimeError("the view of unfinished uploads cannot be taken back")
