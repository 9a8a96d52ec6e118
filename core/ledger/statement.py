"""What an account holds, stated in the terms of its filter."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from core.ledger import holdings
from core.ledger.filters import Balance, steps_of, tightest_window
from core.ledger.kinds import Filter
from core.ledger.models import BudgetAccount, LedgerEntry
from core.ledger.terms import W_EVENT, Terms
from graphveil.amounts import format_delta, format_epsilon
from graphveil.models.ledger import Amount, Budget, Entry, StepSpend


def amount_of(nano_epsilon: int, delta_atto: int) -> Amount:
    """Show the amount as integers and as exact decimals."""
    return Amount(
        epsilon=format_epsilon(nano_epsilon),
        delta=format_delta(delta_atto),
        nano_epsilon=nano_epsilon,
        delta_atto=delta_atto,
    )


def entry_of(row: LedgerEntry) -> Entry:
    """Show the entry as its readers see it, its hashes in hex."""
    return Entry(
        sequence=row.sequence,
        id=row.id,
        kind=row.kind,
        reservation_id=row.reservation_id,
        job_id=row.job_id,
        amounts=row.amounts,
        digests=row.digests,
        reason=row.reason,
        actor=row.actor,
        approver=row.approver,
        created_at=row.created_at,
        expires_at=row.expires_at,
        previous_hash=row.previous_hash.hex(),
        hash=row.hash.hex(),
    )


def statement_of(
    account: BudgetAccount,
    balances: Mapping[str, Balance],
    *,
    steps: tuple[int, int] | None = None,
    as_of: datetime | None = None,
) -> Budget:
    """Build the account's statement. :func:`core.ledger.holdings.snapshot` read what it is of for the same
    ``steps``, or :func:`core.ledger.history.snapshot` for the same ``as_of``.
    """
    terms = account.terms
    window = spend = None
    if terms.filter == Filter.RENYI:
        charged, reserved, remaining = _converted(terms, balances)
    else:
        delta = balances["delta"]
        if terms.unit == W_EVENT:
            load = tightest_window(terms, balances, {})
            window = load.window
            spend = _spend(balances, load.window, steps)
            sums = (load.charged, load.reserved, load.remaining)
        else:
            epsilon = balances["epsilon"]
            sums = (epsilon.charged, epsilon.reserved, epsilon.capacity - epsilon.committed)
        charged = amount_of(sums[0], delta.charged)
        reserved = amount_of(sums[1], delta.reserved)
        remaining = amount_of(sums[2], delta.capacity - delta.committed)
    return Budget(
        account_id=account.id,
        domain=account.domain,
        parent_id=account.parent_id,
        scope=account.scope,
        scope_name=account.scope_name or None,
        unit=terms.unit,
        window=terms.window,
        filter=terms.filter,
        capacity=amount_of(terms.nano_epsilon, terms.delta_atto),
        charged=charged,
        reserved=reserved,
        remaining=remaining,
        tightest_window=window,
        steps=spend,
        blocked=account.blocked_at is not None,
        exposed=account.exposed_at is not None,
        entries=account.last_sequence,
        head=account.last_hash.hex(),
        as_of=as_of,
    )


def _converted(terms: Terms, balances: Mapping[str, Balance]) -> tuple[Amount, Amount, Amount]:
    """Convert charged, reserved and remaining to epsilon and delta."""
    curve = balances.values()
    # Each sum is shown at the order that is best for it: the conversion of RDP to (epsilon, delta).
    room = max(balance.capacity - balance.committed for balance in curve)
    unspent = max(balance.capacity - balance.charged for balance in curve)
    # The conversion's toll, ln(|A|/delta) / (order - 1),
    # counts as spent with the first charge, and not before.
    charged = terms.nano_epsilon - unspent if any(balance.charged for balance in curve) else 0
    committed = terms.nano_epsilon - room if any(balance.committed for balance in curve) else 0
    return (
        # Delta is spent once, by the first charge: the union bound over orders covers all that follow.
        amount_of(charged, terms.delta_atto if charged else 0),
        amount_of(committed - charged, terms.delta_atto if committed and not charged else 0),
        amount_of(room, 0 if committed else terms.delta_atto),
    )


def _spend(
    balances: Mapping[str, Balance], window: tuple[int, int] | None, requested: tuple[int, int] | None
) -> StepSpend:
    """Pick at most ``holdings.STEPS_SHOWN`` steps: the first of the requested stretch; or the latest, half of
    the room kept for the fullest window's latest.
    """
    limit = holdings.STEPS_SHOWN
    steps = steps_of(balances)
    if requested is not None:
        steps = [step for step in steps if requested[0] <= step <= requested[1]]
    shown = steps[:limit]
    if requested is None and len(steps) > limit:
        # Half of the room for the window that decides, however far back it lies.
        half = max(1, limit // 2)
        first, last = window or (0, 0)
        fullest = [step for step in steps if first <= step <= last][-half:]
        shown = sorted({*fullest, *steps[-half:]})
    rows = [balances[f"step/{step}"] for step in shown]
    return StepSpend(
        steps=tuple(shown),
        charged_nano_epsilon=tuple(row.charged for row in rows),
        reserved_nano_epsilon=tuple(row.reserved for row in rows),
        complete=len(steps) <= limit,
    )
