"""Reading only what matters of a stream's balances: the filter, its refusals and windows stay the same."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.db.session import Database
from core.errors import BudgetExceeded
from core.ids import new_id
from core.ledger import holdings, service
from core.ledger.filters import Balance, admits, reach, tightest_window, windows_changed
from core.ledger.posting import BALANCES
from core.ledger.statement import statement_of
from core.ledger.terms import Terms
from tests.support.groups import examples
from tests.support.ledger import call, charge, open_account

STEPS = 40
CAPACITY = 60
WINDOWS = st.one_of(st.integers(1, 6), st.integers(7, STEPS + 5), st.just(10**8))
SPENT = st.dictionaries(
    st.integers(0, STEPS - 1), st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=STEPS
)
ASKED = st.dictionaries(st.integers(0, STEPS + 3), st.integers(1, 12), max_size=6)


def amounts_of(asked: Mapping[int, int], untimed: int) -> dict[str, int]:
    return {f"step/{t}": a for t, a in asked.items()} | ({"untimed": untimed} if untimed else {})


def committed(rows: Mapping[int, tuple[int, int]], first: int, last: int) -> int:
    return sum(sum(spent) for step, spent in rows.items() if first <= step <= last)


def refusal(terms: Terms, balances: Mapping[str, Balance], amounts: Mapping[str, int]) -> object:
    try:
        admits(terms, balances, amounts)
    except BudgetExceeded as refused:
        return str(refused), refused.members
    return None


@given(
    window=st.integers(1, 9),
    names=st.lists(st.integers(0, STEPS), max_size=8, unique=True),
)
def test_the_reach_is_every_step_that_shares_a_window(window: int, names: list[int]) -> None:
    found = reach(window, [*(f"step/{t}" for t in names), "untimed", "delta"])
    covered = [t for first, last in found for t in range(first, last + 1)]
    assert covered == sorted({t for s in names for t in range(max(0, s - window + 1), s + window)})


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    window=WINDOWS,
    rows=SPENT,
    base=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    asked=ASKED,
    untimed=st.integers(0, 9),
    shown=st.integers(1, 8),
    span=st.tuples(st.integers(0, STEPS), st.integers(0, STEPS)).map(sorted),
)
def test_what_is_read_decides_as_everything_would(
    module_database: Database,
    window: int,
    rows: dict[int, tuple[int, int]],
    base: tuple[int, int],
    asked: dict[int, int],
    untimed: int,
    shown: int,
    span: list[int],
) -> None:
    # A state that the ledger can be in: every window within capacity.
    fullest = max((committed(rows, t - window + 1, t) for t in rows), default=0)
    capacity = max(CAPACITY, fullest + sum(base))
    account = open_account(
        module_database, domain=new_id("d"), unit="w-event", window=window, nano_epsilon=capacity
    )
    terms = account.terms
    full = {f"step/{t}": Balance(capacity, *spent) for t, spent in rows.items()}
    full |= {"untimed": Balance(capacity, *base), "delta": Balance(0)}
    amounts = amounts_of(asked, untimed)
    with module_database.transaction() as session:
        where = BALANCES.update().where(
            BALANCES.c.account_id == account.id, BALANCES.c.dimension == "untimed"
        )
        session.execute(where.values(charged=base[0], reserved=base[1]))
        for t, (charged, reserved) in rows.items():
            session.execute(
                BALANCES.insert().values(
                    account_id=account.id,
                    dimension=f"step/{t}",
                    capacity=capacity,
                    binding=True,
                    charged=charged,
                    reserved=reserved,
                    step=t,
                    window_committed=Decimal(committed(rows, t - window + 1, t)),
                )
            )
    with module_database.transaction() as session, mock.patch.object(holdings, "STEPS_SHOWN", shown):
        read = holdings.balances(session, account.id, window, amounts)
        standing, told = holdings.snapshot(session, account.id)
        _, ahead = holdings.snapshot(session, account.id, window=window, requested=amounts)
        _, within = holdings.snapshot(session, account.id, steps=(span[0], span[1]))
    for part in (read, told, ahead, within):
        assert part.items() <= full.items()
        assert {"untimed", "delta"} <= part.keys()
    expected = refusal(terms, full, amounts)
    assert refusal(terms, read, amounts) == expected
    assert refusal(terms, ahead, amounts) == expected
    assert tightest_window(terms, told, {}) == tightest_window(terms, full, {})
    assert tightest_window(terms, within, {}) == tightest_window(terms, full, {})
    assert tightest_window(terms, ahead, amounts) == tightest_window(terms, full, amounts)
    for sign in (+1, -1):
        assert windows_changed(terms, read, amounts, sign) == {
            t: committed(rows, t - window + 1, t)
            + sign * sum(a for s, a in asked.items() if t - window < s <= t)
            for t in {*rows, *asked}
            if any(t - window < s <= t for s in asked)
        }
    latest = sorted(rows)[-shown:]
    assert {f"step/{t}" for t in latest} <= told.keys()
    first = [t for t in sorted(rows) if span[0] <= t <= span[1]][:shown]
    assert {f"step/{t}" for t in first} <= within.keys()
    if len(rows) > shown:
        assert len(within) <= 2 + shown + 1 + min(window, len(rows))
    with mock.patch.object(holdings, "STEPS_SHOWN", shown):
        asked_for = statement_of(standing, within, steps=(span[0], span[1])).steps
        by_default = statement_of(standing, told).steps
    assert asked_for.steps == tuple(first)
    assert asked_for.complete == (sum(span[0] <= t <= span[1] for t in rows) <= shown)
    assert by_default.complete == (len(rows) <= shown)
    assert len(by_default.steps) <= max(shown, 2)
    assert not by_default.complete or by_default.steps == tuple(sorted(rows))


def test_a_read_does_not_grow_with_the_past(module_database: Database) -> None:
    account = open_account(module_database, domain=new_id("d"), unit="w-event", window=5, nano_epsilon=50)
    for first in range(0, 3_000, 500):
        amounts = {f"step/{t}": 10 for t in range(first, first + 500)}
        with module_database.transaction() as session:
            reservation = service.reserve(
                session,
                account.id,
                amounts=amounts,
                unit="w-event",
                window=5,
                job_id="job_1",
                actor="requester",
                expires_in_seconds=None,
            )
        charge(module_database, reservation)
    with module_database.transaction() as session:
        assert len(holdings.balances(session, account.id, 5, {"step/3000": 10})) == 2 + 4
        assert len(holdings.balances(session, account.id, 5, {"step/3000": 10, "untimed": 1})) == 2 + 4 + 5
        assert len(holdings.balances(session, account.id, 5, {"step/100": 10})) == 2 + 9
    told = call(module_database, service.statement, account.id)
    assert told.tightest_window == (0, 4)
    assert not told.steps.complete
    assert told.steps.steps == (*range(5), *range(2_500, 3_000))
    page = call(module_database, service.statement, account.id, steps=(1_200, 2_999))
    assert (page.steps.steps, page.steps.complete) == (tuple(range(1_200, 2_200)), False)
    rest = call(module_database, service.statement, account.id, steps=(2_200, 2_999))
    assert (rest.steps.steps, rest.steps.complete) == (tuple(range(2_200, 3_000)), True)
    assert call(module_database, service.verify, account.id).intact


@pytest.mark.parametrize("untimed", [0, 1])
def test_a_full_window_far_away_refuses_what_counts_everywhere(
    module_database: Database, untimed: int
) -> None:
    account = open_account(module_database, domain=new_id("d"), unit="w-event", window=2, nano_epsilon=10)
    far = {"step/100": 4, "step/101": 6}
    asked = {"step/5": 9, "untimed": untimed}
    request = {"unit": "w-event", "window": 2, "job_id": "j", "actor": "a", "expires_in_seconds": None}
    call(module_database, service.reserve, account.id, amounts=far, **request)
    if not untimed:
        call(module_database, service.reserve, account.id, amounts=asked, **request)
        return
    with pytest.raises(BudgetExceeded) as refused:
        call(module_database, service.reserve, account.id, amounts=asked, **request)
    assert refused.value.members["window"] == [100, 101]
