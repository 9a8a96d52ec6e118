"""The only SQL on the table of proposals. Loads and saves; decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.db.base import ROW_LOCK, newest_first
from core.proposals.models import Proposal, ProposalState


def add(session: Session, proposal: Proposal) -> None:
    session.add(proposal)
    session.flush()
    session.refresh(proposal)


def by_id(session: Session, proposal_id: str) -> Proposal | None:
    return session.get(Proposal, proposal_id)


def locked(session: Session, proposal_id: str) -> Proposal | None:
    """Lock the row until the transaction ends. It is loaded as it is now. Always after its dataset's lock."""
    return session.get(Proposal, proposal_id, with_for_update=ROW_LOCK, populate_existing=True)


def open_like(
    session: Session, *, dataset_id: str, kind: str, payload: dict[str, Any], reason: str, person: str
) -> Proposal | None:
    """Find the open proposal of that content. It is by that person, if there is one."""
    query = select(Proposal).where(
        Proposal.dataset_id == dataset_id,
        Proposal.kind == kind,
        Proposal.state == ProposalState.OPEN,
        Proposal.payload == payload,
        Proposal.reason == reason,
        Proposal.person == person,
    )
    return session.scalars(query.order_by(Proposal.id).limit(1)).one_or_none()


def count_open(session: Session, *, dataset_id: str) -> int:
    query = select(func.count()).where(
        Proposal.dataset_id == dataset_id, Proposal.state == ProposalState.OPEN
    )
    return session.execute(query).scalar_one()


def page(
    session: Session,
    *,
    tenant: str,
    dataset_id: str | None,
    state: str | None,
    before: tuple[datetime, str] | None,
    limit: int,
) -> Sequence[Proposal]:
    """List proposals of a tenant, newest first. They are older than the pair (created_at, id)."""
    query = select(Proposal).where(Proposal.tenant == tenant)  # outside what may be left out
    found = newest_first(query, Proposal, before, limit, dataset_id=dataset_id, state=state)
    return session.scalars(found).all()
