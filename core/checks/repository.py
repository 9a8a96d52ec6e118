"""The SQL of the checks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import case, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.checks.models import InvariantCheck


def record(
    session: Session, invariant: str, *, seconds: float, violations: int, findings: Sequence[dict[str, Any]]
) -> None:
    """Record the invariant's last check, at PostgreSQL's time. ``failing_since`` stays while it fails."""
    now = func.statement_timestamp()  # one moment, however often the statement names it
    values = {
        "checked_at": now,
        "seconds": seconds,
        "violations": violations,
        "findings": list(findings),
        "failing_since": now if violations else None,
    }
    statement = insert(InvariantCheck).values(invariant=invariant, **values)
    # The first failure stays until the check holds again.
    since = func.coalesce(InvariantCheck.failing_since, statement.excluded.failing_since)
    statement = statement.on_conflict_do_update(
        index_elements=["invariant"],
        set_={
            **{
                name: statement.excluded[name] for name in ("checked_at", "seconds", "violations", "findings")
            },
            "failing_since": case((statement.excluded.violations > 0, since), else_=None),
        },
    )
    session.execute(statement)


def all_checks(session: Session) -> tuple[dict[str, InvariantCheck], datetime]:
    """Load the last check of each invariant by name. PostgreSQL's time comes too."""
    rows = session.scalars(select(InvariantCheck), execution_options={"populate_existing": True})
    checks = {row.invariant: row for row in rows}
    return checks, session.execute(select(func.clock_timestamp())).scalar_one()
