"""A larger budget is proposed. It is given once a second person has approved it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.datasets import service as datasets
from core.datasets.models import Dataset
from core.errors import Conflict, InvalidInput
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger import repository as accounts
from core.ledger import service as ledger
from core.ledger.amounts import Number, delta_capacity, epsilon_capacity
from core.ledger.kinds import Filter
from core.proposals import service as proposals
from core.proposals.models import Proposal as Row
from core.proposals.models import ProposalKind
from core.workflows.common.context import Services
from core.workflows.datasets.dataset_policies import require_open
from core.workflows.ledger.quotas import find_quota
from graphveil.amounts import format_delta, format_epsilon
from graphveil.models.proposals import Proposal


def propose_grant(
    services: Services,
    principal: Principal,
    dataset_id: str,
    *,
    epsilon: Number | None,
    delta: Number,
    reason: str,
    quota: tuple[str, str] | None = None,
) -> Proposal:
    """Propose to raise the capacity of an account. It is the dataset's account, or one quota of it, and rises
    by these amounts.

    ``quota``: (scope, name). Raises Forbidden, InvalidInput, NotFound, Conflict under the Rényi filter, whose
    capacity is final, and InvalidTransition for an archived dataset.
    """
    require(principal, Role.CURATOR)
    nano_epsilon = 0 if epsilon is None else epsilon_capacity(epsilon)
    delta_atto = delta_capacity(delta)
    if nano_epsilon == delta_atto == 0:
        raise InvalidInput("a grant raises epsilon, delta or both", field="epsilon")
    with services.db.transaction() as session:
        dataset = datasets.lock(session, principal.tenant, dataset_id)
        require_open(dataset)
        account = accounts.account(session, dataset.account_id)
        if account.filter == Filter.RENYI:
            raise Conflict(
                "The capacity of an account under the Rényi filter is final.", account_id=account.id
            )
        raised = account if quota is None else find_quota(session, account.id, *quota)
        proposal = proposals.propose(
            session,
            tenant=principal.tenant,
            dataset_id=dataset.id,
            kind=ProposalKind.GRANT,
            payload={
                "account_id": account.id,
                "raised_id": raised.id,
                "quota": None if quota is None else {"scope": quota[0], "name": quota[1]},
                "epsilon": format_epsilon(nano_epsilon),
                "delta": format_delta(delta_atto),
                "nano_epsilon": nano_epsilon,
                "delta_atto": delta_atto,
            },
            reason=reason,
            proposed_by=principal.key_id,
            person=principal.person,
            limit=services.settings.max_open_proposals,
        )
        return proposals.view(proposal)


def apply_proposed(session: Session, dataset: Dataset, proposal: Row) -> None:
    """Raise the capacity by an approved proposal. The entry names both who requested and who approved.

    Conflict where the dataset draws on another account by now.
    """
    # Looked at again: the dataset may have been archived since the proposal.
    require_open(dataset)
    payload = proposal.payload
    if payload["account_id"] != dataset.account_id:
        raise Conflict("The dataset draws on another account since this was proposed; propose it anew.")
    assert proposal.decided_by is not None
    ledger.grant(
        session,
        payload["raised_id"],
        nano_epsilon=payload["nano_epsilon"],
        delta_atto=payload["delta_atto"],
        actor=proposal.proposed_by,
        approver=proposal.decided_by,
        reason=proposal.reason,
    )
