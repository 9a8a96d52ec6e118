"""A validated content joins its account. It does whatever name it was uploaded under."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.datasets import lineage, repository
from core.datasets.models import Dataset
from core.graphs.schema import GraphSchema
from core.ledger import repository as accounts
from core.ledger.models import BudgetAccount
from core.workflows.common.policies import looser_than_others, policy_of
from core.workflows.datasets.grids import Grid, grid_of, standing_grid
from core.workflows.datasets.records import apart, standing_apart
from graphveil.amounts import format_epsilon


def attach(session: Session, dataset: Dataset, fingerprint: str) -> str | None:
    """Attach the dataset to its content's account. Otherwise returned is why it cannot be.

    What is public claims no content and joins no account; only what is a secret's already is refused.
    """
    own = accounts.account(session, dataset.account_id)
    if dataset.public:
        known = repository.claimed_by(session, dataset.tenant, fingerprint)
        if known is None or all(other.public for other in repository.of_account(session, known)):
            return None
        owner_id = known
    else:
        owner_id = repository.account_of_content(
            session, tenant=dataset.tenant, fingerprint=fingerprint, account_id=own.id
        )
    owner = accounts.account(session, owner_id)
    others = [other for other in repository.of_account(session, owner_id) if other.id != dataset.id]
    public = others[0].public if others else dataset.public
    # A dataset with a ready version may have spent: it can no longer change accounts.
    settled = dataset.current_version_id is not None
    schema = GraphSchema.model_validate(dataset.graph_schema)
    grid = grid_of(own, schema)
    # With the account locked: two uploads of one content cannot miss each other.
    standing = standing_grid(session, owner, but=dataset.id) or grid
    own_apart = apart(schema)
    apart_there = own_apart and standing_apart(session, owner, but=dataset.id) is not False
    refusal = lineage.refusal(
        _terms(own, dataset.public, grid, own_apart),
        _terms(owner, public, standing, apart_there),
        settled=settled,
    )
    moves = refusal is None and owner_id != own.id
    # The same content under a looser policy would need no second person.
    if moves and (looser := looser_than_others(policy_of(dataset), others)):
        refusal = (
            f"this content already belongs to the protection domain {owner.domain!r}, and the policy allows "
            f"more than that of another dataset there: {', '.join(looser)}; restrict it, and upload again"
        )
    if refusal is None:
        dataset.account_id = owner_id
    return refusal


def joined(session: Session, dataset: Dataset) -> str:
    """Say whose budget the dataset draws on. It has drawn on it since it was attached."""
    account = accounts.account(session, dataset.account_id)
    return (
        f"This content was known already: it belongs to the protection domain {account.domain!r}, whose "
        f"budget (epsilon {format_epsilon(account.capacity_nano_epsilon)} in all, spent by all its datasets) "
        "this dataset draws on from now on. The budget that it was registered with is not used."
    )


def _terms(account: BudgetAccount, public: bool, grid: Grid | None, apart: bool) -> lineage.Terms:
    terms = (account.id, account.domain, account.unit, account.window, account.filter)
    return lineage.Terms(*terms, public, None if grid is None else str(grid), apart)
