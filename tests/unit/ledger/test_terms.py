"""Terms that no filter can keep are refused; amounts must fit the account's dimensions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.errors import InvalidInput
from core.ledger.terms import DEFAULT_ORDERS, UNITS, Terms, checked_amounts, checked_terms, dimensions
from core.privacy.units import Unit

EDGE = Terms("acc", "edge", None, "basic", 10**9, 0)
STREAM = Terms("acc", "w-event", 5, "basic", 10**9, 0)
RENYI = Terms("acc", "edge", None, "renyi", 10**9, 10**12, (2, 8.5, 32))


def test_the_ledger_knows_every_privacy_unit() -> None:
    assert set(UNITS) == {unit.value for unit in Unit}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"unit": "person"}, "unit"),
        ({"filter": "zcdp"}, "filter"),
        ({"window": 3}, "window"),
        ({"unit": "w-event"}, "window"),
        ({"unit": "w-event", "window": 0}, "window"),
        ({"nano_epsilon": 0}, "epsilon"),
        ({"nano_epsilon": 0.5}, "epsilon"),
        ({"nano_epsilon": 10**15 + 1}, "epsilon"),
        ({"delta_atto": -1}, "delta"),
        ({"delta_atto": 10**18}, "delta"),
        ({"orders": (2,)}, "orders"),
        ({"filter": "renyi"}, "delta"),
        ({"filter": "renyi", "delta_atto": 1, "unit": "w-event", "window": 2}, "filter"),
        ({"filter": "renyi", "delta_atto": 10**12, "orders": (1,)}, "orders"),
        ({"filter": "renyi", "delta_atto": 10**12, "orders": (float("nan"),)}, "orders"),
        ({"filter": "renyi", "delta_atto": 10**12, "orders": (float("inf"),)}, "orders"),
        ({"filter": "renyi", "delta_atto": 10**12, "orders": tuple(range(2, 80))}, "orders"),
        ({"filter": "renyi", "delta_atto": 10**12, "orders": (2, 9)}, "orders"),  # metered at no order 9
        ({"filter": "renyi", "delta_atto": 10**12, "orders": (2, 2048)}, "orders"),
        ({"filter": "renyi", "delta_atto": 10**12, "orders": (True,)}, "orders"),
        ({"filter": "renyi", "delta_atto": 1, "orders": (1.5,)}, "epsilon"),
    ],
)
def test_terms_are_refused(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_terms(replace(EDGE, **changes))
    assert refused.value.members["field"] == field


def test_a_grid_is_sorted_and_without_repetitions() -> None:
    grid = checked_terms(replace(RENYI, nano_epsilon=10**11, orders=(8.0, 2, 8, 1.5, 2.0))).orders
    assert grid == (1.5, 2, 8)
    assert list(dimensions(replace(RENYI, orders=grid))) == ["rdp/1.5", "rdp/2", "rdp/8"]


def test_the_conversion_pays_for_the_size_of_the_grid() -> None:
    # ln(2 / 0.5) = 1.386294361119..., whole at order 2 and halved at order 3
    capacities = dimensions(replace(RENYI, nano_epsilon=10**10, delta_atto=5 * 10**17, orders=(2, 3)))
    assert capacities == {"rdp/2": 10**10 - 1_386_294_362, "rdp/3": 10**10 - 693_147_181}


def test_without_a_grid_there_is_the_default_one() -> None:
    assert checked_terms(replace(RENYI, orders=())).orders == DEFAULT_ORDERS


@pytest.mark.parametrize(
    ("terms", "amounts"),
    [
        (EDGE, {"step/0": 1}),
        (EDGE, {"untimed": 1}),
        (EDGE, {"rdp/2": 1}),
        (EDGE, {"epsilon": -1}),
        (EDGE, {"epsilon": 1.0}),
        (EDGE, {"epsilon": True}),
        (EDGE, {"epsilon": 10**30 + 1}),
        (EDGE, {"delta": 1}),
        (STREAM, {"epsilon": 1}),
        (STREAM, {"step/-1": 1}),
        (STREAM, {"step/01": 1}),
        (STREAM, {"step/1.5": 1}),
        (STREAM, {"step/1234567890": 1}),
        (RENYI, {"epsilon": 1}),
        (RENYI, {"rdp/2": 1, "rdp/8.5": 1}),
        (RENYI, {"rdp/2": 1, "rdp/8.5": 1, "rdp/32": 1, "rdp/64": 1}),
    ],
)
def test_amounts_are_refused(terms: Terms, amounts: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_amounts(terms, amounts)
    assert refused.value.members["field"] == "amounts"


@pytest.mark.parametrize("terms", [EDGE, STREAM, RENYI])
def test_zeros_claim_nothing(terms: Terms) -> None:
    assert checked_amounts(terms, {}) == {}
    assert checked_amounts(terms, dict.fromkeys(dimensions(terms), 0)) == {}
