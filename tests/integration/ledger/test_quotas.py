"""Quotas below a domain's account: charged together with it, in all or in none, and never in a deadlock."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from threading import Barrier

import pytest
from sqlalchemy import event

from core.db.session import Database
from core.errors import BudgetExceeded, Conflict, InvalidInput, NotFound
from core.ids import new_id
from core.ledger import holdings, service
from core.ledger.invariants import INVARIANTS
from core.ledger.models import BudgetAccount
from tests.support.ledger import call, charge, give_back, open_account, open_quota, reserve
from tests.support.patience import PATIENCE_SECONDS
from tests.support.postgres import PostgresCluster


@pytest.fixture
def account(module_database: Database) -> BudgetAccount:
    return open_account(module_database, domain=new_id("domain"), nano_epsilon=100, delta_atto=10)


def held(database: Database, *accounts: BudgetAccount) -> list[tuple[int, int]]:
    """Charged and reserved nano-epsilon of each."""
    found = [call(database, service.statement, each.id) for each in accounts]
    return [(told.charged.nano_epsilon, told.reserved.nano_epsilon) for told in found]


def sound(database: Database, *accounts: BudgetAccount) -> None:
    for each in accounts:
        assert call(database, service.verify, each.id).violations == ()


def test_a_reservation_is_set_aside_and_ends_in_every_account(
    module_database: Database, account: BudgetAccount
) -> None:
    team = open_quota(module_database, account, "team", "a", 60, 10)
    project = open_quota(module_database, account, "project", "x", 50, 10)
    both = {"team": "a", "project": "x"}
    kept = reserve(module_database, account, {"epsilon": 30, "delta": 1}, **both)
    other = reserve(module_database, account, {"epsilon": 5}, team="a", project="nobody's")
    assert held(module_database, account, team, project) == [(0, 35), (0, 35), (0, 30)]
    entry = charge(module_database, kept)
    assert (entry.account_id, entry.job_id) == (account.id, "job_1")
    assert charge(module_database, kept).id == entry.id
    assert call(module_database, service.terminal_of, kept).id == entry.id
    give_back(module_database, other)
    assert held(module_database, account, team, project) == [(30, 0), (30, 0), (30, 0)]
    assert call(module_database, holdings.snapshot, account.id)[0].consecutive_give_backs == 1
    assert call(module_database, holdings.snapshot, team.id)[0].consecutive_give_backs == 0
    overdue = reserve(module_database, account, {"epsilon": 1}, expires_in_seconds=0.0, **both)
    found = [
        e for e in call(module_database, service.overdue_reservations, 1000) if e.reservation_id == overdue
    ]
    assert [e.account_id for e in found] == [account.id]
    call(module_database, service.expire, overdue, reason="time", actor="reaper")
    sound(module_database, account, team, project)


def test_a_full_quota_refuses_and_leaves_nothing_anywhere(
    module_database: Database, account: BudgetAccount
) -> None:
    team = open_quota(module_database, account, "team", "a", 60, 10)
    project = open_quota(module_database, account, "project", "x", 20)
    with pytest.raises(BudgetExceeded, match="the quota of the project 'x'") as refused:
        reserve(module_database, account, {"epsilon": 21}, team="a", project="x")
    assert refused.value.members["account_id"] == project.id
    assert refused.value.members["quota"] == {"scope": "project", "name": "x"}
    assert refused.value.members["remaining"] == "0.00000002"
    with pytest.raises(BudgetExceeded) as refused:  # the quota was given no delta
        reserve(module_database, account, {"epsilon": 1, "delta": 1}, project="x")
    assert refused.value.members["dimension"] == "delta"
    with pytest.raises(BudgetExceeded):
        call(
            module_database,
            service.preview,
            account.id,
            amounts={"epsilon": 21},
            unit="edge",
            window=None,
            project="x",
        )
    assert held(module_database, account, team, project) == [(0, 0)] * 3
    reserve(module_database, account, {"epsilon": 70})  # who names no quota draws on the account alone
    with pytest.raises(BudgetExceeded) as refused:
        reserve(module_database, account, {"epsilon": 31}, team="a")
    assert (refused.value.members["account_id"], refused.value.members["quota"]) == (account.id, None)
    sound(module_database, account, team, project)


@pytest.mark.parametrize("shape", ["w-event", "renyi"])
def test_a_quota_counts_as_its_account_does(module_database: Database, shape: str) -> None:
    stream = shape == "w-event"
    terms = {"unit": "w-event", "window": 2} if stream else {"filter": "renyi", "orders": [2, 1024]}
    account = open_account(module_database, domain=new_id("d"), delta_atto=10**12, **terms)
    quota = open_quota(module_database, account, "team", "a", 10**8, 10**12)
    room = call(module_database, service.statement, quota.id).remaining.nano_epsilon
    asked = {"step/4": room} if stream else {"rdp/2": 10**12, f"rdp/{1024}": room}
    first = reserve(module_database, account, asked, team="a")
    more = {"step/5": 1} if stream else {"rdp/2": 1, f"rdp/{1024}": 1}
    with pytest.raises(BudgetExceeded) as refused:
        reserve(module_database, account, more, team="a")
    assert refused.value.members["account_id"] == quota.id
    give_back(module_database, first, counts=False)
    charge(module_database, reserve(module_database, account, more, team="a"))
    sound(module_database, account, quota)


def test_quotas_are_opened_once_and_listed(module_database: Database, account: BudgetAccount) -> None:
    team = open_quota(module_database, account, "team", "a", 60)
    assert open_quota(module_database, account, "team", "a", 60).id == team.id
    project = open_quota(module_database, account, "project", "a", 60)
    assert {q.id for q in call(module_database, service.quotas, account.id)} == {team.id, project.id}
    assert call(module_database, service.quotas, team.id) == []
    told = call(module_database, service.statement, team.id)
    assert (told.parent_id, told.scope, told.scope_name) == (account.id, "team", "a")
    assert (told.unit, told.filter, told.capacity.nano_epsilon) == ("edge", "basic", 60)
    with pytest.raises(Conflict):
        open_quota(module_database, account, "team", "a", 61)
    with pytest.raises(NotFound):
        open_quota(module_database, team, "project", "x", 1)
    with pytest.raises(NotFound):
        reserve(module_database, team, {"epsilon": 1})
    for scope, name, nano in (("domain", "a", 1), ("team", "", 1), ("team", "x" * 65, 1), ("team", "b", 0)):
        with pytest.raises(InvalidInput):
            open_quota(module_database, account, scope, name, nano)


def test_reservations_over_crossing_quotas_never_deadlock(postgres_cluster: PostgresCluster) -> None:
    name = postgres_cluster.create()
    database = Database(postgres_cluster.address(name), pool_size=16)
    try:
        _cross(database)
    finally:
        database.dispose()
        postgres_cluster.drop(name)


def _cross(database: Database) -> None:
    accounts = [open_account(database, domain=new_id("domain"), nano_epsilon=10**6) for _ in range(2)]
    teams, projects, threads, turns = ("a", "b"), ("x", "y"), 16, 6
    quotas = [
        open_quota(database, account, scope, name, 10**6)
        for account in accounts
        for scope, names in (("project", projects), ("team", teams))
        for name in names
    ]
    pairs = list(product(teams, projects))
    barrier = Barrier(threads)

    def life(number: int) -> None:
        barrier.wait(timeout=PATIENCE_SECONDS)
        account = accounts[number % 2]
        for turn in range(turns):
            team, project = pairs[(number // 2 + turn) % len(pairs)]
            reservation = reserve(database, account, {"epsilon": 1}, team=team, project=project)
            # A retry gives one reservation back and takes another, in one transaction.
            with database.transaction() as session:
                service.release(
                    session, reservation, reason="lost", actor="reaper", give_back=False, block_after=3
                )
                again = service.reserve(
                    session,
                    account.id,
                    amounts={"epsilon": 1},
                    unit="edge",
                    window=None,
                    job_id="job_1",
                    actor="reaper",
                    expires_in_seconds=None,
                    team=team,
                    project=pairs[(number + turn) % len(pairs)][1],
                )
            charge(database, again)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(life, range(threads), timeout=PATIENCE_SECONDS))
    for account in accounts:
        assert held(database, account) == [(threads // 2 * turns, 0)]
    spent = held(database, *quotas)
    assert sum(charged for charged, _ in spent) == 2 * threads * turns
    for invariant in INVARIANTS:
        assert call(database, invariant.check) == []


def test_without_quotas_a_reservation_takes_two_round_trips(
    module_database: Database, account: BudgetAccount
) -> None:
    open_quota(module_database, account, "team", "other", 60)
    sent: list[str] = []

    def count(*arguments: object) -> None:
        sent.append(str(arguments[2]))

    reserve(module_database, account, {"epsilon": 1}, team="a")
    event.listen(module_database.engine, "before_cursor_execute", count)
    try:
        for team, trips in ((None, 2), ("a", 2), ("other", 3)):
            sent.clear()
            reservation = reserve(module_database, account, {"epsilon": 1}, team=team)
            assert len(sent) == trips
            sent.clear()
            charge(module_database, reservation)
            assert len(sent) == (4 if team == "other" else 3)
    finally:
        event.remove(module_database.engine, "before_cursor_execute", count)
