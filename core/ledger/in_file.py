"""An account in a file. It has the service's filters, integers and hash chain, for one person without a
service.

Each line is an entry, chained to the one before. A reservation is written, and on the disk, before anything
of the graph is read; ``opening`` before it is opened; its ending last. The file is locked for each entry, not
from the first to the last: before one is written all lines are read and verified, so that processes side by
side see what the others have set aside. A reservation without an ending is of a process at work, or of one
that died: it stays set aside, and nobody else spends it. A line that was cut off was never acknowledged, and
is taken away.

The chain tells any other change of a line; it cannot tell that last lines, or the file, are gone: keep
``head`` elsewhere where that matters. Whoever has the file open is told: it must stay the same file, and hold
the entries that were seen in it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from core import ids
from core.clock import now
from core.errors import (
    AccountBlocked,
    GraphveilError,
    InvalidInput,
    InvalidTransition,
    StorageError,
    UnitMismatch,
)
from core.ledger.filters import Balance, Load, admits, decisive
from core.ledger.hash_chain import entry_hash, genesis, plain
from core.ledger.kinds import EntryKind
from core.ledger.terms import Terms, checked_amounts, checked_terms, dimensions
from graphveil.amounts import format_delta, format_epsilon

OPENING = "opening"
"""The one kind of line that is no entry of the service's: from here on the reservation ends as a spend."""
_SPENT = (EntryKind.CHARGE, EntryKind.FORFEIT)
_ENDS = (*_SPENT, EntryKind.RELEASE)
MAX_LINE_BYTES = 1 << 24
LOCK_SECONDS = 30.0
"""How long an entry waits for the lock, which others hold for one entry too."""
_LOOK_SECONDS = 0.02


@dataclass
class Reservation:
    """An amount that is set aside. ``opened``: the graph was, or was about to be."""

    amounts: Mapping[str, int]
    job_id: str
    opened: bool = False


@dataclass
class Book:
    """What the entries of a file come to."""

    terms: Terms
    balances: dict[str, Balance]
    entries: list[dict[str, Any]] = field(default_factory=list)
    open: dict[str, Reservation] = field(default_factory=dict)

    @property
    def head(self) -> str:
        """The hash of the last entry, in hex."""
        return str(self.entries[-1]["hash"])

    def tightest(self) -> Load:
        """Find the constraint that leaves least."""
        return decisive(self.terms, self.balances, {})


class FileAccount:
    """The account in the file at ``path``.

    ``terms`` open it where there is no such file; where there is, they must be its own (None: whatever it
    has). Raises InvalidInput for terms that no filter can keep or that are not the file's, AccountBlocked for
    a file that was altered, replaced or put back, and StorageError where it cannot be read or written, or
    somebody keeps it locked for more than ``lock_seconds``.
    """

    def __init__(self, path: Path, terms: Terms | None = None, *, lock_seconds: float = LOCK_SECONDS) -> None:
        self.path = path
        self._lock_seconds = lock_seconds
        self._seen: Mapping[str, Any] | None = None
        self._asked = None if terms is None else checked_terms(terms)
        if terms is None and not path.exists():
            raise InvalidInput("there is no such budget file; give an epsilon to open one", field="budget")
        # Several processes may create the file at once: the lock decides which of them writes the first line.
        with self._opened(os.O_RDWR | os.O_CREAT) as file, self._locked(file, fcntl.LOCK_EX):
            if self._empty(file):
                self._open_account(file)
            self._read(file)

    def book(self) -> Book:
        """Read and verify the file."""
        with self._opened(os.O_RDONLY) as file, self._locked(file, fcntl.LOCK_SH):
            return self._read(file)[0]

    @contextmanager
    def held(self) -> Iterator[Held]:
        """Keep the file open to spend from it. Others may do so too, and it must stay the same file."""
        with self._opened(os.O_RDWR) as file:
            yield Held(self, file)

    @contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        try:
            file = os.open(self.path, flags | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(f"the budget file cannot be opened: {error.strerror}") from error
        try:
            yield file
        finally:
            os.close(file)

    @contextmanager
    def _locked(self, file: int, how: int) -> Iterator[None]:
        """Lock the open file, which is still the one at the path."""
        until = time.monotonic() + self._lock_seconds
        # Looked at again and again: flock has no time limit of its own.
        while not _try_lock(file, how):
            if time.monotonic() >= until:
                raise StorageError(
                    f"the budget file is locked: for {self._lock_seconds:g} seconds it was held by "
                    f"{_holder(file)}. An entry takes a moment: end that process, or try again."
                )
            time.sleep(_LOOK_SECONDS)
        try:
            # Once locked, not before: the file may have been replaced while the lock was waited for.
            self._check_same(file)
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

    def _check_same(self, file: int) -> None:
        """Refuse a path that leads to another file than the open one: what was spent stands in that one."""
        own = os.fstat(file)
        try:
            there = os.stat(self.path)
        except OSError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino):
            raise AccountBlocked(
                "the budget file was replaced, or taken away, while it was open: what was spent stands in "
                "the former file. Nothing is spent from another; put the former one back, and keep tools "
                "that copy or synchronise files away from it.",
                account_id=None if self._seen is None else self._seen["account_id"],
            )

    def _check_seen(self, book: Book) -> None:
        """Refuse a file that lacks the last entry that was seen in it."""
        seen = self._seen
        if seen is not None:
            number = seen["sequence"]
            # Each hash covers the one before: where the last
            # entry that was seen still stands, all before it do.
            if len(book.entries) < number or book.entries[number - 1]["hash"] != seen["hash"]:
                raise AccountBlocked(
                    f"the budget file is in an earlier state, or another: entry {number}, which was there, "
                    "is gone. Nothing can be spent from it; put the latest file back.",
                    account_id=seen["account_id"],
                )

    def _write(self, file: int, entry_of: Callable[[Book], Mapping[str, Any]]) -> None:
        """Append the entry that follows from the file as it stands: durable, or an error."""
        with self._locked(file, fcntl.LOCK_EX):
            # Read anew for each entry: another process may have spent since.
            book, whole = self._read(file)
            entry = entry_of(book)
            _next(book, json.loads(json.dumps(entry)))  # before a byte is written
            _append(file, whole, entry)
            # Once more: an entry in a file that was replaced meanwhile holds nobody to it.
            self._check_same(file)
            self._seen = entry

    def _empty(self, file: int) -> bool:
        # Without one whole line nothing was acknowledged.
        return b"\n" not in os.pread(file, MAX_LINE_BYTES, 0)

    def _open_account(self, file: int) -> None:
        """Write the first line, with the terms."""
        if self._asked is None:
            raise InvalidInput("the budget file is empty; give an epsilon to open an account", field="budget")
        # A first line that was cut off begins with a brace; a file of another kind must not be emptied.
        if os.pread(file, 1, 0) not in (b"", b"{"):
            raise InvalidInput("the file is no budget file; name another", field="budget")
        terms = replace(self._asked, account_id=ids.new_id(ids.ACCOUNT))
        os.ftruncate(file, 0)
        fields = {**vars(terms), "orders": list(terms.orders)}
        book = Book(terms, {})
        _append(file, 0, _entry(book, EntryKind.GRANT, {"terms": fields}))
        folder = os.open(self.path.parent or ".", os.O_RDONLY)
        try:
            os.fsync(folder)  # the file's name too is on the disk
        finally:
            os.close(folder)

    def _read(self, file: int) -> tuple[Book, int]:
        """Verify every whole line; the book, and where the last of them ends."""
        with os.fdopen(os.dup(file), "rb") as opened:
            opened.seek(0)
            content = opened.read()
        # What follows the last newline was cut off and never acknowledged; the next entry is written over it.
        whole = content.rfind(b"\n") + 1
        book: Book | None = None
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            try:
                book = _next(book, json.loads(line))
            # Whatever a line raises here, no entry that this module wrote does.
            except (ValueError, KeyError, TypeError, AttributeError, GraphveilError) as error:
                raise AccountBlocked(
                    f"the budget file was altered: line {number} does not follow from the lines before it. "
                    "Nothing can be spent from it; go back to the file as it was.",
                    account_id=None if book is None else book.terms.account_id,
                ) from error
        if book is None:
            raise InvalidInput("the budget file is empty; give an epsilon to open an account", field="budget")
        self._check_asked(book.terms)
        self._check_seen(book)
        self._seen = book.entries[-1]
        return book, whole

    def _check_asked(self, terms: Terms) -> None:
        requested = self._asked
        if requested is None:
            return
        for (name, wanted), (_, stands) in zip(_named_terms(requested), _named_terms(terms), strict=True):
            if wanted != stands:
                raise InvalidInput(
                    f"the budget file was opened with another {name}: {stands}, not {wanted}; its terms "
                    "never change. Open it as it is, by its name alone.",
                    field="budget",
                )


def _named_terms(terms: Terms) -> list[tuple[str, Any]]:
    """List the terms as a caller gave them, each with its name."""
    return [
        ("unit", terms.unit),
        ("window", terms.window),
        ("filter", terms.filter),
        ("epsilon", format_epsilon(terms.nano_epsilon)),
        ("delta", format_delta(terms.delta_atto)),
        ("orders", terms.orders),
    ]


class Held:
    """An account whose file is open to spend. Each call locks it for one entry."""

    def __init__(self, account: FileAccount, file: int) -> None:
        self._account, self._file = account, file

    def reserve(
        self,
        amounts: Mapping[str, int],
        *,
        unit: str,
        window: int | None,
        job_id: str,
        apart: Sequence[str] = (),
    ) -> str:
        """Set the amounts aside, durably, and return the reservation's id. UnitMismatch, InvalidInput,
        BudgetExceeded.

        ``apart``: relations of which one record is the unit.
        """
        reservation_id = ids.new_id(ids.RESERVATION)

        # Computed under the lock, from the file as it stands then.
        def entry(book: Book) -> dict[str, Any]:
            terms = book.terms
            if (unit, window) != (terms.unit, terms.window):
                raise UnitMismatch(
                    f"the budget counts the unit {terms.unit}, the release protects {unit}: amounts of two "
                    "units do not add up",
                    account_id=terms.account_id,
                    unit=terms.unit,
                    window=terms.window,
                    requested_unit=unit,
                    requested_window=window,
                )
            spent = [each for each in book.entries if each["kind"] == EntryKind.RESERVE]
            # Whole edges may be added to what was spent on records, but not records
            # to what was spent on whole edges: it would no longer bound those.
            if apart and spent and not any(each.get("apart") for each in spent):
                raise UnitMismatch(
                    "the budget counts edges with all of their records, the release protects records one by "
                    "one: amounts of two units do not add up",
                    account_id=terms.account_id,
                    unit=terms.unit,
                    window=terms.window,
                    requested_unit=unit,
                    requested_window=window,
                )
            requested = checked_amounts(terms, amounts)
            admits(terms, book.balances, requested)
            fields = {"reservation_id": reservation_id, "amounts": dict(requested), "job_id": job_id}
            if apart:
                fields["apart"] = [*apart]
            return _entry(book, EntryKind.RESERVE, fields)

        self._account._write(self._file, entry)
        return reservation_id

    def opening(self, reservation_id: str) -> None:
        """Note, durably, that the graph is about to be opened."""
        self._follow(OPENING, reservation_id, {})

    def charge(self, reservation_id: str, *, digests: Mapping[str, str]) -> None:
        """Spend the reservation on a release whose files have these digests."""
        self._follow(EntryKind.CHARGE, reservation_id, {"digests": dict(digests)})

    def forfeit(self, reservation_id: str, *, reason: str) -> None:
        """Spend the reservation without a release."""
        self._follow(EntryKind.FORFEIT, reservation_id, {"reason": reason})

    def release(self, reservation_id: str, *, reason: str) -> None:
        """Return the reservation; InvalidTransition once the graph was opened."""
        self._follow(EntryKind.RELEASE, reservation_id, {"reason": reason})

    def _follow(self, kind: str, reservation_id: str, told: Mapping[str, Any]) -> None:
        def entry(book: Book) -> dict[str, Any]:
            held = book.open.get(reservation_id)
            if held is None:
                raise InvalidTransition(f"reservation {reservation_id} has ended already", id=reservation_id)
            # What was read of an opened graph cannot be known here, so that it counts as spent.
            if kind == EntryKind.RELEASE and held.opened:
                raise InvalidTransition(
                    f"the graph of reservation {reservation_id} was opened: it is spent", id=reservation_id
                )
            # The reservation's amounts are set aside already: an opening moves none.
            amounts = {} if kind == OPENING else dict(held.amounts)
            return _entry(book, kind, {"reservation_id": reservation_id, "amounts": amounts, **told})

        self._account._write(self._file, entry)


def _try_lock(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StorageError(f"the budget file cannot be locked: {error.strerror}") from error
    return True


def _holder(file: int) -> str:
    """Name the process that holds the lock, where the system tells of it."""
    own = os.fstat(file)
    where = f"{os.major(own.st_dev):02x}:{os.minor(own.st_dev):02x}:{own.st_ino}"
    try:
        # A line has: number, FLOCK, ADVISORY, how, process,
        # device:inode, range; with -> it waits for the lock.
        found = (line.split() for line in Path("/proc/locks").read_text().splitlines())
        pid = next(each[4] for each in found if "FLOCK" in each and where in each and "->" not in each)
        return f"process {pid} ({Path('/proc', pid, 'comm').read_text().strip()})"
    except (OSError, StopIteration):
        return "another process, maybe of another machine"


def _entry(book: Book, kind: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """Build the next entry: numbered, chained."""
    last = book.entries[-1] if book.entries else None
    columns: dict[str, Any] = {
        "id": ids.new_id(ids.ENTRY),
        "account_id": book.terms.account_id,
        "sequence": 1 if last is None else last["sequence"] + 1,
        "kind": str(kind),
        "created_at": plain(now()),
        "previous_hash": genesis(book.terms.account_id).hex() if last is None else last["hash"],
        **told,
    }
    return {**columns, "hash": entry_hash(columns).hex()}


def _append(file: int, end: int, entry: Mapping[str, Any]) -> None:
    """Write the entry at ``end``, where what follows is a line cut off, and on the disk. StorageError."""
    line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
    try:
        # A line that was cut off is taken away first: the entry would continue it.
        os.ftruncate(file, end)
        # A full disk writes a part, and raises nothing.
        written = os.pwrite(file, line, end)
        if written != len(line):
            raise OSError(None, "the disk is full")
        # On the disk before the caller goes on to read anything of the graph.
        os.fsync(file)
    except OSError as error:
        raise StorageError(f"the budget file cannot be written: {error.strerror}") from error


def _next(book: Book | None, entry: dict[str, Any]) -> Book:
    """Let the book follow one entry; ValueError or GraphveilError where it follows from no other."""
    if book is None:
        fields = dict(entry["terms"])
        terms = checked_terms(Terms(**{**fields, "orders": tuple(fields["orders"])}))
        book = Book(terms, {name: Balance(capacity) for name, capacity in dimensions(terms).items()})
        _require(entry["kind"] == EntryKind.GRANT and entry["sequence"] == 1)
        _require(entry["previous_hash"] == genesis(terms.account_id).hex())
    else:
        last = book.entries[-1]
        _require(entry["sequence"] == last["sequence"] + 1 and entry["previous_hash"] == last["hash"])
        _require(entry["kind"] != EntryKind.GRANT)
    _require(entry["account_id"] == book.terms.account_id)
    _require(entry_hash(entry).hex() == entry["hash"])
    if entry["kind"] != EntryKind.GRANT:
        _move(book, entry)
    book.entries.append(entry)
    return book


def _move(book: Book, entry: Mapping[str, Any]) -> None:
    """Let the entry move the balances."""
    kind, reservation_id, amounts = entry["kind"], entry["reservation_id"], entry["amounts"]
    if kind == EntryKind.RESERVE:
        _require(reservation_id not in book.open)
        # A book that was overspent by hand is refused even where its hashes are right.
        admits(book.terms, book.balances, checked_amounts(book.terms, amounts))
        book.open[reservation_id] = Reservation(amounts, entry["job_id"])
        _add(book, amounts, lambda held, amount: replace(held, reserved=held.reserved + amount))
        return
    # KeyError for an ending without its beginning: the reader of the file refuses the line.
    reservation = book.open[reservation_id]
    if kind == OPENING:
        _require(not amounts)
        book.open[reservation_id] = replace(reservation, opened=True)
        return
    # In full: the plan's amount is spent, never one that a
    # run happened to need, which would follow from data.
    _require(kind in _ENDS and amounts == reservation.amounts)
    _require(kind != EntryKind.RELEASE or not reservation.opened)
    spent = kind in _SPENT
    del book.open[reservation_id]
    _add(
        book,
        amounts,
        lambda held, amount: replace(
            held, reserved=held.reserved - amount, charged=held.charged + (amount if spent else 0)
        ),
    )


def _add(book: Book, amounts: Mapping[str, int], change: Callable[[Balance, int], Balance]) -> None:
    for dimension, amount in amounts.items():
        book.balances[dimension] = change(
            book.balances.get(dimension, Balance(book.terms.nano_epsilon)), amount
        )


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("the entry does not follow")
