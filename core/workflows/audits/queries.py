"""What callers may see of audits: figures are exact decimals, as everywhere."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from typing import Any

from core.audits import repository, service
from core.audits.models import Audit as Row
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger.amounts import delta_cost, epsilon_cost
from core.settings import Settings
from core.workflows.audits.plans import advised_runs
from core.workflows.common import paging
from core.workflows.common.context import Services
from graphveil.amounts import format_delta, format_epsilon
from graphveil.models.audits import Audit, AuditControl, AuditProgress, AuditResult, Audits

ROLES = (Role.REQUESTER, Role.CURATOR, Role.AUDITOR)

_DIGITS = Decimal("0.0001")


def get_audit(services: Services, principal: Principal, audit_id: str) -> Audit:
    """Return the tenant's audit; NotFound otherwise."""
    require(principal, *ROLES)
    with services.db.transaction() as session:
        return view(service.get(session, tenant=principal.tenant, audit_id=audit_id), services.settings)


def list_audits(
    services: Services, principal: Principal, cursor: str | None = None, limit: int | None = None
) -> Audits:
    """One page of the tenant's audits, newest first. InvalidInput: bad cursor or limit."""
    require(principal, *ROLES)
    page = paging.paged(services, principal, "audits", cursor, limit)
    with services.db.transaction() as session:
        rows = repository.page(session, tenant=principal.tenant, before=page.before, limit=page.size + 1)
    shown, more = page.cut(rows, paging.by_age)
    return Audits(items=[view(row, services.settings) for row in shown], next_cursor=more)


def view(row: Row, settings: Settings) -> Audit:
    """Show the audit as its callers see it."""
    request = row.request
    return Audit(
        id=row.id,
        method=row.method,
        parameters=row.spec["params"],
        unit=request["unit"],
        window=request["window"],
        epsilon=format_epsilon(epsilon_cost(request["epsilon"])),
        delta=format_delta(delta_cost(request["delta"])),
        runs=row.spec["runs"],
        advised_runs=advised_runs(row.method, epsilon_cost(request["epsilon"]), settings),
        state=row.state,
        reason=row.reason,
        progress=None
        if row.stage is None
        else AuditProgress(stage=row.stage, done=row.done, total=row.total),
        result=None if row.result is None else _result(row.result),
        requested_by=row.requested_by,
        created_at=row.created_at,
        finished_at=row.finished_at,
    )


def _result(found: dict[str, Any]) -> AuditResult:
    control = found["control"]
    return AuditResult(
        epsilon=format_epsilon(found["nano_epsilon"]),
        delta=format_delta(found["delta_atto"]),
        runs=found["runs"],
        confidence=str(Decimal(str(found["confidence"]))),
        lower_bound=_below(found["lower_bound"]),
        event=found["event"],
        passed=found["passed"],
        control=AuditControl(lower_bound=_below(control["lower_bound"]), caught=control["caught"]),
        verdict=found["verdict"],
    )


def _below(bound: float) -> str:
    """Four decimals, rounded down: still a lower bound."""
    return str(Decimal(bound).quantize(_DIGITS, ROUND_FLOOR))
