"""Audits: requested, and run under a lease. They touch no dataset and cost no budget."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy.orm import Session

from core import ids
from core.audits import repository, service
from core.audits.models import AUDITS, Audit, AuditReason, AuditState
from core.audits.result import AuditResult
from core.errors import Conflict, InvalidInput
from core.identity.service import Principal, require
from core.jobs import idempotency
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.privacy.accounting.audited import AuditSpec
from core.privacy.accounting.plan import PrivacyPlan
from core.settings import Settings
from core.work import leases
from core.work import service as work
from core.workflows.audits import queries
from core.workflows.audits.plans import AuditRequest, planned
from core.workflows.common.context import Services
from core.workflows.jobs import abilities
from graphveil.models.audits import Audit as View

__all__ = ["AuditRequest"]

MAX_RESULT_BYTES = 2**20


@dataclass(frozen=True)
class AuditWork:
    """An audit under one attempt. The attempt is the fencing token of everything that is done for it."""

    audit_id: str
    attempt: int
    spec: dict[str, Any]


def submit_audit(
    services: Services, principal: Principal, request: AuditRequest, idempotency_key: str | None
) -> tuple[View, bool]:
    """Queue the audit. True when an earlier call with this key did it.

    Raises IdempotencyKeyMissing, IdempotencyKeyReused, what :func:`planned` raises, WorkerMissing, and
    Conflict while the tenant has as many unfinished audits as the settings allow.
    """
    require(principal, *queries.ROLES)
    key = idempotency.checked_key(idempotency_key)
    content = request.model_dump(mode="json")
    digest = idempotency.payload_hash(content)
    with services.db.transaction() as session:
        # Of two at once the second finds the first's audit, and counts it against the limit.
        repository.lock_tenant(session, tenant=principal.tenant)
        earlier = service.earlier(session, tenant=principal.tenant, key=key, digest=digest)
        if earlier is not None:
            return queries.view(earlier, services.settings), True
        spec = planned(request, services.settings)
        # Before it is queued: what no worker can do would wait for good.
        abilities.OfWorkers(session).require_audit(spec.method)
        limit = services.settings.max_open_audits
        if repository.count_open(session, tenant=principal.tenant) >= limit:
            raise Conflict(f"{limit} audits are unfinished; wait until one has ended.")
        audit = Audit(
            id=ids.new_id(ids.AUDIT),
            tenant=principal.tenant,
            method=spec.method,
            request=content,
            spec=spec.model_dump(mode="json"),
            state=AuditState.QUEUED,
            idempotency_key=key,
            payload_hash=digest,
            requested_by=principal.key_id,
            done=0,
            total=0,
        )
        session.add(audit)
        session.flush()
        outbox.ring(session, Topic.AUDIT, audit.id)
        session.refresh(audit)
        return queries.view(audit, services.settings), False


def begin_audit(services: Services, audit_id: str, worker: str) -> AuditWork | None:
    """Begin the audit under this worker's lease. None if it is not free, or needs what is not here."""
    with services.db.transaction() as session:
        fit = abilities.fit(Topic.AUDIT, Audit.id)
        row = work.begin(session, services.settings, AUDITS, audit_id, worker, fit=fit)
        if row is None:
            return None
        service.started(row)
        return AuditWork(audit_id, row.attempt, row.spec)


def record_progress(services: Services, held: AuditWork, *, stage: str, done: int, total: int) -> None:
    """Record how far the audit is, which callers see. LeaseLost, InvalidInput."""
    with services.db.transaction() as session:
        row = leases.hold(session, AUDITS, held.audit_id, attempt=held.attempt)
        service.advanced(row, stage=stage, done=done, total=total)


def finish_audit(services: Services, held: AuditWork, report: Path) -> None:
    """Store the result, which can be read. LeaseLost; InvalidInput for a file that is no result of this
    audit."""
    result = _checked(report, held)
    with services.db.transaction() as session:
        row = leases.hold(session, AUDITS, held.audit_id, attempt=held.attempt)
        service.finished(session, row, result)


def fail_audit(services: Services, held: AuditWork, reason: AuditReason) -> None:
    """End the audit without a result. LeaseLost."""
    with services.db.transaction() as session:
        row = leases.hold(session, AUDITS, held.audit_id, attempt=held.attempt)
        service.failed(session, row, reason)


def hand_back_audit(services: Services, held: AuditWork) -> None:
    """Let the audit wait for another worker. It has failed when no attempt is left. LeaseLost."""
    with services.db.transaction() as session:
        row = leases.hold(session, AUDITS, held.audit_id, attempt=held.attempt)
        take_back_audit(session, services.settings, row)


def take_back_audit(session: Session, settings: Settings, row: Audit) -> None:
    """As :func:`hand_back_audit`, of a locked row."""
    if row.attempt >= settings.max_attempts:
        service.failed(session, row, AuditReason.WORKER_LOST)
    else:
        work.queue_again(session, AUDITS, row)


def _checked(report: Path, held: AuditWork) -> AuditResult:
    """Read the child's result, if it is of this audit and agrees with itself and with the plan."""
    # The child is not trusted: a link of its could lead to any file of this host.
    if report.is_symlink() or report.stat().st_size > MAX_RESULT_BYTES:
        raise InvalidInput("the child left no result that could be read")
    try:
        result = AuditResult.model_validate_json(report.read_bytes())
    except ValidationError:
        raise InvalidInput("the child left no result of a known kind") from None
    spec = AuditSpec.model_validate(held.spec)
    plan = PrivacyPlan.from_json(spec.plan)
    cost = plan.cost()
    # The result is published: what it says of its own terms has to be what was requested.
    requested = (spec.method, spec.params, spec.runs, str(plan.unit), plan.window)
    published = (result.method, result.parameters, result.runs, result.unit, result.window)
    if requested != published or (cost.nano_epsilon, cost.delta_atto) != (
        result.nano_epsilon,
        result.delta_atto,
    ):
        raise InvalidInput("the child's result is of another audit")
    return result
