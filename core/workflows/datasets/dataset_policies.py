"""A dataset's policy is shown and changed. It changes at once if it restricts, by a second person if it
allows more."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.datasets import repository as rows
from core.datasets import service as datasets
from core.datasets.models import Dataset, DatasetState
from core.datasets.models import DatasetPolicy as Row
from core.errors import Conflict, InvalidInput, InvalidTransition, NotFound, StaleEtag
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger import repository as accounts
from core.logging import get_logger
from core.methods import registry
from core.privacy.accounting.plan import DECLARED
from core.proposals import service as proposals
from core.proposals.models import Proposal as ProposalRow
from core.proposals.models import ProposalKind
from core.workflows.common.context import Services
from core.workflows.common.policies import Policy, allows_more, policy_of, rules_of, stored
from graphveil.models.datasets import DatasetPolicy
from graphveil.models.proposals import Proposal

READERS = (Role.CURATOR, Role.REQUESTER, Role.AUDITOR)

log = get_logger(__name__)


def get_policy(
    services: Services, principal: Principal, dataset_id: str, version: int | None = None
) -> DatasetPolicy:
    """Return the policy that stands, or an earlier version of it. NotFound."""
    require(principal, *READERS)
    with services.db.transaction() as session:
        return _view(session, datasets.get(session, principal.tenant, dataset_id), version)


def set_policy(
    services: Services,
    principal: Principal,
    dataset_id: str,
    policy: Policy,
    *,
    reason: str,
    standing: int,
) -> DatasetPolicy | Proposal:
    """Set the policy, or propose it. It stands, where it allows nothing that the present one refuses; else a
    proposal of it is open.

    ``standing``: the version that the caller means to change. The policy that stands already is no change.
    Raises Forbidden, NotFound, StaleEtag, UnknownMethod, Conflict, InvalidTransition.
    """
    require(principal, Role.CURATOR)
    check_methods(policy)
    with services.db.transaction() as session:
        dataset = datasets.lock(session, principal.tenant, dataset_id)
        require_open(dataset)
        # Under the lock: the version that was read is still the one that is replaced.
        if standing != dataset.policy_version:
            raise StaleEtag(
                "The policy has changed since you read it; read it again.",
                id=dataset.id,
                version=dataset.policy_version,
            )
        present = policy_of(dataset)
        # What allows more needs a second person, what only restricts is in force at once.
        if looser := allows_more(policy, present):
            payload = {"policy": stored(policy), "version": dataset.policy_version, "allows_more": [*looser]}
            proposal = proposals.propose(
                session,
                tenant=principal.tenant,
                dataset_id=dataset.id,
                kind=ProposalKind.POLICY,
                payload=payload,
                reason=reason,
                proposed_by=principal.key_id,
                person=principal.person,
                limit=services.settings.max_open_proposals,
            )
            return proposals.view(proposal)
        if policy != present:
            enact(session, dataset, policy, set_by=principal.key_id, reason=reason)
        return _view(session, dataset)


def apply_proposed(session: Session, dataset: Dataset, proposal: ProposalRow) -> None:
    """Apply the proposed policy. Conflict where another has taken effect since it was proposed."""
    require_open(dataset)
    if proposal.payload["version"] != dataset.policy_version:
        raise Conflict("The policy has changed since this was proposed; propose it anew.")
    policy = Policy.model_validate(proposal.payload["policy"])
    check_methods(policy)
    enact(
        session,
        dataset,
        policy,
        set_by=proposal.proposed_by,
        reason=proposal.reason,
        proposal_id=proposal.id,
    )


def enact(
    session: Session,
    dataset: Dataset,
    policy: Policy,
    *,
    set_by: str,
    reason: str,
    proposal_id: str | None = None,
) -> None:
    """Make the policy the dataset's next version. The caller holds the dataset."""
    dataset.policy_version += 1
    dataset.policy = stored(policy)
    keep_version(session, dataset, set_by=set_by, reason=reason, proposal_id=proposal_id)
    log.info("policy_set", dataset_id=dataset.id, version=dataset.policy_version)


def keep_version(
    session: Session, dataset: Dataset, *, set_by: str, reason: str, proposal_id: str | None = None
) -> None:
    """Record the dataset's present policy, for good."""
    row = Row(
        dataset_id=dataset.id,
        version=dataset.policy_version,
        policy=dataset.policy,
        set_by=set_by,
        reason=reason,
        proposal_id=proposal_id,
    )
    session.add(row)
    session.flush()
    session.refresh(row)


def reads_comparisons(session: Session, principal: Principal, dataset_id: str) -> bool:
    """Tell whether the caller may read comparisons. They compare a release with its original: a curator reads
    them, but not one whom the policy leaves out.
    """
    if Role.CURATOR not in principal.roles:
        return False
    readers = policy_of(rows.existing(session, dataset_id)).curator_report_readers
    return readers is None or principal.person in readers


def check_methods(policy: Policy) -> None:
    """Check that every method that the policy names is known. UnknownMethod otherwise."""
    for name in set(policy.methods or ()) - {DECLARED}:
        registry.get(name)


def require_open(dataset: Dataset) -> None:
    """Check that the dataset is not archived. Nothing can be requested of an archived one again, so nothing
    is granted."""
    if dataset.state == DatasetState.ARCHIVED:
        raise InvalidTransition("The dataset is archived.", id=dataset.id, state=dataset.state)


def _view(session: Session, dataset: Dataset, version: int | None = None) -> DatasetPolicy:
    number = dataset.policy_version if version is None else version
    if number > 2**31 - 1:
        raise InvalidInput("There is no such version.", field="version")
    row = rows.policy(session, dataset.id, number)
    if row is None:
        raise NotFound("The dataset's policy has no such version.", id=str(number))
    account = accounts.account(session, dataset.account_id)
    return DatasetPolicy(
        dataset_id=dataset.id,
        version=row.version,
        current=row.version == dataset.policy_version,
        policy=rules_of(Policy.model_validate(row.policy)),
        unit=account.unit,
        window=account.window,
        set_by=row.set_by,
        set_at=row.created_at,
        reason=row.reason,
        proposal_id=row.proposal_id,
    )
