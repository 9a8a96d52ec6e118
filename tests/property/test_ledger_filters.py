"""The filters against their definitions, written out at full length."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BudgetExceeded
from core.ledger.filters import Balance, admits, decisive
from core.ledger.terms import Terms, dimensions, renyi_capacity

STEPS = 12
SMALL = st.integers(min_value=0, max_value=6)
ROWS = st.dictionaries(st.integers(min_value=0, max_value=STEPS - 1), st.tuples(SMALL, SMALL), max_size=STEPS)


def admitted(terms: Terms, balances: dict[str, Balance], amounts: dict[str, int]) -> bool:
    try:
        admits(terms, balances, amounts)
    except BudgetExceeded:
        return False
    return True


@given(
    window=st.integers(min_value=1, max_value=STEPS + 3),
    rows=ROWS,
    asked=st.dictionaries(st.integers(min_value=0, max_value=STEPS - 1), st.integers(1, 6), max_size=STEPS),
    untimed=st.tuples(SMALL, SMALL, SMALL),
    capacity=st.integers(min_value=1, max_value=60),
)
def test_every_window_of_every_stream_stays_within_capacity(
    window: int,
    rows: dict[int, tuple[int, int]],
    asked: dict[int, int],
    untimed: tuple[int, int, int],
    capacity: int,
) -> None:
    terms = Terms("acc", "w-event", window, "basic", capacity, 0)
    balances = {f"step/{t}": Balance(capacity, *spent) for t, spent in rows.items()}
    balances["untimed"] = Balance(capacity, untimed[0], untimed[1])
    amounts = {f"step/{t}": amount for t, amount in asked.items()}
    if untimed[2]:
        amounts["untimed"] = untimed[2]
    everywhere = sum(untimed)
    totals = [
        everywhere + sum(sum(rows.get(t, (0, 0))) + asked.get(t, 0) for t in range(first, first + window))
        for first in range(-window, STEPS + window)
    ]
    load = decisive(terms, balances, amounts)
    assert load.charged + load.reserved + load.requested == max(totals)
    assert load.fits == (max(totals) <= capacity)
    if amounts:
        assert admitted(terms, balances, amounts) == (max(totals) <= capacity)


@given(
    nano=st.integers(min_value=1, max_value=10**12),
    atto=st.integers(min_value=1, max_value=10**18 - 1),
    order=st.one_of(st.integers(2, 10**6), st.floats(1.01, 1000)),
    size=st.integers(1, 64),
)
def test_renyi_capacities_round_down(nano: int, atto: int, order: float, size: int) -> None:
    toll = math.log(size / (atto / 1e18)) / (order - 1)
    capacity = renyi_capacity(nano, atto, order, size)
    assert math.isclose(capacity, nano - toll * 1e9, rel_tol=1e-9, abs_tol=2 + toll * 1e-3)
    assert capacity <= nano - toll * 1e9 * (1 - 1e-12) + 1e-6


def test_a_renyi_capacity_is_the_floor_of_the_exact_value() -> None:
    # ln(2) / (2 - 1) at one order and delta 1/2: 0.69314718055994...
    assert renyi_capacity(10**9, 5 * 10**17, 2, 1) == 10**9 - 693_147_181


@given(
    spent=st.lists(st.tuples(SMALL, SMALL), min_size=3, max_size=3),
    asked=st.lists(st.integers(1, 6), min_size=3, max_size=3),
)
def test_renyi_admits_when_some_order_fits(spent: list[tuple[int, int]], asked: list[int]) -> None:
    terms = Terms("acc", "edge", None, "renyi", 3, 10**17, (2**30, 2**31, 2**32))
    capacities = dimensions(terms)
    balances = {
        d: Balance(capacity, *pair) for (d, capacity), pair in zip(capacities.items(), spent, strict=True)
    }
    amounts = dict(zip(capacities, asked, strict=True))
    fits = [
        sum(pair) + amount <= capacity
        for capacity, pair, amount in zip(capacities.values(), spent, asked, strict=True)
    ]
    assert admitted(terms, balances, amounts) == any(fits)


@given(spent=st.tuples(SMALL, SMALL), asked=st.integers(1, 6), delta=st.tuples(SMALL, SMALL, SMALL))
def test_basic_adds_epsilon_and_delta(
    spent: tuple[int, int], asked: int, delta: tuple[int, int, int]
) -> None:
    terms = Terms("acc", "pair", None, "basic", 9, 9)
    balances = {"epsilon": Balance(9, *spent), "delta": Balance(9, delta[0], delta[1])}
    amounts = {"epsilon": asked, "delta": delta[2]}
    assert admitted(terms, balances, amounts) == (sum(spent) + asked <= 9 and sum(delta) <= 9)


def test_a_refusal_explains_itself() -> None:
    terms = Terms("acc_1", "w-event", 3, "basic", 1_000_000_000, 0)
    balances = {"step/4": Balance(0, 300_000_000, 200_000_000), "step/5": Balance(0, 0, 250_000_000)}
    with pytest.raises(BudgetExceeded) as refused:
        admits(terms, balances, {"step/6": 250_000_001})
    assert refused.value.members == {
        "account_id": "acc_1",
        "unit": "w-event",
        "dimension": "epsilon",
        "window": [4, 6],
        "requested": "0.250000001",
        "remaining": "0.25",
        "capacity": "1",
        "charged": "0.3",
        "reserved": "0.45",
    }
    assert Fraction(refused.value.members["requested"]) > Fraction(refused.value.members["remaining"])
