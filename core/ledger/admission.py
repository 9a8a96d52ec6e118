"""May this account take that reservation? Every refusal says why, and by how much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from core.errors import AccountBlocked, AccountExposed, BudgetExceeded, UnitMismatch
from core.ledger import repository
from core.ledger.filters import Balance, admits
from core.ledger.models import BudgetAccount
from core.ledger.terms import Terms


def check_standing(account: BudgetAccount, terms: Terms, unit: str, window: int | None) -> None:
    """Raise UnitMismatch or AccountBlocked unless the account takes plans of that unit."""
    # Amounts of two units bound differences between other neighbours: they do not add up.
    if (unit, window) != (terms.unit, terms.window):
        raise UnitMismatch(
            "the plan's privacy unit is not the account's",
            account_id=account.id,
            unit=terms.unit,
            window=terms.window,
            requested_unit=unit,
            requested_window=window,
        )
    if account.blocked_at is not None:
        raise AccountBlocked(
            "too many reservations in a row came back unused; a curator must reset the account",
            account_id=account.id,
            consecutive_give_backs=account.consecutive_give_backs,
            blocked_at=account.blocked_at.isoformat(),
        )


def check_unexposed(account: BudgetAccount) -> None:
    """Raise AccountExposed once no guarantee can be claimed any more."""
    if account.exposed_at is not None:
        raise AccountExposed(
            "a job opened the graph without a guarantee, which voids every later one",
            account_id=account.id,
            # Its day alone: when a job opened its graph depends on how long the graph took to fetch.
            exposed_at=account.exposed_at.replace(hour=0, minute=0, second=0, microsecond=0).isoformat(),
        )


def check_room(
    session: Session,
    account: BudgetAccount,
    terms: Terms,
    balances: Mapping[str, Balance],
    requested: Mapping[str, int],
) -> None:
    """Raise AccountExposed or BudgetExceeded unless the amounts fit.

    A refusal names the quota that refuses.
    """
    # No amounts are no claim, which even an exposed account takes.
    if not requested:
        return
    check_unexposed(account)
    try:
        admits(terms, balances, requested)
    except BudgetExceeded as refusal:
        # Only a refusal pays for looking up when something may return.
        expiry = repository.earliest_expiry(session, account.id)
        members: dict[str, Any] = {
            "earliest_expiry_at": expiry.isoformat() if expiry else None,
            "quota": None,
        }
        if account.parent_id is None:
            raise BudgetExceeded(refusal.message, **refusal.members, **members) from None
        members["quota"] = {"scope": account.scope, "name": account.scope_name}
        raise BudgetExceeded(
            f"the quota of the {account.scope} {account.scope_name!r}: {refusal.message}",
            **refusal.members,
            **members,
        ) from None
