"""What happens to an audit, step by step."""

from __future__ import annotations

import re

from sqlalchemy.orm import Session

from core.audits import repository
from core.audits.models import Audit, AuditReason, AuditState
from core.audits.result import AuditResult
from core.db.session import database_now
from core.errors import IdempotencyKeyReused, InvalidInput, NotFound

STAGE = re.compile(r"[a-z][a-z_ -]{0,63}")
MAX_STEPS = 2**53


def get(session: Session, *, tenant: str, audit_id: str) -> Audit:
    """Return the tenant's audit. NotFound when there is none, or when it is another tenant's."""
    audit = repository.by_id(session, audit_id)
    if audit is None or audit.tenant != tenant:
        raise NotFound("There is no such audit.", id=audit_id)
    return audit


def earlier(session: Session, *, tenant: str, key: str, digest: str) -> Audit | None:
    """Find the audit that this key made earlier. None without one; IdempotencyKeyReused for other content."""
    audit = repository.by_key(session, tenant=tenant, key=key)
    if audit is not None and audit.payload_hash != digest:
        raise IdempotencyKeyReused(
            "This Idempotency-Key was used for another request; use a new key.", field="Idempotency-Key"
        )
    return audit


def started(audit: Audit) -> None:
    """Delete the progress of an earlier attempt."""
    audit.stage, audit.done, audit.total = None, 0, 0


def advanced(audit: Audit, *, stage: str, done: int, total: int) -> None:
    """Record how far the audit is. InvalidInput for a stage that is no plain name, or counts out of range."""
    # Progress comes from a child process: nothing of it is believed unread.
    if not STAGE.fullmatch(stage) or not 0 <= done <= total <= MAX_STEPS:
        raise InvalidInput("Progress is a stage of lower-case letters and two counts.", field="stage")
    audit.stage, audit.done, audit.total = stage, done, total


def finished(session: Session, audit: Audit, result: AuditResult) -> None:
    """End the audit with a result."""
    audit.state, audit.result = AuditState.DONE, result.model_dump(mode="json")
    _end(session, audit)


def failed(session: Session, audit: Audit, reason: AuditReason) -> None:
    """End the audit without a result."""
    audit.state, audit.reason = AuditState.FAILED, reason
    _end(session, audit)


def _end(session: Session, audit: Audit) -> None:
    audit.finished_at = database_now(session)
    audit.let_go()
