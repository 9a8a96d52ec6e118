"""What operators watch, read at one moment. PostgreSQL has it: budgets, work, counts, the last checks."""

from __future__ import annotations

from dataclasses import dataclass

from core.checks import repository as checks
from core.workflows.common.context import Services
from core.workflows.ledger import head_exports
from core.workflows.ledger.invariants.run import promises
from core.workflows.operations import gauges_budgets, gauges_work
from core.workflows.operations.gauges_budgets import BudgetGauges
from core.workflows.operations.gauges_totals import Counts, Totals
from core.workflows.operations.gauges_work import WorkGauges


@dataclass(frozen=True)
class CheckGauge:
    """One invariant's last check. ``checked_at`` is in seconds since 1970, None where it was never made."""

    invariant: str
    checked_at: float | None
    violations: int


@dataclass(frozen=True)
class Gauges:
    """The service at one moment. ``job_wall_seconds``: how long a job may run, by the settings."""

    job_wall_seconds: float
    budgets: BudgetGauges
    work: WorkGauges
    totals: Counts
    checks: tuple[CheckGauge, ...]


def read_gauges(services: Services, totals: Totals | None = None) -> Gauges:
    """Read one snapshot of the database. Counts continue from what ``totals`` remembers of earlier
    readings."""
    settings = services.settings
    with services.db.transaction() as session:
        # One moment for all figures, so that sums over them hold.
        head_exports.snapshot(session)
        made, _ = checks.all_checks(session)
        found = [(promise.name, made.get(promise.name)) for promise in promises(services)]
        return Gauges(
            job_wall_seconds=settings.job_wall_seconds,
            budgets=gauges_budgets.read(session, settings.max_exported_accounts),
            work=gauges_work.read(session, settings.lease_seconds),
            totals=(totals or Totals()).read(session),
            checks=tuple(
                CheckGauge(name, None, 0)
                if check is None
                else CheckGauge(name, check.checked_at.timestamp(), check.violations)
                for name, check in found
            ),
        )
