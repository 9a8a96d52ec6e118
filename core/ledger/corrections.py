"""What changes an account without a job. There are a grant by two persons, an adjustment, the lifting of a
block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy.orm import Session

from core.errors import BudgetExceeded, Conflict, InvalidInput
from core.ledger import hash_chain, holdings, repository
from core.ledger.entries import append
from core.ledger.filters import admits
from core.ledger.kinds import EntryKind, Filter
from core.ledger.models import LedgerEntry
from core.ledger.posting import Movement
from core.ledger.terms import W_EVENT, checked_amounts, checked_terms, dimensions, epsilon_dimension


def grant(
    session: Session,
    account_id: str,
    *,
    nano_epsilon: int,
    delta_atto: int,
    actor: str,
    approver: str,
    reason: str,
) -> LedgerEntry:
    """Raise the capacity of the account or quota. It rises by these amounts, and every balance's with it.

    ``actor`` asked for it, ``approver`` is the second person. Raises NotFound; InvalidInput where the two are
    one, without a reason, for amounts that are no gain or too much; Conflict under the Rényi filter, whose
    capacities are fixed when it is opened (privacy.md 7.6). O(balances): a stream has one for each step.
    """
    for field, amount in (("epsilon", nano_epsilon), ("delta", delta_atto)):
        # Not isinstance: a bool is an int.
        if type(amount) is not int or amount < 0:
            raise InvalidInput("a grant is an integer and never takes away", field=field)
    if not nano_epsilon and not delta_atto:
        raise InvalidInput("a grant gives something", field="epsilon")
    if not actor or not approver or actor == approver:
        raise InvalidInput("a grant needs a second person", field="approver")
    _check_reason(reason)
    account, now = repository.lock_account(session, account_id)
    # Which order decides follows from the capacities, so
    # that theirs are fixed at the opening (privacy.md 7.6).
    if account.filter != Filter.BASIC:
        raise Conflict("under the Rényi filter a capacity never changes", account_id=account_id)
    terms = account.terms
    # Checked as at the opening: what all grants add up to has the same limit as a first capacity.
    raised = checked_terms(
        replace(
            terms,
            nano_epsilon=terms.nano_epsilon + nano_epsilon,
            delta_atto=terms.delta_atto + delta_atto,
        )
    )
    changes = {"capacity_nano_epsilon": raised.nano_epsilon, "capacity_delta_atto": raised.delta_atto}
    written = append(
        session,
        account,
        now,
        EntryKind.GRANT,
        amounts={epsilon_dimension(terms): nano_epsilon, "delta": delta_atto},
        digests={"terms": hash_chain.terms_digest({**repository.columns(account), **changes})},
        actor=actor,
        approver=approver,
        reason=reason,
        changes=changes,
    )
    return LedgerEntry(**written)


def adjust(
    session: Session, account_id: str, *, amounts: Mapping[str, int], actor: str, reason: str
) -> LedgerEntry:
    """Charge the amounts without a reservation: spend that happened outside the service.

    Under w-event it counts in every window (``untimed``), under the Rényi filter at every order; only in the
    account or quota named. A blocked or exposed account takes it too. Raises NotFound, InvalidInput for
    amounts of another shape or none and without a reason, BudgetExceeded where they do not fit.
    """
    _check_reason(reason)
    account, now = repository.lock_account(session, account_id)
    terms = account.terms
    requested = checked_amounts(terms, amounts)
    if not requested:
        raise InvalidInput("an adjustment charges something", field="amounts")
    # Spend outside the service has no step that this account could name.
    if terms.unit == W_EVENT and not requested.keys() <= dimensions(terms).keys():
        raise InvalidInput("spend outside the service counts in every window: 'untimed'", field="amounts")
    try:
        # Blocks and exposure are not checked: the spend has happened, whatever the account's standing.
        admits(terms, holdings.balances(session, account_id, terms.window, requested), requested)
    except BudgetExceeded as refusal:
        raise BudgetExceeded(
            f"{refusal.message}. Spend beyond the capacity is an exposure of the account, not an adjustment",
            **refusal.members,
        ) from None
    written = append(
        session,
        account,
        now,
        EntryKind.ADJUST,
        amounts=requested,
        actor=actor,
        reason=reason,
        movement=Movement(requested, charged=1),
    )
    return LedgerEntry(**written)


def unblock(session: Session, account_id: str, *, actor: str, reason: str) -> LedgerEntry | None:
    """Let the account take reservations again. None when it was not blocked and had no give-backs."""
    account, now = repository.lock_account(session, account_id)
    # No entry where nothing would change: a repetition is no second lifting.
    if account.blocked_at is None and account.consecutive_give_backs == 0:
        return None
    changes = {"blocked_at": None, "consecutive_give_backs": 0}
    written = append(session, account, now, EntryKind.ADJUST, actor=actor, reason=reason, changes=changes)
    return LedgerEntry(**written)


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise InvalidInput("a reason is needed", field="reason")
