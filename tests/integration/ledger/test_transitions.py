"""One account's life, step by step, on a real PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest

from core.db.session import Database
from core.errors import (
    AccountBlocked,
    AccountExposed,
    BudgetExceeded,
    Conflict,
    InvalidInput,
    InvalidTransition,
    NotFound,
    UnitMismatch,
)
from core.ids import new_id
from core.ledger import repository, service
from core.ledger.kinds import EntryKind
from core.ledger.models import BudgetAccount
from graphveil.models.ledger import Budget
from tests.support.ledger import DIGESTS, call, charge, give_back, open_account, reserve

TENTH = 100_000_000


@pytest.fixture
def account(module_database: Database) -> BudgetAccount:
    return open_account(module_database, domain=new_id("domain"))


def statement(database: Database, account: BudgetAccount) -> Budget:
    return call(database, service.statement, account.id)


def kinds(database: Database, account: BudgetAccount) -> list[str]:
    return [entry.kind for entry in call(database, service.entries, account.id, after=0, limit=100).entries]


def end(database: Database, kind: EntryKind, reservation_id: str) -> Any:
    if kind is EntryKind.CHARGE:
        return charge(database, reservation_id)
    if kind is EntryKind.RELEASE:
        return give_back(database, reservation_id, counts=False)
    operation = {EntryKind.FORFEIT: service.forfeit, EntryKind.EXPIRE: service.expire}[kind]
    return call(database, operation, reservation_id, reason="time", actor="reaper")


def test_a_charge_is_spent_and_named(module_database: Database, account: BudgetAccount) -> None:
    reservation = reserve(module_database, account, {"epsilon": 3 * TENTH, "delta": 0}, job_id="job_9")
    assert statement(module_database, account).reserved.nano_epsilon == 3 * TENTH
    entry = charge(module_database, reservation)
    after = statement(module_database, account)
    assert (after.charged.epsilon, after.reserved.nano_epsilon, after.remaining.epsilon) == (
        "0.3",
        0,
        "0.7",
    )
    assert (entry.kind, entry.job_id, entry.digests, entry.sequence) == ("charge", "job_9", DIGESTS, 3)
    assert after.entries == 3
    assert after.head == entry.hash.hex()
    stored = call(module_database, service.terminal_of, reservation)
    assert stored.hash == entry.hash
    assert call(module_database, service.verify, account.id).intact


@pytest.mark.parametrize("first", [EntryKind.CHARGE, EntryKind.FORFEIT, EntryKind.RELEASE, EntryKind.EXPIRE])
def test_a_reservation_ends_once(module_database: Database, account: BudgetAccount, first: EntryKind) -> None:
    reservation = reserve(module_database, account, {"epsilon": TENTH}, expires_in_seconds=0.0)
    ended = end(module_database, first, reservation)
    assert end(module_database, first, reservation).id == ended.id
    for other in {EntryKind.CHARGE, EntryKind.FORFEIT, EntryKind.RELEASE, EntryKind.EXPIRE} - {first}:
        with pytest.raises(InvalidTransition):
            end(module_database, other, reservation)
    with pytest.raises(InvalidTransition):
        call(module_database, service.keep, reservation)
    spent = first in (EntryKind.CHARGE, EntryKind.FORFEIT)
    assert statement(module_database, account).charged.nano_epsilon == (TENTH if spent else 0)
    assert kinds(module_database, account) == ["grant", "reserve", first]


def test_a_charge_is_not_repeated_for_other_files(module_database: Database, account: BudgetAccount) -> None:
    reservation = reserve(module_database, account, {"epsilon": TENTH})
    charge(module_database, reservation)
    with pytest.raises(InvalidTransition):
        call(module_database, service.charge, reservation, digests={"other": "cd" * 32}, actor="worker")


def test_a_refusal_names_all_figures_and_changes_nothing(
    module_database: Database, account: BudgetAccount
) -> None:
    charge(module_database, reserve(module_database, account, {"epsilon": 4 * TENTH}))
    reserve(module_database, account, {"epsilon": 5 * TENTH}, expires_in_seconds=60)
    before = statement(module_database, account)
    with pytest.raises(BudgetExceeded) as refused:
        reserve(module_database, account, {"epsilon": TENTH + 1})
    members = refused.value.members
    expiry = members.pop("earliest_expiry_at")
    assert isinstance(expiry, str)
    assert members == {
        "account_id": account.id,
        "unit": "edge",
        "dimension": "epsilon",
        "window": None,
        "requested": "0.100000001",
        "remaining": "0.1",
        "capacity": "1",
        "charged": "0.4",
        "reserved": "0.5",
        "quota": None,
    }
    assert statement(module_database, account) == before
    reserve(module_database, account, {"epsilon": TENTH})


def test_delta_is_held_to_as_well(module_database: Database) -> None:
    account = open_account(module_database, domain=new_id("domain"), delta_atto=10)
    reserve(module_database, account, {"epsilon": 1, "delta": 6})
    with pytest.raises(BudgetExceeded) as refused:
        reserve(module_database, account, {"epsilon": 1, "delta": 5})
    assert refused.value.members["dimension"] == "delta"
    assert refused.value.members["remaining"] == "0.000000000000000004"


def test_preview_tells_and_changes_nothing(module_database: Database, account: BudgetAccount) -> None:
    terms = {"unit": "edge", "window": None}
    before = statement(module_database, account)
    after = call(module_database, service.preview, account.id, amounts={"epsilon": TENTH}, **terms)
    assert after.remaining.nano_epsilon == 9 * TENTH
    assert statement(module_database, account) == before
    with pytest.raises(BudgetExceeded):
        call(module_database, service.preview, account.id, amounts={"epsilon": 11 * TENTH}, **terms)
    with pytest.raises(UnitMismatch):
        call(module_database, service.preview, account.id, amounts={}, unit="event", window=None)


def test_units_never_mix(module_database: Database, account: BudgetAccount) -> None:
    for unit, window in (("event", None), ("pair", None), ("w-event", 3), ("edge", 3)):
        with pytest.raises(UnitMismatch):
            call(
                module_database,
                service.reserve,
                account.id,
                amounts={"epsilon": 1},
                unit=unit,
                window=window,
                job_id="job_1",
                actor="requester",
                expires_in_seconds=None,
            )


def test_only_what_is_overdue_and_not_kept_expires(module_database: Database, account: BudgetAccount) -> None:
    late = reserve(module_database, account, {"epsilon": 1}, expires_in_seconds=0.0)
    begun = reserve(module_database, account, {"epsilon": 1}, expires_in_seconds=0.0)
    early = reserve(module_database, account, {"epsilon": 1}, expires_in_seconds=600)
    endless = reserve(module_database, account, {"epsilon": 1}, expires_in_seconds=None)
    call(module_database, service.keep, begun)
    call(module_database, service.keep, begun)
    overdue = call(module_database, service.overdue_reservations, 10_000)
    assert [e.reservation_id for e in overdue if e.account_id == account.id] == [late]
    for kept in (begun, early, endless):
        with pytest.raises(InvalidTransition, match="not overdue"):
            end(module_database, EntryKind.EXPIRE, kept)
    end(module_database, EntryKind.EXPIRE, late)
    assert all(
        e.account_id != account.id for e in call(module_database, service.overdue_reservations, 10_000)
    )
    assert statement(module_database, account).reserved.nano_epsilon == 3


def test_three_give_backs_in_a_row_block(module_database: Database, account: BudgetAccount) -> None:
    for _ in range(2):
        give_back(module_database, reserve(module_database, account, {"epsilon": 1}))
    give_back(module_database, reserve(module_database, account, {"epsilon": 1}), counts=False)
    charge(module_database, reserve(module_database, account, {"epsilon": 1}))  # starts the count anew
    for _ in range(2):
        give_back(module_database, reserve(module_database, account, {"epsilon": 1}))
    open_still = reserve(module_database, account, {"epsilon": 1})
    assert not statement(module_database, account).blocked
    give_back(module_database, reserve(module_database, account, {"epsilon": 1}))
    assert statement(module_database, account).blocked
    with pytest.raises(AccountBlocked):
        reserve(module_database, account, {"epsilon": 1})
    charge(module_database, open_still)  # what runs may end; the block stays
    with pytest.raises(AccountBlocked):
        reserve(module_database, account, {"epsilon": 1})
    call(module_database, service.unblock, account.id, actor="curator", reason="looked into it")
    assert call(module_database, service.unblock, account.id, actor="curator", reason="again") is None
    reserve(module_database, account, {"epsilon": 1})
    assert kinds(module_database, account).count("adjust") == 1
    assert call(module_database, service.verify, account.id).intact


def test_an_exposed_account_takes_no_finite_claim(module_database: Database, account: BudgetAccount) -> None:
    running = reserve(module_database, account, {"epsilon": TENTH})
    bare = reserve(module_database, account, {}, job_id="job_bare")
    note = {"job_id": "job_bare", "digests": DIGESTS, "actor": "worker", "reason": "unprotected"}
    entry = call(module_database, service.expose, account.id, **note)
    assert call(module_database, service.expose, account.id, **note).id == entry.id
    charge(module_database, bare)
    assert statement(module_database, account).exposed
    with pytest.raises(AccountExposed):
        reserve(module_database, account, {"epsilon": 1})
    reserve(module_database, account, {"epsilon": 0, "delta": 0})
    with pytest.raises(AccountExposed):
        charge(module_database, running)
    call(module_database, service.forfeit, running, reason="account_exposed", actor="worker")
    assert statement(module_database, account).charged.nano_epsilon == TENTH
    assert call(module_database, service.verify, account.id).intact


def test_only_an_empty_reservation_is_charged_as_free(
    module_database: Database, account: BudgetAccount
) -> None:
    full = reserve(module_database, account, {"epsilon": TENTH, "delta": 0})
    with pytest.raises(InvalidTransition, match="not free"):
        call(module_database, service.charge, full, digests=DIGESTS, actor="worker", free=True)
    assert kinds(module_database, account)[-1] == "reserve"
    empty = reserve(module_database, account, {})
    entry = call(module_database, service.charge, empty, digests=DIGESTS, actor="worker", free=True)
    assert (entry.kind, entry.amounts) == ("charge", {})


def test_a_derived_sample_costs_nothing(module_database: Database, account: BudgetAccount) -> None:
    note = {"job_id": "job_1", "digests": DIGESTS, "actor": "worker", "reason": "second sample"}
    entry = call(module_database, service.derive, account.id, **note)
    assert (entry.kind, entry.amounts) == ("derive", {})
    assert not statement(module_database, account).exposed


def test_an_account_is_opened_once_under_one_set_of_terms(module_database: Database) -> None:
    domain = new_id("domain")
    account = open_account(module_database, domain=domain)
    assert open_account(module_database, domain=domain).id == account.id
    assert open_account(module_database, domain=domain, tenant="other").id != account.id
    for terms in (
        {"nano_epsilon": 2_000_000_000},
        {"delta_atto": 1},
        {"unit": "event"},
        {"unit": "w-event", "window": 2},
        {"filter": "renyi", "delta_atto": 10**12},
    ):
        with pytest.raises(Conflict):
            open_account(module_database, domain=domain, **terms)
    assert kinds(module_database, account) == ["grant"]


def test_a_renyi_account_takes_any_order_that_fits(module_database: Database) -> None:
    account = open_account(
        module_database, domain=new_id("domain"), filter="renyi", delta_atto=10**12, orders=[2, 32]
    )
    room = statement(module_database, account).remaining.nano_epsilon
    assert account.orders == [2, 32]
    first = reserve(module_database, account, {"rdp/2": 10**12, "rdp/32": room - 5})
    with pytest.raises(BudgetExceeded) as refused:
        reserve(module_database, account, {"rdp/2": 1, "rdp/32": 6})
    assert refused.value.members["dimension"] == "rdp/32"
    reserve(module_database, account, {"rdp/2": 1, "rdp/32": 5})
    charge(module_database, first)
    after = statement(module_database, account)
    assert (after.remaining.nano_epsilon, after.reserved.nano_epsilon) == (0, 5)
    assert after.charged.nano_epsilon == 1_000_000_000 - 5
    assert call(module_database, service.verify, account.id).intact


def test_a_stream_account_shows_its_tightest_window(module_database: Database) -> None:
    account = open_account(
        module_database, domain=new_id("domain"), unit="w-event", window=2, nano_epsilon=10
    )
    charge(module_database, reserve(module_database, account, {"untimed": 1, "step/0": 5, "step/1": 2}))
    reserve(module_database, account, {"step/2": 6, "step/9": 3})
    after = statement(module_database, account)
    assert after.tightest_window == (1, 2)
    assert (after.charged.nano_epsilon, after.reserved.nano_epsilon, after.remaining.nano_epsilon) == (
        3,
        6,
        1,
    )
    assert after.steps is not None
    assert after.steps.charged_nano_epsilon == (5, 2, 0, 0)
    assert after.steps.reserved_nano_epsilon == (0, 0, 6, 3)
    with pytest.raises(BudgetExceeded) as refused:
        reserve(module_database, account, {"step/3": 4})
    assert refused.value.members["window"] == [2, 3]
    assert after.steps.steps == (0, 1, 2, 9)


def test_what_is_unknown_is_not_found(module_database: Database, account: BudgetAccount) -> None:
    for operation in (service.statement, service.verify):
        with pytest.raises(NotFound):
            call(module_database, operation, "acc_none")
    with pytest.raises(NotFound):
        charge(module_database, "res_none")
    with pytest.raises(InvalidInput, match="digest"):
        call(module_database, service.charge, "res_none", digests={"a": "not hex"}, actor="worker")


def test_a_page_ends_where_its_entries_name_much(module_database: Database, monkeypatch: Any) -> None:
    monkeypatch.setattr(repository, "MAX_NAMED", 6)
    account = open_account(module_database, domain=new_id("domain"), unit="w-event", window=9)
    for first in (0, 10, 20, 30):
        reserve(module_database, account, {f"step/{first + t}": 1 for t in range(4)})
    reserve(module_database, account, {f"step/{100 + t}": 1 for t in range(9)})
    pages, after = [], 0
    while True:
        page = call(module_database, service.entries, account.id, after=after, limit=3)
        pages.append([entry.sequence for entry in page.entries])
        if page.next_after is None:
            break
        after = page.next_after
    # The grant names two capacities and its terms; each of the others four steps, the last one nine.
    assert pages == [[1], [2], [3], [4], [5], [6]]
    monkeypatch.setattr(repository, "MAX_NAMED", 7)
    first_page = call(module_database, service.entries, account.id, after=0, limit=3)
    assert ([entry.sequence for entry in first_page.entries], first_page.next_after) == ([1, 2], 2)
    whole = call(module_database, service.entries, account.id, after=5, limit=1)
    assert ([entry.sequence for entry in whole.entries], whole.next_after) == ([6], None)


def test_a_stretch_of_steps_begins_before_it_ends(module_database: Database, account: BudgetAccount) -> None:
    for steps in ((3, 2), (-1, 2), (0, 10**9)):
        with pytest.raises(InvalidInput):
            call(module_database, service.statement, account.id, steps=steps)


def test_entries_come_in_pages(module_database: Database, account: BudgetAccount) -> None:
    for _ in range(4):
        reserve(module_database, account, {"epsilon": 1})
    first = call(module_database, service.entries, account.id, after=0, limit=3).entries
    rest = call(module_database, service.entries, account.id, after=first[-1].sequence, limit=3).entries
    assert [entry.sequence for entry in (*first, *rest)] == [1, 2, 3, 4, 5]
    assert rest[0].previous_hash == first[-1].hash
