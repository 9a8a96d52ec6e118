"""Privacy filters: may this amount be added to that account? Pure functions over integers.

BASIC adds epsilon and delta. Under the w-event unit it adds epsilon in every window of consecutive steps
(Kellaris et al., VLDB 2014, Theorem 3). RENYI adds the Rényi curve on a fixed, finite grid of orders (Feldman
and Zrnic, NeurIPS 2021; Lécuyer 2021). All stay valid for amounts that are chosen after earlier releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from core.errors import BudgetExceeded
from core.ledger.kinds import Filter
from core.ledger.terms import W_EVENT, Terms, dimensions
from graphveil.amounts import format_delta, format_epsilon


@dataclass(frozen=True)
class Balance:
    """One dimension of an account."""

    capacity: int
    charged: int = 0
    reserved: int = 0

    @property
    def committed(self) -> int:
        """What is no longer free."""
        return self.charged + self.reserved


@dataclass(frozen=True)
class Load:
    """What one constraint carries with the request. ``requested`` is added; ``window`` is (first step, last
    step)."""

    dimension: str
    capacity: int
    charged: int
    reserved: int
    requested: int
    window: tuple[int, int] | None = None

    @property
    def remaining(self) -> int:
        """Room before the request. It is negative at Rényi orders whose conversion costs more than the
        total."""
        return self.capacity - self.charged - self.reserved

    @property
    def fits(self) -> bool:
        """The filter's inequality."""
        return self.requested <= self.remaining


def admits(terms: Terms, balances: Mapping[str, Balance], amounts: Mapping[str, int]) -> None:
    """Raise BudgetExceeded unless charged + reserved + ``amounts`` stays within capacity.

    Complexity: O(steps log steps) under w-event, else O(dimensions).
    """
    # A job that claims no guarantee fits where nothing is left, too.
    if not amounts:
        return
    load = decisive(terms, balances, amounts)
    if not load.fits:
        raise _refusal(terms, load)


def delta_left(terms: Terms, balances: Mapping[str, Balance]) -> int:
    """Return the delta that is neither charged nor reserved. It is a RENYI account's own, which no sum
    spends."""
    if terms.filter == Filter.RENYI:
        return terms.delta_atto
    return _load("delta", terms.delta_atto, balances, {}).remaining


def decisive(terms: Terms, balances: Mapping[str, Balance], amounts: Mapping[str, int]) -> Load:
    """Find the constraint that decides. It is the roomiest order under RENYI, the tightest sum or window
    otherwise.

    With no amounts, it is the account as it stands, and fits if and only if the invariant holds.
    """
    if terms.filter == Filter.RENYI:
        loads = [_load(d, capacity, balances, amounts) for d, capacity in dimensions(terms).items()]
        # One order within capacity is enough, chosen after the fact: the capacities
        # have paid for the union over the grid (Feldman and Zrnic, NeurIPS 2021).
        return max(loads, key=lambda load: load.remaining - load.requested)
    if terms.unit == W_EVENT:
        first = tightest_window(terms, balances, amounts)
    else:
        first = _load("epsilon", terms.nano_epsilon, balances, amounts)
    delta = _load("delta", terms.delta_atto, balances, amounts)
    # Epsilon is named where both refuse; delta where it alone does.
    return first if not first.fits or delta.fits else delta


def tightest_window(terms: Terms, balances: Mapping[str, Balance], amounts: Mapping[str, int]) -> Load:
    """Find the fullest window of consecutive steps. Of ``terms.window`` steps it carries most, untimed spend
    included."""
    untimed = _load("untimed", terms.nano_epsilon, balances, amounts)
    best, span = (0, 0, 0), None
    # Steps that nobody has spent on, future ones among them, carry nothing; so the fullest
    # window may be taken to end at a step that carries something, and only those are walked.
    for last, sums in _windows(terms.window or 1, balances, amounts):
        # Strictly more: of equal windows the earliest, as the queries of holdings and history order them.
        if span is None or sum(sums) > sum(best):
            best, span = sums, (max(0, last - (terms.window or 1) + 1), last)
    return Load(
        dimension="epsilon",
        capacity=terms.nano_epsilon,
        charged=untimed.charged + best[0],
        reserved=untimed.reserved + best[1],
        requested=untimed.requested + best[2],
        window=span,
    )


def windows_changed(
    terms: Terms, balances: Mapping[str, Balance], amounts: Mapping[str, int], sign: int
) -> dict[int, int]:
    """Compute what each changed window commits. It comes by last step, once ``sign`` times ``amounts`` is
    added to it.

    Only windows that hold a step of ``amounts`` (all positive) and end at a step of ``amounts`` or
    ``balances`` are named; the others stay as they are. ``balances`` holds at least the rows within
    :func:`reach`. O(rows log rows).
    """
    if terms.unit != W_EVENT:
        return {}
    return {
        last: charged + reserved + sign * requested
        for last, (charged, reserved, requested) in _windows(terms.window or 1, balances, amounts)
        if requested
    }


def reach(window: int, dimension_names: Iterable[str]) -> list[tuple[int, int]]:
    """List the stretches that windows cover. They come as first and last steps, for windows with one of these
    steps; ascending, apart.

    A window outside them holds none of these steps, so that what is asked there cannot change it.
    """
    stretches: list[tuple[int, int]] = []
    for step in steps_of(dimension_names):
        # A window that holds the step begins at most window -
        # 1 steps before it, and ends at most as many after.
        first, last = max(0, step - window + 1), step + window - 1
        # Stretches that touch are joined as well, so that no row is read twice.
        if stretches and first <= stretches[-1][1] + 1:
            stretches[-1] = (stretches[-1][0], last)
        else:
            stretches.append((first, last))
    return stretches


def steps_of(dimension_names: Iterable[str]) -> list[int]:
    """List the steps among the dimensions, ascending."""
    return sorted(int(name[5:]) for name in dimension_names if name.startswith("step/"))


def _windows(
    window: int, balances: Mapping[str, Balance], amounts: Mapping[str, int]
) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Yield (last step, sums of charged, reserved and requested) of the window to each step with spend."""
    nothing = Balance(0)
    steps = steps_of({*balances, *amounts})
    spends = []
    for step in steps:
        balance = balances.get(f"step/{step}", nothing)
        spends.append((balance.charged, balance.reserved, amounts.get(f"step/{step}", 0)))
    # The sums slide: each step is added once and taken off once, however long the window.
    charged = reserved = requested = oldest = 0
    for last, spend in zip(steps, spends, strict=True):
        charged, reserved, requested = charged + spend[0], reserved + spend[1], requested + spend[2]
        # The window that ends at ``last`` begins at last - window + 1.
        while steps[oldest] <= last - window:
            gone = spends[oldest]
            charged, reserved, requested = charged - gone[0], reserved - gone[1], requested - gone[2]
            oldest += 1
        yield last, (charged, reserved, requested)


def _load(dimension: str, capacity: int, balances: Mapping[str, Balance], amounts: Mapping[str, int]) -> Load:
    # A step that nobody has spent on has no row.
    balance = balances.get(dimension, Balance(capacity))
    return Load(dimension, capacity, balance.charged, balance.reserved, amounts.get(dimension, 0))


def _refusal(terms: Terms, load: Load) -> BudgetExceeded:
    text = format_delta if load.dimension == "delta" else format_epsilon
    remaining = text(max(0, load.remaining))
    where = f" in steps {load.window[0]} to {load.window[1]}" if load.window else ""
    return BudgetExceeded(
        f"{load.dimension} {text(load.requested)} was asked{where}; "
        f"{remaining} remains of {text(load.capacity)}",
        account_id=terms.account_id,
        unit=terms.unit,
        dimension=load.dimension,
        window=list(load.window) if load.window else None,
        requested=text(load.requested),
        remaining=remaining,
        capacity=text(load.capacity),
        charged=text(load.charged),
        reserved=text(load.reserved),
    )
