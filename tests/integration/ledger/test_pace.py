"""What an account spends a day, divided by the days that it has stood, and the day that ends it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from core.db.session import Database
from core.ids import new_id
from core.ledger import pace
from core.ledger.models import BudgetAccount
from tests.support.ledger import adjust, call, charge, give_back, open_account, reserve

FOUR = 4 * 10**9
CURVE = {"rdp/2": 10**7, "rdp/8": 4 * 10**7, "rdp/32": 3 * 10**8}


def spent_by(database: Database, account: BudgetAccount, days_later: int = 0) -> pace.Spending:
    asked = {account.id, open_account(database, domain=new_id("d")).id}
    now = call(database, pace.spending, asked)[account.id]
    if not days_later:
        return now
    return call(database, pace.spending, asked, today=now.today + timedelta(days=days_later))[account.id]


def test_three_of_four_spent_on_the_first_day_are_three_a_day(module_database: Database) -> None:
    account = open_account(module_database, domain=new_id("d"), nano_epsilon=FOUR)
    assert spent_by(module_database, account).pace(FOUR).model_dump() == {
        "days": 1, "epsilon_per_day": "0", "ends_on": None}  # fmt: skip
    charge(module_database, reserve(module_database, account, {"epsilon": 2 * 10**9}))
    adjust(module_database, account, {"epsilon": 10**9})
    give_back(module_database, reserve(module_database, account, {"epsilon": 10**9}))
    spent = spent_by(module_database, account)
    told = spent.pace(10**9)
    assert (spent.days, told.epsilon_per_day, told.ends_on) == (1, "3", spent.today)


@pytest.mark.parametrize(
    ("later", "days", "spent", "left"), [(1, 2, 3, 0), (2, 3, 3, 1), (6, 7, 3, 2), (7, 7, 0, None)]
)
def test_the_mean_is_of_the_accounts_age_and_of_seven_days_at_most(
    module_database: Database, later: int, days: int, spent: int, left: int | None
) -> None:
    account = open_account(module_database, domain=new_id("d"), nano_epsilon=FOUR)
    charge(module_database, reserve(module_database, account, {"epsilon": 3 * 10**9}))
    found = spent_by(module_database, account, later)
    assert (found.days, found.nano_epsilon) == (days, spent * 10**9)
    ends = None if left is None else found.today + timedelta(days=left)
    assert found.pace(10**9).ends_on == ends


def test_a_curve_is_spent_as_its_statement_converts_it_and_a_window_has_no_pace(
    module_database: Database,
) -> None:
    terms = {"unit": "node", "filter": "renyi", "delta_atto": 10**12, "orders": (2, 8, 32)}
    account = open_account(module_database, domain=new_id("d"), nano_epsilon=10**11, **terms)
    assert spent_by(module_database, account).nano_epsilon == 0
    charge(module_database, reserve(module_database, account, CURVE))
    told = call(module_database, lambda session: session.execute(
        text("SELECT capacity_nano_epsilon - max(b.capacity - b.charged) FROM budget_accounts AS a "
             "JOIN budget_balances AS b ON b.account_id = a.id WHERE a.id = :id GROUP BY a.id"),
        {"id": account.id}).scalar_one())  # fmt: skip
    assert spent_by(module_database, account).nano_epsilon == told > 0
    assert spent_by(module_database, account, 7).nano_epsilon == 0
    stream = open_account(module_database, domain=new_id("d"), unit="w-event", window=2)
    charge(module_database, reserve(module_database, stream, {"step/1": 5}))
    assert call(module_database, pace.spending, [stream.id]) == {}


def test_what_is_left_for_ten_years_has_no_day_and_nothing_left_has_none(module_database: Database) -> None:
    today = spent_by(module_database, open_account(module_database, domain=new_id("d"))).today
    assert pace.Spending(today, 7, 7).pace(3_649).ends_on == today + timedelta(days=3_649)
    assert pace.Spending(today, 7, 7).pace(3_650).ends_on is None
    assert pace.Spending(today, 7, 7).pace(0).ends_on is None
