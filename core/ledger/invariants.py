"""What must hold for every account. It holds at every moment, whatever crashed or raced. Checked in
production too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sqlalchemy.orm import Session

from core.errors import NotFound
from core.ledger import hash_chain, holdings, invariant_queries, repository
from core.ledger.entries import STANDING
from core.ledger.filters import decisive
from core.ledger.kinds import EntryKind
from core.ledger.models import BudgetAccount
from core.ledger.terms import dimensions
from graphveil.models.ledger import Violation


@dataclass(frozen=True)
class ChainReport:
    """The account as recomputed from its entries. ``head`` is the last hash, in hex."""

    account_id: str
    entries: int
    head: str
    violations: tuple[Violation, ...]

    @property
    def intact(self) -> bool:
        """True when every invariant holds."""
        return not self.violations


class Invariant(Protocol):
    """One rule. ``check`` returns its violations in one account, or in all."""

    name: str

    def check(self, session: Session, account_id: str | None = None) -> list[Violation]: ...


def _broken(invariant: str, account_id: str, detail: str) -> Violation:
    """Name an account in which an invariant does not hold; ``detail`` has amounts and entries, never data."""
    return Violation(invariant=invariant, account_id=account_id, detail=detail)


class CapacityHolds:
    """Checks charged + reserved <= capacity. Sums follow the account's filter, capacities its terms."""

    name = "capacity_holds"

    def check(self, session: Session, account_id: str | None = None) -> list[Violation]:
        """Check in O(balances). The database sums a stream's windows anew, and compares what its rows
        keep."""
        found = []
        for each in invariant_queries.account_ids(session, account_id):
            account, balances = holdings.snapshot(session, each)
            terms = account.terms
            load = decisive(terms, balances, {})
            # The snapshot has the window that the rows call
            # fullest: a row with a wrong sum would hide another.
            overfull = (
                terms.window is not None
                and invariant_queries.fullest_window(session, each, terms.window) > terms.nano_epsilon
            )
            if overfull or not load.fits:
                found.append(_broken(self.name, each, f"{load.dimension} exceeds {load.capacity}"))
            for dimension, capacity in dimensions(terms).items():
                if dimension not in balances or balances[dimension].capacity != capacity:
                    found.append(_broken(self.name, each, f"the capacity of {dimension} is not the terms'"))
        return found


class BalancesKeepShape:
    """Balances have the shape of their account's terms. Each has the capacity, the guard and the step number
    that these give it."""

    name = "balances_keep_shape"

    def check(self, session: Session, account_id: str | None = None) -> list[Violation]:
        """Run one statement over the balances."""
        return [
            _broken(self.name, each, f"{dimension} has another capacity, guard or number")
            for each, dimension in invariant_queries.misshapen(session, account_id)
        ]


class CapacityGranted:
    """A capacity is the sum of its account's grants. Each but the opening one names two persons."""

    name = "capacity_granted"

    def check(self, session: Session, account_id: str | None = None) -> list[Violation]:
        """Run one statement over the grants."""
        return [
            _broken(self.name, row.account_id, f"{row.grants} grants do not explain the capacity")
            for row in invariant_queries.granted(session, account_id)
            if not row.explained
        ]


class QuotasBelong:
    """A quota lies below an account of its domain. It counts what that account counts."""

    name = "quotas_belong"

    def check(self, session: Session, account_id: str | None = None) -> list[Violation]:
        """Run one statement over the accounts."""
        return [
            _broken(self.name, each, "the account above this quota has other terms, or is none")
            for each in invariant_queries.stray(session, account_id)
        ]


class ReservationsEndOnce:
    """A reservation begins once and ends at most once. It does in each account, ends in full, and is held
    while it is open."""

    name = "reservations_end_once"

    def check(self, session: Session, account_id: str | None = None) -> list[Violation]:
        """Run one statement over the entries."""
        return [
            _broken(
                self.name,
                loose.account_id,
                f"{loose.reservation_id}: begun {loose.begun}, ended {loose.ended}, held {loose.held}",
            )
            for loose in invariant_queries.loose(session, account_id)
        ]


class ReservationsEndAlike:
    """A reservation stands alike in all its accounts. It stands in one domain's account and in quotas below
    it, with the same amounts and end."""

    name = "reservations_end_alike"

    def check(self, session: Session, account_id: str | None = None) -> list[Violation]:
        """Run one statement over the entries."""
        return [
            _broken(self.name, each, f"{reservation_id} does not stand alike in all its accounts")
            for reservation_id, each in invariant_queries.uneven(session, account_id)
        ]


class BalancesFold:
    """Each balance is the sum of the account's entries."""

    name = "balances_fold"

    def check(self, session: Session, account_id: str | None = None) -> list[Violation]:
        """Run one statement over the entries."""
        return [
            _broken(
                self.name,
                row.account_id,
                f"{row.dimension}: entries give charged, reserved = {row.folded}, the balance {row.standing}",
            )
            for row in invariant_queries.unfolded(session, account_id)
        ]


class WindowsFold:
    """Each step keeps the sum of its window. The step is one of a stream, and ends the window."""

    name = "windows_fold"

    def check(self, session: Session, account_id: str | None = None) -> list[Violation]:
        """Sum every stream's windows, in O(steps) each."""
        return [
            _broken(self.name, account.id, f"the window to step {step} holds {found}, its row keeps {kept}")
            for account in invariant_queries.streams(session, account_id)
            for step, found, kept in invariant_queries.unsummed(session, account.id, account.window or 1)
        ]


class ChainIntact:
    """Entries are a chain without gaps. They are numbered; each names the hash before it, each hash is that
    of its columns; and the account's own row says what its entries say.
    """

    name = "chain_intact"

    def check(self, session: Session, account_id: str | None = None) -> list[Violation]:
        """Follow every chain, in O(entries), streamed."""
        found = []
        for each in invariant_queries.account_ids(session, account_id):
            standing = invariant_queries.head(session, each)
            if standing is not None:
                found += [_broken(self.name, each, flaw) for flaw in _flaws(session, *standing)]
        return found


def _flaws(session: Session, account: BudgetAccount, newest: int) -> list[str]:
    """List the breaks in an account's chain, each once."""
    flaws = []
    previous, sequence, terms = hash_chain.genesis(account.id), 0, None
    standing = dict(STANDING)
    # No further than the head that was read: entries that come meanwhile are no flaws.
    for columns in invariant_queries.chain(session, account.id, account.last_sequence):
        sequence += 1
        if columns["sequence"] != sequence:
            flaws.append(f"entry {sequence} is missing")
            # Goes on at the number that stands there: one gap is one flaw.
            sequence = columns["sequence"]
        if columns["previous_hash"] != previous:
            flaws.append(f"entry {sequence} does not follow the one before it")
        if columns["hash"] != hash_chain.entry_hash(columns):
            flaws.append(f"entry {sequence} was changed")
        if columns["kind"] == EntryKind.GRANT:
            terms = columns["digests"].get("terms")
        standing.update(columns["standing"])
        # From what the entry names, not from what it hashes to: one changed entry is one flaw.
        previous = columns["hash"]
    if sequence != account.last_sequence or newest != account.last_sequence or previous != account.last_hash:
        flaws.append(f"the account's head, {account.last_sequence}, is not the last entry")
    row = repository.columns(account)
    if terms != hash_chain.terms_digest(row):
        flaws.append("the account's terms are not those of its grant")
    for name, value in standing.items():
        if value != hash_chain.plain(row[name]):
            flaws.append(f"the account's {name} is not what its entries say")
    return flaws


INVARIANTS: tuple[Invariant, ...] = (
    CapacityHolds(),
    CapacityGranted(),
    BalancesKeepShape(),
    QuotasBelong(),
    ReservationsEndOnce(),
    ReservationsEndAlike(),
    BalancesFold(),
    WindowsFold(),
    ChainIntact(),
)


def verify(session: Session, account_id: str) -> ChainReport:
    """Check every invariant in one account. NotFound when there is none. Takes no locks."""
    standing = invariant_queries.head(session, account_id)
    if standing is None:
        raise NotFound("no such budget account", id=account_id)
    violations = [found for invariant in INVARIANTS for found in invariant.check(session, account_id)]
    account, _ = standing
    return ChainReport(account_id, account.last_sequence, account.last_hash.hex(), tuple(violations))
