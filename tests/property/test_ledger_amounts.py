"""Rounding never favours the spender, and nothing that is not an amount becomes one."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidInput
from core.ledger import amounts
from graphveil.amounts import format_delta, format_epsilon

EPSILONS = st.decimals(min_value="1e-30", max_value=1_000_000, allow_nan=False, allow_infinity=False)
CAPACITIES = st.decimals(min_value="1e-9", max_value=1_000_000, allow_nan=False, allow_infinity=False)
DELTAS = st.decimals(min_value=0, max_value="0.999999999999999999", allow_nan=False, allow_infinity=False)
FLOATS = st.floats(min_value=5e-324, max_value=1e6, allow_subnormal=True)


@given(EPSILONS)
def test_epsilon_costs_round_up_by_less_than_one_nano(value: Decimal) -> None:
    exact = Fraction(value) * 10**9
    assert exact <= amounts.epsilon_cost(value) < exact + 1


@given(CAPACITIES)
def test_epsilon_capacities_round_down_by_less_than_one_nano(value: Decimal) -> None:
    exact = Fraction(value) * 10**9
    assert exact - 1 < amounts.epsilon_capacity(value) <= exact


@given(DELTAS)
def test_deltas_round_towards_safety(value: Decimal) -> None:
    exact = Fraction(value) * 10**18
    assert amounts.delta_capacity(value) <= exact <= amounts.delta_cost(value)
    assert amounts.delta_cost(value) - amounts.delta_capacity(value) <= 1


@given(FLOATS)
def test_a_float_is_the_shortest_decimal_that_reads_back(value: float) -> None:
    cost = amounts.epsilon_cost(value)
    assert cost == amounts.epsilon_cost(repr(value))
    assert cost >= Fraction(Decimal(repr(value))) * 10**9


@given(st.lists(EPSILONS, min_size=1, max_size=200))
def test_many_small_costs_never_add_up_to_less_than_their_sum(values: list[Decimal]) -> None:
    assert sum(map(amounts.epsilon_cost, values)) >= sum(Fraction(value) for value in values) * 10**9


@given(st.integers(min_value=1, max_value=10**15))
def test_formatting_is_exact(nano: int) -> None:
    text = format_epsilon(nano)
    assert amounts.epsilon_cost(text) == amounts.epsilon_capacity(text) == nano


@given(st.integers(min_value=0, max_value=10**18 - 1))
def test_formatting_deltas_is_exact(atto: int) -> None:
    text = format_delta(atto)
    assert amounts.delta_cost(text) == amounts.delta_capacity(text) == atto


def test_the_smallest_float_costs_one_and_is_no_capacity() -> None:
    assert amounts.epsilon_cost(5e-324) == 1
    assert amounts.delta_cost(5e-324) == 1
    assert amounts.delta_capacity(5e-324) == 0
    with pytest.raises(InvalidInput) as refused:
        amounts.epsilon_capacity(5e-324)
    assert refused.value.members["field"] == "epsilon"


def test_a_tenth_is_a_tenth() -> None:
    assert amounts.epsilon_cost(0.1) == amounts.epsilon_capacity(0.1) == 100_000_000


NO_NUMBERS = [
    float("nan"),
    float("inf"),
    "nan",
    "inf",
    "0x1",
    "1_0",
    "-1",
    "",
    "٣",
    " ",
    "1e99999",
    True,
    None,
    [],
    Decimal("sNaN"),
    Decimal("-Infinity"),
]


@pytest.mark.parametrize("value", [*NO_NUMBERS, 0, -1, -0.5, 0.0, "0", 1e308, 1_000_001, "1e9999", 10**400])
@pytest.mark.parametrize("convert", [amounts.epsilon_cost, amounts.epsilon_capacity])
def test_what_is_no_epsilon_is_refused(convert: object, value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        convert(value, field="budget.epsilon")  # type: ignore[operator]
    assert refused.value.members["field"] == "budget.epsilon"


@pytest.mark.parametrize("value", [*NO_NUMBERS, -1, -5e-324, 1, 1.0, "1", 1e308])
@pytest.mark.parametrize("convert", [amounts.delta_cost, amounts.delta_capacity])
def test_what_is_no_delta_is_refused(convert: object, value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        convert(value)  # type: ignore[operator]
    assert refused.value.members["field"] == "delta"
