"""What a privacy plan asks for is what an account of its unit and filter takes."""

from __future__ import annotations

import json

import pytest

from core.ledger.terms import Terms, checked_amounts, checked_terms, dimensions
from core.privacy.accounting.events import Pure
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.units import Unit


@pytest.mark.parametrize(
    ("terms", "window"),
    [
        (Terms("acc", "edge", None, "basic", 10**10, 0), None),
        (Terms("acc", "event", None, "basic", 10**10, 0), None),
        (Terms("acc", "pair", None, "basic", 10**10, 0), None),
        (Terms("acc", "w-event", 2, "basic", 10**10, 0), 2),
        (Terms("acc", "edge", None, "renyi", 10**10, 10**12), None),
    ],
)
def test_a_plan_spends_in_the_accounts_dimensions(terms: Terms, window: int | None) -> None:
    opened = checked_terms(terms)
    timed = opened.unit != "edge"
    allotments = tuple(
        Allotment("knows", step if timed else None, Pure(10**8, "laplace"), "degrees")
        for step in range(3 if timed else 1)
    )
    plan = PrivacyPlan("psgraph", Unit(opened.unit), window, 3 if timed else 1, allotments)
    orders = json.loads(json.dumps(opened.orders))  # as the database returns them
    asked = checked_amounts(opened, plan.spend(opened.filter, orders))
    assert asked
    if opened.unit == "w-event":
        assert asked == {"step/0": 10**8, "step/1": 10**8, "step/2": 10**8}
    else:
        assert asked.keys() <= dimensions(opened).keys()
