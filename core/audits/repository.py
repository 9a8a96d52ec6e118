"""The only SQL on the table of audits. Loads and saves; decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Select, func, select, text
from sqlalchemy.orm import Session

from core.audits.models import OPEN, Audit, AuditState
from core.db.base import newest_first


def lock_tenant(session: Session, *, tenant: str) -> None:
    """Lock the tenant's audits until the transaction ends. No other transaction requests one until then."""
    # Counting what is open and adding one more are two statements: between them nobody may add.
    session.execute(
        text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"audit/{tenant}"}
    )


def by_key(session: Session, *, tenant: str, key: str) -> Audit | None:
    return session.scalars(
        select(Audit).where(Audit.tenant == tenant, Audit.idempotency_key == key)
    ).one_or_none()


def by_id(session: Session, audit_id: str) -> Audit | None:
    return session.get(Audit, audit_id)


def count_open(session: Session, *, tenant: str) -> int:
    """Count the tenant's audits that are not finished."""
    query = select(func.count()).where(Audit.tenant == tenant, Audit.state.in_(OPEN))
    return session.execute(query).scalar_one()


def page(
    session: Session, *, tenant: str, before: tuple[datetime, str] | None, limit: int
) -> Sequence[Audit]:
    """List audits of a tenant, newest first. They are older than the pair (created_at, id)."""
    query = select(Audit).where(Audit.tenant == tenant)
    return session.scalars(newest_first(query, Audit, before, limit)).all()


def audits_in(state: AuditState) -> Select[str, str, datetime]:
    """Selects id, tenant and created_at of the audits in that state."""
    return select(Audit.id, Audit.tenant, Audit.created_at).where(Audit.state == state)


def done_of(session: Session, *, tenant: str, method: str, limit: int) -> Sequence[Audit]:
    """Load the tenant's finished audits of a method, newest first."""
    query = (
        select(Audit)
        .where(Audit.tenant == tenant, Audit.method == method, Audit.state == AuditState.DONE)
        .order_by(Audit.created_at.desc(), Audit.id.desc())
        .limit(limit)
    )
    return session.scalars(query).all()
