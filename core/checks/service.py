"""What the last checks say of the ledger's health."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from core.checks import repository
from graphveil.models.checks import Finding, PromiseHealth, Verdict

FINDINGS_KEPT = 20
STALE_POLLS = 3
WORST_FIRST: tuple[Verdict, ...] = ("violated", "stale", "intact")


def record(
    session: Session, invariant: str, *, seconds: float, violations: int, findings: Sequence[dict[str, Any]]
) -> None:
    """Keep the check's result, with its first findings."""
    repository.record(
        session, invariant, seconds=seconds, violations=violations, findings=findings[:FINDINGS_KEPT]
    )


def results(
    session: Session, promises: Sequence[tuple[str, str]], poll_seconds: float, tenant: str
) -> list[PromiseHealth]:
    """Report the last check of each promise. They are (name, sentence), in that order; the tenant's findings
    come too.

    Neither checks of other promises nor findings of other tenants are told.
    """
    checks, now = repository.all_checks(session)
    health = []
    for name, sentence in promises:
        row = checks.get(name)
        age = None if row is None else (now - row.checked_at).total_seconds()
        # A check that no longer runs says nothing of now, however well it ended.
        stale = age is None or age > STALE_POLLS * poll_seconds
        broken = row is not None and row.violations > 0
        health.append(
            PromiseHealth(
                invariant=name,
                promise=sentence,
                status="violated" if broken else "stale" if stale else "intact",
                checked_at=None if row is None else row.checked_at,
                age_seconds=age,
                violations=None if row is None else row.violations,
                failing_since=None if row is None else row.failing_since,
                findings=[
                    Finding(subject=finding["subject"], detail=finding["detail"])
                    for finding in ([] if row is None else row.findings)
                    if finding["tenant"] == tenant
                ],
            )
        )
    return health


def overall(results: Sequence[PromiseHealth]) -> Verdict:
    """Find the worst of them."""
    found = {result.status for result in results}
    return next(verdict for verdict in WORST_FIRST if verdict in found)
