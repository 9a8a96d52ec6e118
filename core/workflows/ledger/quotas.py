"""Quotas of teams and projects. Each is what one of them may draw of an account at most."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.datasets import service as datasets
from core.errors import Conflict, InvalidInput, NotFound
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger import service as ledger
from core.ledger.amounts import Number, delta_capacity, epsilon_capacity
from core.ledger.kinds import Scope
from core.ledger.models import BudgetAccount
from core.workflows.common import paging
from core.workflows.common.context import Services
from core.workflows.datasets.dataset_policies import require_open
from core.workflows.datasets.queries import entries_page
from graphveil.models.ledger import Budget, LedgerPage, Quotas

SCOPES = (Scope.TEAM, Scope.PROJECT)


def list_quotas(services: Services, principal: Principal, dataset_id: str) -> Quotas:
    """Report what each quota of the account holds. It is the dataset's; quotas are by scope and name."""
    require(principal, Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    with services.db.transaction() as session:
        dataset = datasets.get(session, principal.tenant, dataset_id)
        found = sorted(ledger.quotas(session, dataset.account_id), key=lambda quota: quota.whose)
        return Quotas(items=[ledger.statement(session, quota.id) for quota in found])


def quota_ledger(
    services: Services,
    principal: Principal,
    dataset_id: str,
    scope: str,
    name: str,
    after: int = 0,
    cursor: str | None = None,
    limit: int | None = None,
) -> LedgerPage:
    """Load the quota's entries with a sequence above ``after``, in order. Curators, auditors. NotFound."""
    require(principal, Role.CURATOR, Role.AUDITOR)
    quota_of = f"{scope}/{name}"
    page = paging.paged(
        services, principal, "quota", cursor, limit, dataset_id=dataset_id, quota=quota_of, after=after
    )
    start = after if page.place is None else int(page.place[0])
    with services.db.transaction() as session:
        dataset = datasets.get(session, principal.tenant, dataset_id)
        quota = find_quota(session, dataset.account_id, scope, name)
        return entries_page(session, quota.id, page, start)


def open_quota(
    services: Services,
    principal: Principal,
    dataset_id: str,
    scope: str,
    name: str,
    *,
    epsilon: Number,
    delta: Number,
    reason: str,
) -> tuple[Budget, bool]:
    """Open an unspent quota. False: it existed with that capacity before, and is as it was.

    What the team or project had drawn until then does not count. Raises Forbidden, InvalidInput, NotFound,
    Conflict where it stands with another capacity (a grant raises it) or the account has as many as the
    settings allow, InvalidTransition for an archived dataset.
    """
    require(principal, Role.CURATOR)
    if scope not in SCOPES:
        raise InvalidInput(f"a quota is of a {' or a '.join(SCOPES)}", field="scope")
    nano_epsilon, delta_atto = epsilon_capacity(epsilon), delta_capacity(delta)
    with services.db.transaction() as session:
        # Of two that open quotas at once the second counts the first's.
        dataset = datasets.lock(session, principal.tenant, dataset_id)
        require_open(dataset)
        standing = {quota.whose for quota in ledger.quotas(session, dataset.account_id)}
        fresh = (scope, name) not in standing
        # One that stands is answered as it is, whatever the limit has become.
        if fresh and len(standing) >= services.settings.max_quotas:
            raise Conflict(f"The account has {len(standing)} quotas, which is as many as it may.")
        quota = ledger.open_quota(
            session,
            dataset.account_id,
            scope=scope,
            name=name,
            nano_epsilon=nano_epsilon,
            delta_atto=delta_atto,
            actor=principal.key_id,
            reason=reason,
        )
        return ledger.statement(session, quota.id), fresh


def find_quota(session: Session, account_id: str, scope: str, name: str) -> BudgetAccount:
    """Return the account's quota of that team or project; NotFound."""
    for quota in ledger.quotas(session, account_id):
        if quota.whose == (scope, name):
            return quota
    raise NotFound("There is no such quota.", id=f"{scope}/{name}")
