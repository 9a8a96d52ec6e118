"""An account in a file: reserved before, charged after, and never more than the total, whatever dies."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from core.errors import (
    AccountBlocked,
    BudgetExceeded,
    InvalidInput,
    InvalidTransition,
    StorageError,
    UnitMismatch,
)
from core.ledger import in_file
from core.ledger.in_file import FileAccount
from core.ledger.kinds import Filter
from core.ledger.terms import Terms

NANO = 10**9
FILES = {"release/edges.parquet": "0" * 64}


def terms(unit: str = "edge", window: int | None = None, total: int = 4 * NANO, delta: int = 0) -> Terms:
    return Terms("", unit, window, Filter.BASIC, total, delta)


def spend(account: FileAccount, nano: int, ending: str = "charge") -> None:
    with account.held() as held:
        reservation = held.reserve({"epsilon": nano, "delta": 0}, unit="edge", window=None, job_id="job")
        if ending == "release":
            held.release(reservation, reason="refused")
            return
        held.opening(reservation)
        if ending == "charge":
            held.charge(reservation, digests=FILES)
        elif ending == "forfeit":
            held.forfeit(reservation, reason="failed")


def balance(account: FileAccount) -> tuple[int, int]:
    held = account.book().balances["epsilon"]
    return held.charged, held.reserved


@pytest.fixture
def account(tmp_path: Path) -> FileAccount:
    return FileAccount(tmp_path / "budget.json", terms())


def test_what_is_charged_or_forfeited_is_spent_and_what_is_released_returns(account: FileAccount) -> None:
    spend(account, NANO)
    spend(account, NANO, "forfeit")
    spend(account, NANO, "release")
    assert balance(account) == (2 * NANO, 0)
    assert balance(FileAccount(account.path)) == (2 * NANO, 0)
    kinds = [entry["kind"] for entry in account.book().entries]
    assert kinds == [
        "grant",
        *("reserve", "opening", "charge"),
        *("reserve", "opening", "forfeit"),
        *("reserve", "release"),
    ]
    assert account.book().entries[3]["digests"] == FILES


def test_more_than_the_total_is_refused_and_nothing_is_written(account: FileAccount) -> None:
    spend(account, 3 * NANO)
    before = account.path.read_bytes()
    with pytest.raises(BudgetExceeded) as refused:
        spend(account, NANO + 1)
    assert refused.value.members["remaining"] == "1"
    assert refused.value.members["requested"] == "1.000000001"
    assert account.path.read_bytes() == before
    spend(account, NANO)
    assert balance(account) == (4 * NANO, 0)


def test_records_are_not_added_to_what_was_spent_on_whole_edges(account: FileAccount) -> None:
    asked = {"unit": "edge", "window": None, "job_id": "job"}
    with account.held() as held:
        held.reserve({"epsilon": 1, "delta": 0}, **asked, apart=("pays",))
        held.reserve({"epsilon": 1, "delta": 0}, **asked)  # a whole edge covers each of its records
        held.reserve({"epsilon": 1, "delta": 0}, **asked, apart=("pays",))


def test_records_after_whole_edges_are_refused(account: FileAccount) -> None:
    asked = {"unit": "edge", "window": None, "job_id": "job"}
    with account.held() as held:
        held.reserve({"epsilon": 1, "delta": 0}, **asked)
        with pytest.raises(UnitMismatch, match="all of their records"):
            held.reserve({"epsilon": 1, "delta": 0}, **asked, apart=("pays",))


def test_another_unit_is_refused(account: FileAccount) -> None:
    with account.held() as held, pytest.raises(UnitMismatch):
        held.reserve({"epsilon": 1, "delta": 0}, unit="event", window=None, job_id="job")


def test_steps_of_a_w_event_account_are_counted_by_window(tmp_path: Path) -> None:
    account = FileAccount(tmp_path / "b", terms("w-event", 3))
    with account.held() as held:
        for step in range(3):
            held.reserve({f"step/{step}": NANO}, unit="w-event", window=3, job_id="job")
        with pytest.raises(BudgetExceeded):
            held.reserve({"step/2": NANO + 1}, unit="w-event", window=3, job_id="job")
        held.reserve({"step/3": 2 * NANO}, unit="w-event", window=3, job_id="job")
    assert account.book().tightest().remaining == 0


def test_a_reservation_ends_once_and_returns_only_unopened(account: FileAccount) -> None:
    with account.held() as held:
        one = held.reserve({"epsilon": 1, "delta": 0}, unit="edge", window=None, job_id="job")
        held.opening(one)
        with pytest.raises(InvalidTransition, match="opened"):
            held.release(one, reason="")
        held.charge(one, digests=FILES)
        with pytest.raises(InvalidTransition):
            held.forfeit(one, reason="")


@pytest.mark.parametrize("opened", [False, True])
def test_what_a_killed_process_left_stays_set_aside(account: FileAccount, opened: bool) -> None:
    def die() -> None:
        with FileAccount(account.path).held() as held:
            reservation = held.reserve({"epsilon": NANO, "delta": 0}, unit="edge", window=None, job_id="job")
            if opened:
                held.opening(reservation)
            os.kill(os.getpid(), signal.SIGKILL)

    process = multiprocessing.get_context("fork").Process(target=die)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert balance(FileAccount(account.path)) == (0, NANO)
    spend(account, 3 * NANO)
    with pytest.raises(BudgetExceeded):
        spend(account, 1)
    assert balance(account) == (3 * NANO, NANO)


def test_a_line_that_was_cut_off_is_taken_away_at_every_byte(account: FileAccount) -> None:
    spend(account, NANO)
    whole = account.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    start = len(whole) - len(lines[-1])
    for cut in range(start, len(whole)):
        account.path.write_bytes(whole[:cut])
        # The charge is not known to have been made, but the amount was set aside before: it stays so.
        after = FileAccount(account.path)
        assert balance(after) == (0, NANO)
        spend(after, NANO, "forfeit")
        assert balance(FileAccount(account.path)) == (NANO, NANO)
        assert account.path.read_bytes().startswith(whole[:start])


def _moved_in(account: FileAccount, content: bytes) -> None:
    """Put another file in the account's place, as an editor or a tool that synchronises folders does."""
    other = account.path.with_name("other")
    other.write_bytes(content)
    other.replace(account.path)


@pytest.mark.parametrize("step", ["opening", "charge", "forfeit", "release"])
def test_a_file_that_was_replaced_while_it_is_held_is_refused_before_every_entry(
    account: FileAccount, step: str
) -> None:
    """Even by its own copy: what the former file was told would be lost with it."""
    with account.held() as held:
        reservation = held.reserve({"epsilon": NANO, "delta": 0}, unit="edge", window=None, job_id="job")
        if step in ("charge", "forfeit"):
            held.opening(reservation)
        content = account.path.read_bytes()
        _moved_in(account, content)
        told = {"charge": {"digests": FILES}, "opening": {}}.get(step, {"reason": "x"})
        with pytest.raises(AccountBlocked, match="replaced"):
            getattr(held, step)(reservation, **told)
        with pytest.raises(AccountBlocked, match="replaced"):
            held.reserve({"epsilon": 1, "delta": 0}, unit="edge", window=None, job_id="job")
        account.path.unlink()
        with pytest.raises(AccountBlocked, match="replaced"):
            getattr(held, step)(reservation, **told)
        account.path.write_bytes(content)
    assert account.path.read_bytes() == content


def test_a_file_that_is_replaced_between_the_look_and_the_write_is_refused(
    account: FileAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, sync = account.path.read_bytes(), os.fsync

    def replaced(file: int) -> None:
        sync(file)
        _moved_in(account, before)

    with account.held() as held:
        monkeypatch.setattr(os, "fsync", replaced)
        with pytest.raises(AccountBlocked, match="replaced"):
            held.reserve({"epsilon": NANO, "delta": 0}, unit="edge", window=None, job_id="job")


@pytest.mark.parametrize("moved", [True, False])
def test_a_file_that_went_back_to_an_earlier_state_is_refused_by_whoever_saw_it_later(
    account: FileAccount, moved: bool
) -> None:
    early = account.path.read_bytes()
    spend(account, 4 * NANO)
    late = account.path.read_bytes()
    _moved_in(account, early) if moved else account.path.write_bytes(early)
    with pytest.raises(AccountBlocked, match="earlier"):
        spend(account, 4 * NANO)
    with pytest.raises(AccountBlocked, match="earlier"):
        account.book()
    _moved_in(account, late)
    assert balance(account) == (4 * NANO, 0)


def test_others_spend_and_look_while_a_reservation_is_open(account: FileAccount) -> None:
    with account.held() as held:
        reservation = held.reserve({"epsilon": NANO, "delta": 0}, unit="edge", window=None, job_id="job")
        held.opening(reservation)
        other = FileAccount(account.path, lock_seconds=0)
        spend(other, 2 * NANO)
        with pytest.raises(BudgetExceeded):
            spend(other, NANO + 1)
        assert balance(other) == (2 * NANO, NANO)
        held.charge(reservation, digests=FILES)
    assert balance(account) == (3 * NANO, 0)


def test_a_lock_is_waited_for_so_long_and_then_it_is_said_who_holds_it(account: FileAccount) -> None:
    context = multiprocessing.get_context("fork")
    locked, done = context.Event(), context.Event()

    def hold() -> None:
        file = os.open(account.path, os.O_RDWR)
        fcntl.flock(file, fcntl.LOCK_EX)
        locked.set()
        done.wait()

    holder = context.Process(target=hold)
    holder.start()
    try:
        locked.wait()
        with pytest.raises(StorageError, match=f"held by process {holder.pid} "):
            FileAccount(account.path, lock_seconds=0.1)
        done.set()
        spend(account, NANO)
    finally:
        done.set()
        holder.join()
    assert balance(account) == (NANO, 0)


def test_a_file_that_was_cut_off_while_it_was_opened_is_opened_anew(tmp_path: Path) -> None:
    path = tmp_path / "b"
    FileAccount(path, terms())
    path.write_bytes(path.read_bytes()[:-10])
    assert balance(FileAccount(path, terms())) == (0, 0)


def test_every_change_of_a_line_is_told(account: FileAccount) -> None:
    spend(account, NANO)
    spend(account, NANO, "forfeit")
    whole = account.path.read_bytes()
    lines = whole.splitlines(keepends=True)

    def refused(content: bytes) -> None:
        account.path.write_bytes(content)
        with pytest.raises(AccountBlocked, match="altered"):
            FileAccount(account.path)
        assert account.path.read_bytes() == content

    for number, line in enumerate(lines):
        entry = json.loads(line)
        for name, value in entry.items():
            changed = (
                {"epsilon": 1, "delta": 0}
                if name == "amounts"
                else f"{value}0"
                if isinstance(value, str)
                else 0
            )
            told = json.dumps({**entry, name: changed}).encode() + b"\n"
            refused(b"".join([*lines[:number], told, *lines[number + 1 :]]))
        if 0 < number < len(lines) - 1:
            refused(b"".join([*lines[:number], *lines[number + 1 :]]))  # left out
            refused(b"".join([*lines[: number + 1], line, *lines[number + 1 :]]))  # repeated
    refused(whole + b"nonsense\n")


def test_a_forged_chain_that_spends_more_than_the_total_is_refused(account: FileAccount) -> None:
    """Whoever computes the hashes anew still cannot write what the filter refuses."""
    spend(account, NANO)
    book = account.book()
    forged = in_file._entry(
        book, "reserve", {"reservation_id": "r", "amounts": {"epsilon": 4 * NANO}, "job_id": "job"}
    )
    account.path.write_bytes(account.path.read_bytes() + json.dumps(forged).encode() + b"\n")
    with pytest.raises(AccountBlocked):
        account.book()


def test_other_terms_than_the_files_are_refused(account: FileAccount) -> None:
    with pytest.raises(InvalidInput, match="another epsilon: 4, not 5"):
        FileAccount(account.path, terms(total=5 * NANO))
    with pytest.raises(InvalidInput, match="unit"):
        FileAccount(account.path, terms(unit="event"))
    with pytest.raises(InvalidInput, match="no such budget file"):
        FileAccount(account.path.with_name("other"))
    note = account.path.with_name("note.txt")
    note.write_text("my notes")
    with pytest.raises(InvalidInput, match="no budget file"):
        FileAccount(note, terms())
    assert note.read_text() == "my notes"
    with pytest.raises(StorageError):
        FileAccount(account.path.parent / "missing" / "b", terms())


def test_a_full_disk_loses_nothing(account: FileAccount, monkeypatch: pytest.MonkeyPatch) -> None:
    spend(account, NANO)
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: write(file, data[:20], at))
    with pytest.raises(StorageError), account.held() as held:
        held.reserve({"epsilon": NANO, "delta": 0}, unit="edge", window=None, job_id="job")
    monkeypatch.undo()
    assert balance(FileAccount(account.path)) == (NANO, 0)


def _spend_many(path: Path, times: int, refused: multiprocessing.SimpleQueue) -> None:
    account = FileAccount(path)
    for _ in range(times):
        try:
            spend(account, NANO // 5)
        except BudgetExceeded:
            refused.put(1)
    refused.put(None)


def test_processes_that_race_never_spend_more_than_the_total(account: FileAccount) -> None:
    context = multiprocessing.get_context("fork")
    refused = context.SimpleQueue()
    processes = [context.Process(target=_spend_many, args=(account.path, 15, refused)) for _ in range(3)]
    for process in processes:
        process.start()
    ended = refusals = 0
    while ended < len(processes):
        if refused.get() is None:
            ended += 1
        else:
            refusals += 1
    for process in processes:
        process.join()
    assert balance(account) == (4 * NANO, 0)
    assert refusals == 45 - 20
