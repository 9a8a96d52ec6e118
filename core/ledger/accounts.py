"""How accounts are opened. There is one for each tenant and protection domain, and one for each quota below
it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from core import ids
from core.errors import Conflict, InvalidInput
from core.ledger import hash_chain, repository
from core.ledger.entries import append
from core.ledger.kinds import EntryKind, Filter, Scope
from core.ledger.models import BudgetAccount
from core.ledger.terms import Terms, checked_terms, dimensions

MAX_SCOPE_NAME = 64


def open_account(
    session: Session,
    *,
    tenant: str,
    domain: str,
    unit: str,
    window: int | None,
    filter: str,
    nano_epsilon: int,
    delta_atto: int,
    orders: Sequence[int | float] | None = None,
    actor: str,
    reason: str,
) -> BudgetAccount:
    """Open the tenant's account with a grant entry. It is that of the domain; one that stands is returned.

    Raises InvalidInput for terms that no filter can keep, Conflict when the account stands under other terms.
    Safe against concurrent openings: one wins, the others return it.
    """
    account_id = ids.new_id(ids.ACCOUNT)
    for field, text, limit in (("tenant", tenant, 64), ("protection_domain", domain, 128)):
        if not 1 <= len(text) <= limit:
            raise InvalidInput(f"1 to {limit} characters are needed", field=field)
    terms = checked_terms(
        Terms(account_id, unit, window, filter, nano_epsilon, delta_atto, tuple(orders or ()))
    )
    refusal = f"the protection domain {domain!r} has a budget account under other terms"
    return _opened(session, _account(terms, tenant, domain), terms, actor, reason, refusal)


def open_quota(
    session: Session,
    account_id: str,
    *,
    scope: str,
    name: str,
    nano_epsilon: int,
    delta_atto: int,
    actor: str,
    reason: str,
) -> BudgetAccount:
    """Open a team's or project's quota with a grant entry. It is that of the domain's account; one that
    stands is returned.

    It counts what is reserved from now on. Its unit, window, filter and orders are the account's; where its
    capacity is more than the account's, the account decides. Raises NotFound, InvalidInput, and Conflict when
    it stands with another capacity.
    """
    if scope not in (Scope.TEAM, Scope.PROJECT):
        raise InvalidInput("a quota is a team's or a project's", field="scope")
    if not 1 <= len(name) <= MAX_SCOPE_NAME or "\x00" in name:
        raise InvalidInput(f"1 to {MAX_SCOPE_NAME} characters are needed, none of them NUL", field="name")
    # Refuses a quota as the parent: quotas stand one level below the domain's account, no deeper.
    ((parent, _),), _ = repository.lock_with_quotas(session, account_id, None, None)
    terms = checked_terms(
        replace(
            parent.terms,
            account_id=ids.new_id(ids.ACCOUNT),
            nano_epsilon=nano_epsilon,
            delta_atto=delta_atto,
        )
    )
    quota = _account(terms, parent.tenant, parent.domain, parent.id, scope, name)
    refusal = f"the {scope} {name!r} has a quota of another capacity; a grant raises it"
    return _opened(session, quota, terms, actor, reason, refusal)


def _account(
    terms: Terms,
    tenant: str,
    domain: str,
    parent_id: str | None = None,
    scope: str = Scope.DOMAIN,
    scope_name: str = "",
) -> BudgetAccount:
    return BudgetAccount(
        id=terms.account_id,
        tenant=tenant,
        domain=domain,
        parent_id=parent_id,
        scope=str(scope),
        scope_name=scope_name,
        unit=terms.unit,
        window=terms.window,
        filter=terms.filter,
        orders=list(terms.orders) or None,
        capacity_nano_epsilon=terms.nano_epsilon,
        capacity_delta_atto=terms.delta_atto,
        last_hash=hash_chain.genesis(terms.account_id),
    )


def _opened(
    session: Session, account: BudgetAccount, terms: Terms, actor: str, reason: str, refusal: str
) -> BudgetAccount:
    """Write the account with its balances and its first grant, or return the one that stands in its place.

    Raises Conflict, which says ``refusal``, where that one has other terms.
    """
    # Of openings at once the unique index lets one write its row;
    # the others wait for that one's commit, and then read it.
    if not repository.create_account(session, account):
        place = account.tenant, account.domain, account.scope, account.scope_name
        standing = repository.account_of(session, *place)
        # Ids differ by construction: the terms alone say whether it is the same account.
        if standing.terms != replace(terms, account_id=standing.id):
            raise Conflict(refusal, account_id=standing.id)
        return standing
    capacities = dimensions(terms)
    # Under RENYI one order within its capacity is enough, so that no single row may be held to its own.
    repository.create_balances(session, account.id, capacities, binding=terms.filter == Filter.BASIC)
    # Read back: the digest covers ``created_at``, which the database has set.
    written, now = repository.lock_account(session, account.id)
    append(
        session,
        written,
        now,
        EntryKind.GRANT,
        amounts=capacities,
        digests={"terms": hash_chain.terms_digest(repository.columns(written))},
        actor=actor,
        reason=reason,
    )
    return written
