"""Many threads, one account: nothing is admitted, ended or spent twice, and nobody waits for ever."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from core.db.session import Database
from core.errors import BudgetExceeded, GraphveilError
from core.ids import new_id
from core.ledger import posting, service
from core.ledger.kinds import EntryKind
from core.ledger.models import BudgetAccount
from tests.support.ledger import call, charge, give_back, open_account, open_quota, reserve
from tests.support.patience import PATIENCE_SECONDS
from tests.support.postgres import PostgresCluster

THREADS = 64


@pytest.fixture(scope="module")
def wide(postgres_cluster: PostgresCluster) -> Iterator[Database]:
    """A database with a connection for every thread."""
    name = postgres_cluster.create()
    database = Database(postgres_cluster.address(name), pool_size=THREADS)
    database.engine.pool._timeout = PATIENCE_SECONDS  # a thousand wait for sixty-four connections
    yield database
    database.dispose()
    postgres_cluster.drop(name)


def race(attempt: Callable[[int], object]) -> Counter[str]:
    """All threads pass a barrier and try at once; how many ended how."""
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> str:
        barrier.wait(timeout=PATIENCE_SECONDS)
        try:
            attempt(number)
        except GraphveilError as refused:
            return type(refused).__name__
        return "done"

    with ThreadPoolExecutor(THREADS) as pool:
        return Counter(pool.map(run, range(THREADS), timeout=PATIENCE_SECONDS))


def intact(database: Database, account: BudgetAccount) -> bool:
    report = call(database, service.verify, account.id)
    assert report.violations == ()
    return report.intact


@pytest.mark.parametrize(
    ("terms", "amounts"),
    [
        ({}, {"epsilon": 1}),
        ({"delta_atto": 3}, {"epsilon": 1, "delta": 3}),
        ({"unit": "w-event", "window": 3}, {"step/6": 1}),
        ({"filter": "renyi", "delta_atto": 10**12, "orders": [1024]}, {f"rdp/{1024}": 1}),
    ],
)
def test_the_last_unit_is_admitted_once(wide: Database, terms: dict, amounts: dict[str, int]) -> None:
    account = open_account(wide, domain=new_id("domain"), **terms)
    room = call(wide, service.statement, account.id).remaining.nano_epsilon - 1
    first = next(iter(amounts))
    spent = {"step/4": room} if first.startswith("step") else {first: room}
    charge(wide, reserve(wide, account, spent))
    outcome = race(lambda number: reserve(wide, account, amounts, job_id=f"job_{number}"))
    assert outcome == {"done": 1, BudgetExceeded.__name__: THREADS - 1}
    assert intact(wide, account)


CROWD = 1_000


@pytest.mark.parametrize(
    "quota", [pytest.param(False, id="account"), pytest.param(True, id="quota", marks=pytest.mark.faults)]
)
def test_a_thousand_ask_for_the_last_nano_epsilon_and_one_has_it(wide: Database, quota: bool) -> None:
    account = open_account(wide, domain=new_id("domain"), nano_epsilon=1_000 if quota else 10)
    full = open_quota(wide, account, "team", "a", 10) if quota else account
    charge(wide, reserve(wide, account, {"epsilon": 9}, team="a"))
    barrier = threading.Barrier(CROWD)

    def ask(number: int) -> str:
        barrier.wait(timeout=PATIENCE_SECONDS)
        try:
            reserve(wide, account, {"epsilon": 1}, job_id=f"job_{number}", team="a")
        except BudgetExceeded as refused:
            return str(refused.members["account_id"])
        return "admitted"

    with ThreadPoolExecutor(CROWD) as pool:
        outcome = Counter(pool.map(ask, range(CROWD), timeout=PATIENCE_SECONDS))
    assert outcome == {"admitted": 1, full.id: CROWD - 1}
    told = call(wide, service.statement, full.id)
    assert (told.reserved.nano_epsilon, told.remaining.nano_epsilon) == (1, 0)
    assert intact(wide, account)
    assert intact(wide, full)


def test_a_reservation_ends_once_whoever_asks(wide: Database) -> None:
    account = open_account(wide, domain=new_id("domain"))
    reservation = reserve(wide, account, {"epsilon": 5}, expires_in_seconds=0.0)
    ends: tuple[Callable[[], object], ...] = (
        lambda: charge(wide, reservation),
        lambda: give_back(wide, reservation),
        lambda: call(wide, service.forfeit, reservation, reason="read", actor="worker"),
        lambda: call(wide, service.expire, reservation, reason="time", actor="reaper"),
    )
    outcome = race(lambda number: ends[number % 4]())
    assert outcome == {"done": THREADS // 4, "InvalidTransition": THREADS * 3 // 4}
    found = call(wide, service.entries, account.id, after=0, limit=100).entries
    assert len(found) == 3
    assert intact(wide, account)


def test_concurrent_openings_give_one_account(wide: Database) -> None:
    domain = new_id("domain")
    found: set[str] = set()
    assert race(lambda _: found.add(open_account(wide, domain=domain).id)) == {"done": THREADS}
    assert len(found) == 1


def test_charges_on_two_accounts_never_deadlock(wide: Database) -> None:
    accounts = [
        open_account(wide, domain=new_id("domain"), unit="w-event", window=4, nano_epsilon=10**9)
        for _ in range(2)
    ]

    def life(number: int) -> None:
        account = accounts[number % 2]
        # Each thread names the steps in another order: rows are locked by account, never by step.
        steps = [(number * 7 + t * (1 if number % 4 < 2 else -1)) % 20 for t in range(20)]
        amounts = {f"step/{step}": 1 for step in steps}
        for turn in range(3):
            reservation = reserve(wide, account, amounts, job_id=f"job_{number}")
            if turn == 1:
                give_back(wide, reservation, counts=False)
            else:
                charge(wide, reservation)

    assert race(life) == {"done": THREADS}
    for account in accounts:
        assert intact(wide, account)
        assert call(wide, service.statement, account.id).charged.nano_epsilon == THREADS // 2 * 2 * 4


def test_the_database_refuses_a_second_ending_by_itself(wide: Database) -> None:
    account = open_account(wide, domain=new_id("domain"))
    reservation = reserve(wide, account, {"epsilon": 5})
    ended = charge(wide, reservation)
    copy = {column.name: getattr(ended, column.name) for column in posting.ENTRIES.columns}
    copy.update(id=new_id("le"), sequence=ended.sequence + 1, kind=EntryKind.RELEASE.value)
    with pytest.raises(IntegrityError, match="one_terminal"), wide.transaction() as session:
        session.execute(posting.ENTRIES.insert().values(copy))


def test_the_database_refuses_an_overdraft_by_itself(wide: Database) -> None:
    account = open_account(wide, domain=new_id("domain"))
    statement = posting.BALANCES.update().where(posting.BALANCES.c.account_id == account.id)
    with pytest.raises(IntegrityError, match="within_capacity"), wide.transaction() as session:
        session.execute(statement.values(reserved=posting.BALANCES.c.capacity + 1))


@pytest.mark.parametrize(
    ("change", "guard"),
    [
        ("window_committed = capacity + 1", "window_within_capacity"),
        ("window_committed = charged + reserved - 1", "window_within_capacity"),
        ("window_committed = NULL", "step_numbered"),
        ("step = step + 1", "step_numbered"),
    ],
)
def test_the_database_refuses_an_overfull_window_by_itself(wide: Database, change: str, guard: str) -> None:
    account = open_account(wide, domain=new_id("domain"), unit="w-event", window=3)
    reserve(wide, account, {"step/6": 1})
    statement = text(f"UPDATE budget_balances SET {change} WHERE account_id = :id AND step IS NOT NULL")
    with pytest.raises(IntegrityError, match=guard), wide.transaction() as session:
        session.execute(statement, {"id": account.id})


def test_a_failure_after_the_reservation_leaves_nothing(wide: Database) -> None:
    account = open_account(wide, domain=new_id("domain"))
    before = call(wide, service.statement, account.id)

    def half_done() -> None:
        with wide.transaction() as session:
            service.reserve(
                session,
                account.id,
                amounts={"epsilon": 5},
                unit="edge",
                window=None,
                job_id="job_1",
                actor="requester",
                expires_in_seconds=None,
            )
            raise ConnectionError("lost")

    with pytest.raises(ConnectionError):
        half_done()
    assert call(wide, service.statement, account.id) == before
    assert intact(wide, account)
