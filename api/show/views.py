"""From what the workflows return to what the schemas show, where the names differ."""

from __future__ import annotations

from typing import Any

from core.ledger.amounts import format_delta, format_epsilon
from core.workflows.jobs.submit import DryRun


def plan_view(dry_run: DryRun) -> dict[str, Any]:
    """The plan, its cost, and the account as it would stand."""
    cost = dry_run.cost
    nano = cost.nano_epsilon
    unbounded = cost.kind == "none"
    return {
        "method": dry_run.method,
        "chosen_because": None if dry_run.choice is None else dry_run.choice.reason,
        "parameters": dry_run.parameters,
        "unit": dry_run.unit,
        "window": dry_run.window,
        "edge_types": dry_run.edge_types,
        "cost": {
            "kind": cost.kind,
            "epsilon": None if nano is None else format_epsilon(nano),
            "delta": None if unbounded else format_delta(cost.delta_atto),
        },
        "amounts": dry_run.amounts,
        "allotments": dry_run.allotments,
        "plan_digest": dry_run.plan_digest,
        "budget_after": dry_run.statement_after,
        "quotas_after": list(dry_run.quotas_after),
        "needs_approval": dry_run.needs_approval,
        "least_epsilon": dry_run.least_epsilon,
        "warnings": list(dry_run.warnings),
        "identical_to": dry_run.identical_to,
    }
