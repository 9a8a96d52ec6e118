"""At the service's edge: what is no amount moves nothing, and what is one adds up exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.db.session import Database
from core.errors import GraphveilError, InvalidInput
from core.ids import new_id
from core.ledger import service
from core.ledger.amounts import epsilon_capacity, epsilon_cost
from core.ledger.models import BudgetAccount
from graphveil.amounts import format_epsilon
from tests.support.groups import examples
from tests.support.ledger import adjust, call, charge, open_account, reserve

ODD = [float("nan"), float("inf"), -float("inf"), 5e-324, 1e308, 0.5, 1.0, -1, -(10**40), 10**40, 10**400]
ODD += [True, False, None, "1", "NaN", b"1", [], {}, Decimal(1), Decimal("NaN"), 1j]
NO_INTEGER = st.one_of(
    st.sampled_from(ODD),
    st.floats(),
    st.decimals(),
    st.booleans(),
    st.integers(max_value=-1),
    st.integers(min_value=10**30 + 1),
    st.text(max_size=3),
)
DIMENSIONS = {
    "edge": ["epsilon", "delta"],
    "w-event": ["untimed", "delta", "step/0", "step/7"],
    "renyi": ["rdp/2", "rdp/32"],
}


@pytest.fixture(scope="module")
def accounts(module_database: Database) -> dict[str, BudgetAccount]:
    renyi = {"filter": "renyi", "orders": [2, 32]}
    terms: dict[str, dict[str, Any]] = {
        "edge": {},
        "w-event": {"unit": "w-event", "window": 2},
        "renyi": renyi,
    }
    return {
        shape: open_account(module_database, domain=new_id("d"), delta_atto=10**12, **chosen)
        for shape, chosen in terms.items()
    }


@settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), value=NO_INTEGER)
@pytest.mark.parametrize("shape", DIMENSIONS)
def test_what_is_no_amount_is_refused_and_moves_nothing(
    module_database: Database, accounts: dict[str, BudgetAccount], shape: str, data: st.DataObject, value: Any
) -> None:
    account = accounts[shape]
    odd = data.draw(st.sampled_from(DIMENSIONS[shape]))
    asked = {dimension: 1 for dimension in DIMENSIONS[shape] if not dimension.startswith("step/")}
    before = call(module_database, service.statement, account.id)
    for operation in (reserve, adjust):
        with pytest.raises(InvalidInput):
            operation(module_database, account, {**asked, odd: value})
    assert call(module_database, service.statement, account.id) == before


@given(value=NO_INTEGER)
@settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_capacity_is_given_that_is_no_amount(
    module_database: Database, accounts: dict[str, BudgetAccount], value: Any
) -> None:
    account = accounts["edge"]
    persons = {"actor": "curator-a", "approver": "curator-b", "reason": "why"}
    for amounts in ({"nano_epsilon": value, "delta_atto": 0}, {"nano_epsilon": 1, "delta_atto": value}):
        with pytest.raises(InvalidInput):
            call(module_database, service.grant, account.id, **amounts, **persons)
        with pytest.raises(GraphveilError):
            open_account(module_database, domain=new_id("d"), **amounts)
    assert call(module_database, service.statement, account.id).capacity.nano_epsilon == 10**9


@pytest.mark.audits
def test_ten_thousand_small_amounts_add_up_exactly(module_database: Database) -> None:
    # A tenth of a millionth ten thousand times: binary floats would be off, and one more does not fit.
    count = 10_000
    account = open_account(
        module_database,
        domain=new_id("d"),
        unit="w-event",
        window=count,
        nano_epsilon=epsilon_capacity("0.001"),
    )
    amounts = {f"step/{t}": epsilon_cost(0.0000001) for t in range(count)}
    assert sum(amounts.values()) == Fraction("0.0000001") * count * 10**9
    charge(module_database, reserve(module_database, account, amounts))
    told = call(module_database, service.statement, account.id)
    assert (told.charged.epsilon, told.remaining.nano_epsilon) == ("0.001", 0)
    for more in (5e-324, "1e-300", format_epsilon(1)):
        with pytest.raises(GraphveilError, match="remains of"):
            reserve(module_database, account, {"untimed": epsilon_cost(more)})
    assert call(module_database, service.verify, account.id).violations == ()


@pytest.mark.audits
def test_hundreds_of_entries_add_up_exactly(module_database: Database) -> None:
    account = open_account(module_database, domain=new_id("d"), nano_epsilon=800)
    with module_database.transaction() as session:
        for _ in range(400):
            service.adjust(
                session, account.id, amounts={"epsilon": 2}, actor="curator-a", reason="one of many"
            )
    told = call(module_database, service.statement, account.id)
    assert (told.charged.epsilon, told.remaining.nano_epsilon, told.entries) == ("0.0000008", 0, 401)
    assert call(module_database, service.verify, account.id).violations == ()
