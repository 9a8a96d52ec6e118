"""From an audit's row to what the schemas show: figures become exact decimals."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from typing import Any

from core.audits.models import Audit
from core.ledger.amounts import delta_cost, epsilon_cost, format_delta, format_epsilon

_DIGITS = Decimal("0.0001")


def audit_view(audit: Audit) -> dict[str, Any]:
    """The audit as its callers see it."""
    names = ("id", "method", "state", "reason", "requested_by", "created_at", "finished_at")
    request = audit.request
    progress = {"stage": audit.stage, "done": audit.done, "total": audit.total}
    return {
        **{name: getattr(audit, name) for name in names},
        "parameters": audit.spec["params"],
        "unit": request["unit"],
        "window": request["window"],
        "epsilon": format_epsilon(epsilon_cost(request["epsilon"])),
        "delta": format_delta(delta_cost(request["delta"])),
        "runs": audit.spec["runs"],
        "progress": None if audit.stage is None else progress,
        "result": None if audit.result is None else _result(audit.result),
    }


def _result(found: dict[str, Any]) -> dict[str, Any]:
    control = found["control"]
    return {
        "epsilon": format_epsilon(found["nano_epsilon"]),
        "delta": format_delta(found["delta_atto"]),
        "runs": found["runs"],
        "confidence": str(Decimal(str(found["confidence"]))),
        "lower_bound": _below(found["lower_bound"]),
        "event": found["event"],
        "passed": found["passed"],
        "control": {"lower_bound": _below(control["lower_bound"]), "caught": control["caught"]},
        "verdict": found["verdict"],
    }


def _below(bound: float) -> str:
    """Four decimals, rounded down: still a lower bound."""
    return str(Decimal(bound).quantize(_DIGITS, ROUND_FLOOR))
