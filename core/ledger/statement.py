"""What an account holds, told in the terms of its filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from core.ledger import holdings
from core.ledger.amounts import format_delta, format_epsilon
from core.ledger.filters import Balance, steps_of, tightest_window
from core.ledger.models import BudgetAccount, Filter
from core.ledger.terms import W_EVENT, Terms


@dataclass(frozen=True)
class Figures:
    """An amount of budget: nano-epsilon, and delta in 1e-18."""

    nano_epsilon: int
    delta_atto: int

    @property
    def epsilon(self) -> str:
        """The exact decimal."""
        return format_epsilon(self.nano_epsilon)

    @property
    def delta(self) -> str:
        """The exact decimal."""
        return format_delta(self.delta_atto)

    def to_json(self) -> dict[str, Any]:
        """Return the integers, and the same as exact decimals."""
        return {"epsilon": self.epsilon, "delta": self.delta, **asdict(self)}


@dataclass(frozen=True)
class StepSpend:
    """Nano-epsilon by step, for steps that were ever asked for; columns of equal length.

    ``complete``: no such step of the account, or of the asked stretch, is left out.
    """

    steps: tuple[int, ...]
    charged_nano_epsilon: tuple[int, ...]
    reserved_nano_epsilon: tuple[int, ...]
    complete: bool


@dataclass(frozen=True)
class AccountStatement:
    """One account at one moment.

    BASIC: sums. Under w-event: the sums of the fullest window of consecutive steps (``tightest_window``),
    untimed spend included, with the spend by step. RENYI: the curve converted to epsilon at
    the account's delta, at the best order; what remains is the room at that order, so that an account without
    any spend shows less than its capacity: the difference pays for the conversion.
    ``entries`` and ``head`` (hex) name the last entry of the chain. ``parent_id`` is the account that a quota
    (``scope``, ``scope_name``) lies below; ``as_of`` the earlier moment that was asked for.
    """

    account_id: str
    tenant: str
    domain: str
    parent_id: str | None
    scope: str
    scope_name: str | None
    unit: str
    window: int | None
    filter: str
    orders: tuple[int | float, ...]
    capacity: Figures
    charged: Figures
    reserved: Figures
    remaining: Figures
    tightest_window: tuple[int, int] | None
    steps: StepSpend | None
    blocked: bool
    exposed: bool
    consecutive_give_backs: int
    entries: int
    head: str
    as_of: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; amounts both as integers and as exact decimals."""
        plain = asdict(self)
        for name in ("capacity", "charged", "reserved", "remaining"):
            plain[name] = getattr(self, name).to_json()
        plain["as_of"] = None if self.as_of is None else self.as_of.isoformat()
        return plain


def terms_of(account: BudgetAccount) -> Terms:
    """Return what the account was opened with."""
    return Terms(
        account_id=account.id,
        unit=account.unit,
        window=account.window,
        filter=account.filter,
        nano_epsilon=account.capacity_nano_epsilon,
        delta_atto=account.capacity_delta_atto,
        orders=tuple(account.orders or ()),
    )


def statement_of(
    account: BudgetAccount,
    balances: Mapping[str, Balance],
    *,
    steps: tuple[int, int] | None = None,
    as_of: datetime | None = None,
) -> AccountStatement:
    """Build the account's statement from what :func:`core.ledger.holdings.snapshot` read for the same
    ``steps``, or :func:`core.ledger.history.snapshot` for the same ``as_of``.
    """
    terms = terms_of(account)
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
        charged = Figures(sums[0], delta.charged)
        reserved = Figures(sums[1], delta.reserved)
        remaining = Figures(sums[2], delta.capacity - delta.committed)
    return AccountStatement(
        account_id=account.id,
        tenant=account.tenant,
        domain=account.domain,
        parent_id=account.parent_id,
        scope=account.scope,
        scope_name=account.scope_name or None,
        unit=terms.unit,
        window=terms.window,
        filter=terms.filter,
        orders=terms.orders,
        capacity=Figures(terms.nano_epsilon, terms.delta_atto),
        charged=charged,
        reserved=reserved,
        remaining=remaining,
        tightest_window=window,
        steps=spend,
        blocked=account.blocked_at is not None,
        exposed=account.exposed_at is not None,
        consecutive_give_backs=account.consecutive_give_backs,
        entries=account.last_sequence,
        head=account.last_hash.hex(),
        as_of=as_of,
    )


def _converted(terms: Terms, balances: Mapping[str, Balance]) -> tuple[Figures, Figures, Figures]:
    """Convert charged, reserved and remaining by the best order for each sum. Delta is spent once, by the
    first.
    """
    curve = balances.values()
    room = max(balance.capacity - balance.committed for balance in curve)
    unspent = max(balance.capacity - balance.charged for balance in curve)
    charged = terms.nano_epsilon - unspent if any(balance.charged for balance in curve) else 0
    committed = terms.nano_epsilon - room if any(balance.committed for balance in curve) else 0
    return (
        Figures(charged, terms.delta_atto if charged else 0),
        Figures(committed - charged, terms.delta_atto if committed and not charged else 0),
        Figures(room, 0 if committed else terms.delta_atto),
    )


def _spend(
    balances: Mapping[str, Balance], window: tuple[int, int] | None, asked: tuple[int, int] | None
) -> StepSpend:
    """Pick at most ``holdings.STEPS_SHOWN`` steps: the first of the asked stretch; or the latest, half of the
    room kept for the fullest window's latest.
    """
    limit = holdings.STEPS_SHOWN
    steps = steps_of(balances)
    if asked is not None:
        steps = [step for step in steps if asked[0] <= step <= asked[1]]
    shown = steps[:limit]
    if asked is None and len(steps) > limit:
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
