"""A proposal is made, and ends once: approved, rejected or withdrawn.

Who may decide, and what an approval does, is for :mod:`core.workflows.ledger.proposals` to know.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from core import ids
from core.db.session import database_now
from core.errors import Conflict, InvalidTransition, NotFound
from core.proposals import repository
from core.proposals.models import Proposal, ProposalKind, ProposalState
from graphveil.models.proposals import Proposal as View


def propose(
    session: Session,
    *,
    tenant: str,
    dataset_id: str,
    kind: ProposalKind,
    payload: dict[str, Any],
    reason: str,
    proposed_by: str,
    person: str,
    limit: int,
) -> Proposal:
    """Open the proposal. One of the same content and person that is open already is returned instead.

    The caller holds the dataset, so that a repetition finds the first. Conflict while ``limit`` are open.
    """
    standing = repository.open_like(
        session, dataset_id=dataset_id, kind=kind, payload=payload, reason=reason, person=person
    )
    if standing is not None:
        return standing
    if repository.count_open(session, dataset_id=dataset_id) >= limit:
        raise Conflict(f"{limit} proposals about this dataset are open; have one decided or withdrawn first.")
    proposal = Proposal(
        id=ids.new_id(ids.PROPOSAL),
        tenant=tenant,
        kind=kind,
        dataset_id=dataset_id,
        payload=payload,
        reason=reason,
        proposed_by=proposed_by,
        person=person,
        state=ProposalState.OPEN,
    )
    repository.add(session, proposal)
    return proposal


def get(session: Session, *, tenant: str, proposal_id: str) -> Proposal:
    """Return the tenant's proposal. NotFound when there is none, or when it is another tenant's."""
    proposal = repository.by_id(session, proposal_id)
    if proposal is None or proposal.tenant != tenant:
        raise NotFound("There is no such proposal.", id=proposal_id)
    return proposal


def get_locked(session: Session, *, tenant: str, proposal_id: str) -> Proposal:
    """Do as :func:`get`, and lock the proposal. No other transaction changes it until this one ends. The
    dataset is held first."""
    get(session, tenant=tenant, proposal_id=proposal_id)
    proposal = repository.locked(session, proposal_id)
    if proposal is None:
        raise NotFound("There is no such proposal.", id=proposal_id)
    return proposal


def end(
    session: Session,
    proposal: Proposal,
    state: ProposalState,
    *,
    decided_by: str,
    person: str,
    reason: str | None,
) -> bool:
    """End the proposal so; False when it had ended so before. InvalidTransition: it ended otherwise."""
    # The same word once more is no second decision.
    if proposal.state == state:
        return False
    if proposal.state != ProposalState.OPEN:
        raise InvalidTransition(
            f"A proposal that is {proposal.state} cannot become {state}.",
            id=proposal.id,
            state=proposal.state,
            asked=str(state),
        )
    proposal.state = state
    proposal.decided_by, proposal.decided_person, proposal.decision_reason = decided_by, person, reason
    proposal.decided_at = database_now(session)
    return True


def view(proposal: Proposal) -> View:
    """Show the proposal as its readers see it."""
    return View(
        id=proposal.id,
        dataset_id=proposal.dataset_id,
        kind=proposal.kind,
        state=proposal.state,
        payload=proposal.payload,
        reason=proposal.reason,
        proposed_by=proposal.proposed_by,
        person=proposal.person,
        created_at=proposal.created_at,
        decided_by=proposal.decided_by,
        decided_person=proposal.decided_person,
        decided_at=proposal.decided_at,
        decision_reason=proposal.decision_reason,
    )
