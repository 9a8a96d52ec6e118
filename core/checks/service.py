"""What the last checks say of the ledger's health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import Session

from core.checks import repository

FINDINGS_KEPT = 20
STALE_POLLS = 3


class Health(StrEnum):
    """VIOLATED: found broken. STALE: not looked at for three polls, or never. INTACT: found whole, lately."""

    INTACT = "intact"
    VIOLATED = "violated"
    STALE = "stale"


@dataclass(frozen=True)
class CheckResult:
    """One promise as it was last found. ``findings`` are at most those that were kept, of all tenants."""

    invariant: str
    promise: str
    health: Health
    checked_at: datetime | None = None
    age_seconds: float | None = None
    seconds: float | None = None
    violations: int | None = None
    failing_since: datetime | None = None
    findings: tuple[dict[str, Any], ...] = ()


def record(
    session: Session, invariant: str, *, seconds: float, violations: int, findings: Sequence[dict[str, Any]]
) -> None:
    """Keep the check's result, with its first findings."""
    repository.record(
        session, invariant, seconds=seconds, violations=violations, findings=findings[:FINDINGS_KEPT]
    )


def results(session: Session, promises: Sequence[tuple[str, str]], poll_seconds: float) -> list[CheckResult]:
    """Report the last check of each promise (name, sentence), in that order, and of no other."""
    checks, now = repository.all_checks(session)
    told = []
    for name, sentence in promises:
        row = checks.get(name)
        if row is None:
            told.append(CheckResult(name, sentence, Health.STALE))
            continue
        age = (now - row.checked_at).total_seconds()
        health = Health.STALE if age > STALE_POLLS * poll_seconds else Health.INTACT
        told.append(
            CheckResult(
                name,
                sentence,
                Health.VIOLATED if row.violations else health,
                row.checked_at,
                age,
                row.seconds,
                row.violations,
                row.failing_since,
                tuple(row.findings),
            )
        )
    return told


def overall(results: Sequence[CheckResult]) -> Health:
    """Find the worst of them: violated before stale before intact."""
    found = {result.health for result in results}
    return next(health for health in (Health.VIOLATED, Health.STALE, Health.INTACT) if health in found)
