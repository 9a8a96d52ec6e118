"""How an account is opened: once for each tenant and protection domain, under terms that never change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from core import ids
from core.errors import Conflict, InvalidInput
from core.ledger import chain, repository
from core.ledger.entries import append
from core.ledger.models import BudgetAccount, EntryKind, Filter
from core.ledger.statement import terms_of
from core.ledger.terms import Terms, checked_terms, dimensions


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
    """The tenant's account of that domain, opened with a grant entry if there was none.

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
    account = BudgetAccount(
        id=account_id,
        tenant=tenant,
        domain=domain,
        unit=terms.unit,
        window=terms.window,
        filter=terms.filter,
        orders=list(terms.orders) or None,
        capacity_nano_epsilon=terms.nano_epsilon,
        capacity_delta_atto=terms.delta_atto,
        last_hash=chain.genesis(account_id),
    )
    if not repository.create_account(session, account):
        return _standing(session, tenant, domain, terms)
    capacities = dimensions(terms)
    repository.create_balances(session, account_id, capacities, binding=terms.filter == Filter.BASIC)
    account, now = repository.lock_account(session, account_id)
    append(
        session,
        account,
        now,
        EntryKind.GRANT,
        amounts=capacities,
        digests={"terms": chain.terms_digest(terms)},
        actor=actor,
        reason=reason,
    )
    return account


def _standing(session: Session, tenant: str, domain: str, asked: Terms) -> BudgetAccount:
    """The account that stands, if it stands under the terms asked for."""
    account = repository.account_of(session, tenant, domain)
    if terms_of(account) != replace(asked, account_id=account.id):
        raise Conflict(
            f"the protection domain {domain!r} has a budget account under other terms", account_id=account.id
        )
    return account
