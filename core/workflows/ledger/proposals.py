"""Proposals are listed and decided. A second person decides; an approval takes effect in the same
transaction."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Session

from core.datasets import service as datasets
from core.datasets.models import Dataset
from core.errors import Forbidden
from core.identity.models import Role
from core.identity.service import Principal, require
from core.logging import get_logger
from core.proposals import repository, service
from core.proposals.models import Proposal as Row
from core.proposals.models import ProposalKind, ProposalState
from core.workflows.common import paging
from core.workflows.common.context import Services
from core.workflows.datasets import dataset_policies
from core.workflows.identity.persons import require_second_person, same_person
from core.workflows.ledger import grants
from graphveil.models.proposals import Proposal, Proposals

log = get_logger(__name__)


def list_proposals(
    services: Services,
    principal: Principal,
    dataset_id: str | None = None,
    state: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Proposals:
    """One page of the tenant's proposals, newest first. InvalidInput: unknown state, bad cursor or limit."""
    require(principal, Role.CURATOR, Role.AUDITOR)
    paging.require_state(state, ProposalState)
    page = paging.paged(services, principal, "proposals", cursor, limit, dataset_id=dataset_id, state=state)
    with services.db.transaction() as session:
        rows = repository.page(
            session,
            tenant=principal.tenant,
            dataset_id=dataset_id,
            state=state,
            before=page.before,
            limit=page.size + 1,
        )
    shown, more = page.cut(rows, paging.by_age)
    return Proposals(items=[service.view(row) for row in shown], next_cursor=more)


def get_proposal(services: Services, principal: Principal, proposal_id: str) -> Proposal:
    """Return the tenant's proposal; NotFound otherwise."""
    require(principal, Role.CURATOR, Role.AUDITOR)
    with services.db.transaction() as session:
        return service.view(service.get(session, tenant=principal.tenant, proposal_id=proposal_id))


def approve_proposal(services: Services, principal: Principal, proposal_id: str, *, reason: str) -> Proposal:
    """Approve the proposal, which takes effect. Safe to repeat.

    Raises Forbidden, NotFound, SecondPersonNeeded, InvalidTransition once it ended otherwise, Conflict where
    what it was proposed against has changed, and what the ledger refuses; it then stays open.
    """
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        dataset, proposal = _held(session, principal, proposal_id)
        # By person, not by key: one person may hold several keys.
        require_second_person(principal, proposal.person)
        # False where it was approved before: its effect has come, and comes once.
        if _end(session, principal, proposal, ProposalState.APPROVED, reason):
            _EFFECTS[ProposalKind(proposal.kind)](session, dataset, proposal)
    return service.view(proposal)


def reject_proposal(services: Services, principal: Principal, proposal_id: str, *, reason: str) -> Proposal:
    """Reject the proposal, for good. Safe to repeat.

    Raises Forbidden, NotFound, SecondPersonNeeded, InvalidTransition once it ended otherwise.
    """
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        _, proposal = _held(session, principal, proposal_id)
        require_second_person(principal, proposal.person)
        _end(session, principal, proposal, ProposalState.REJECTED, reason)
    return service.view(proposal)


def withdraw_proposal(services: Services, principal: Principal, proposal_id: str) -> Proposal:
    """Withdraw the proposal for the person who made it. Safe to repeat.

    Raises Forbidden for anybody else, NotFound, InvalidTransition once it ended otherwise.
    """
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        _, proposal = _held(session, principal, proposal_id)
        if not same_person(principal, proposal.person):
            raise Forbidden("Only the person who made a proposal withdraws it; others approve or reject it.")
        _end(session, principal, proposal, ProposalState.WITHDRAWN, None)
    return service.view(proposal)


def _held(session: Session, principal: Principal, proposal_id: str) -> tuple[Dataset, Row]:
    """Lock the dataset first, as everywhere; then the proposal."""
    seen = service.get(session, tenant=principal.tenant, proposal_id=proposal_id)
    dataset = datasets.lock(session, principal.tenant, seen.dataset_id)
    return dataset, service.get_locked(session, tenant=principal.tenant, proposal_id=proposal_id)


def _end(
    session: Session, principal: Principal, proposal: Row, state: ProposalState, reason: str | None
) -> bool:
    ended = service.end(
        session,
        proposal,
        state,
        decided_by=principal.key_id,
        person=principal.person,
        reason=reason,
    )
    if ended:
        log.info("proposal_ended", proposal_id=proposal.id, state=str(state))
    return ended


_EFFECTS: dict[ProposalKind, Callable[[Session, Dataset, Row], None]] = {
    ProposalKind.GRANT: grants.apply_proposed,
    ProposalKind.POLICY: dataset_policies.apply_proposed,
}
"""What an approval does. The proposal names both persons by then."""
