"""The ledger's transitions. Each locks the account's row, appends one hash-chained entry, and never commits.

A reservation ends once: charged, forfeited, released or expired. Asking for the same ending again returns the
entry that stands; asking for another is an InvalidTransition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from core import ids
from core.errors import InvalidInput, InvalidTransition
from core.ledger import holdings, invariants, repository
from core.ledger.accounts import open_account
from core.ledger.admission import check_room, check_standing, check_unexposed
from core.ledger.amounts import MAX_STEP
from core.ledger.entries import append, checked_digests
from core.ledger.filters import Balance, windows_changed
from core.ledger.invariants import ChainReport
from core.ledger.models import BudgetAccount, EntryKind, LedgerEntry
from core.ledger.posting import Movement
from core.ledger.repository import EntryPage
from core.ledger.statement import AccountStatement, statement_of, terms_of
from core.ledger.terms import checked_amounts

__all__ = [
    "AccountStatement",
    "ChainReport",
    "EntryPage",
    "charge",
    "derive",
    "entries",
    "expire",
    "expose",
    "forfeit",
    "keep",
    "open_account",
    "overdue_reservations",
    "preview",
    "release",
    "reserve",
    "statement",
    "terminal_of",
    "unblock",
    "verify",
]

Changes = Callable[[BudgetAccount, datetime], Mapping[str, object]]


def reserve(
    session: Session,
    account_id: str,
    *,
    amounts: Mapping[str, int],
    unit: str,
    window: int | None,
    job_id: str,
    actor: str,
    expires_in_seconds: float | None,
) -> str:
    """The amounts are set aside for the job; returns the reservation's id.

    ``amounts`` by dimension, integers; none or only zeros means that the job claims no guarantee. The
    reservation runs out after ``expires_in_seconds`` by PostgreSQL's clock unless kept; None: never.

    Raises NotFound, UnitMismatch, AccountBlocked, AccountExposed (a finite claim on an exposed account),
    InvalidInput and BudgetExceeded. Four round trips or fewer, however many dimensions.
    """
    account, now = repository.lock_account(session, account_id)
    terms = terms_of(account)
    check_standing(account, terms, unit, window)
    asked = checked_amounts(terms, amounts)
    windows: Mapping[int, int] = {}
    if asked:
        balances = holdings.balances(session, account_id, terms.window, asked)
        check_room(session, account, terms, balances, asked)
        windows = windows_changed(terms, balances, asked, +1)
    reservation_id = ids.new_id(ids.RESERVATION)
    append(
        session,
        account,
        now,
        EntryKind.RESERVE,
        amounts=asked,
        reservation_id=reservation_id,
        job_id=job_id,
        actor=actor,
        expires_at=None if expires_in_seconds is None else now + timedelta(seconds=expires_in_seconds),
        movement=Movement(asked, reserved=1, windows=windows),
    )
    return reservation_id


def preview(
    session: Session, account_id: str, *, amounts: Mapping[str, int], unit: str, window: int | None
) -> AccountStatement:
    """What the statement would be after that reservation; raises as :func:`reserve` does, changes nothing."""
    account, balances = holdings.snapshot(session, account_id, window=window, asked=amounts)
    terms = terms_of(account)
    check_standing(account, terms, unit, window)
    asked = checked_amounts(terms, amounts)
    check_room(session, account, terms, balances, asked)
    after = dict(balances)
    for dimension, amount in asked.items():
        held = after.get(dimension, Balance(terms.nano_epsilon))
        after[dimension] = Balance(held.capacity, held.charged, held.reserved + amount)
    return statement_of(account, after)


def charge(session: Session, reservation_id: str, *, digests: Mapping[str, str], actor: str) -> LedgerEntry:
    """The reservation is spent on a release whose files are named by ``digests`` (name: SHA-256 in hex).

    A repetition with the same digests returns the entry; with others it is an InvalidTransition.
    AccountExposed when an unprotected release has voided the claim since it was reserved.
    """
    return _end(session, reservation_id, EntryKind.CHARGE, actor, digests=digests, changes=_forget_give_backs)


def forfeit(session: Session, reservation_id: str, *, reason: str, actor: str) -> LedgerEntry:
    """The reservation is spent without a release: the graph was opened before the job ended."""
    return _end(session, reservation_id, EntryKind.FORFEIT, actor, reason=reason, changes=_forget_give_backs)


def release(
    session: Session, reservation_id: str, *, reason: str, actor: str, give_back: bool, block_after: int
) -> LedgerEntry:
    """The reservation returns in full.

    ``give_back`` counts it towards the block: after ``block_after`` of them without a charge or forfeit
    between, the account refuses reservations until :func:`unblock`.
    """

    def count(account: BudgetAccount, now: datetime) -> dict[str, object]:
        if not give_back:
            return {}
        number = account.consecutive_give_backs + 1
        blocked_at = account.blocked_at or (now if number >= block_after else None)
        return {"consecutive_give_backs": number, "blocked_at": blocked_at}

    return _end(session, reservation_id, EntryKind.RELEASE, actor, reason=reason, changes=count)


def expire(session: Session, reservation_id: str, *, reason: str, actor: str) -> LedgerEntry:
    """The reservation ran out before its job began, and returns in full.

    InvalidTransition while its time has not come, and once its job has begun (:func:`keep`).
    """

    def check(account: BudgetAccount, now: datetime) -> dict[str, object]:
        expires_at = repository.hold_expiry(session, reservation_id)
        if expires_at is None or expires_at > now:
            raise InvalidTransition(f"reservation {reservation_id} is not overdue", id=reservation_id)
        return {}

    return _end(session, reservation_id, EntryKind.EXPIRE, actor, reason=reason, changes=check)


def keep(session: Session, reservation_id: str) -> None:
    """The reservation no longer expires: its job has begun. InvalidTransition once it has ended."""
    repository.lock_reservation(session, reservation_id)
    if repository.keep_hold(session, reservation_id):
        return
    ended = repository.terminal(session, reservation_id)
    if ended is not None:
        raise _ended(ended)


def expose(
    session: Session, account_id: str, *, job_id: str, digests: Mapping[str, str], actor: str, reason: str
) -> LedgerEntry:
    """An unprotected release is on record, and the account takes no finite claim again, ever.

    A repetition for the same job and digests returns the entry that stands.
    """
    return _note(session, account_id, EntryKind.EXPOSE, job_id, digests, actor, reason)


def derive(
    session: Session, account_id: str, *, job_id: str, digests: Mapping[str, str], actor: str, reason: str
) -> LedgerEntry:
    """A further sample of a charged model is on record; post-processing, so that it costs nothing."""
    return _note(session, account_id, EntryKind.DERIVE, job_id, digests, actor, reason)


def unblock(session: Session, account_id: str, *, actor: str, reason: str) -> LedgerEntry | None:
    """The account takes reservations again; None when it was not blocked and had no give-backs to forget."""
    account, now = repository.lock_account(session, account_id)
    if account.blocked_at is None and account.consecutive_give_backs == 0:
        return None
    changes = {"blocked_at": None, "consecutive_give_backs": 0}
    return append(session, account, now, EntryKind.ADJUST, actor=actor, reason=reason, changes=changes)


def statement(session: Session, account_id: str, *, steps: tuple[int, int] | None = None) -> AccountStatement:
    """What the account holds, in one consistent reading.

    ``steps`` (first, last) are those whose spend is told, the first ``STEPS_SHOWN`` of them; otherwise the
    fullest window's and the latest. Raises InvalidInput unless 0 <= first <= last.
    """
    if steps is not None and not 0 <= steps[0] <= steps[1] <= MAX_STEP:
        raise InvalidInput("the first step is at most the last", field="last_step")
    return statement_of(*holdings.snapshot(session, account_id, steps=steps), steps=steps)


def entries(session: Session, account_id: str, *, after: int, limit: int) -> EntryPage:
    """Up to ``limit`` entries that follow sequence number ``after``, in order; fewer where they name much."""
    return repository.page(session, account_id, after=after, limit=limit)


def overdue_reservations(session: Session, limit: int) -> list[LedgerEntry]:
    """Reserve entries whose time is over, whose job has not begun, and which have not ended; oldest first."""
    return repository.overdue(session, limit)


def terminal_of(session: Session, reservation_id: str) -> LedgerEntry | None:
    """The entry that ended the reservation, or None while it is open."""
    return repository.terminal(session, reservation_id)


def verify(session: Session, account_id: str) -> ChainReport:
    """The account's chain recomputed from its first entry, and its balances folded from its entries."""
    return invariants.verify(session, account_id)


def _forget_give_backs(account: BudgetAccount, now: datetime) -> Mapping[str, object]:
    return {"consecutive_give_backs": 0}


def _end(
    session: Session,
    reservation_id: str,
    kind: EntryKind,
    actor: str,
    *,
    reason: str = "",
    digests: Mapping[str, str] | None = None,
    changes: Changes,
) -> LedgerEntry:
    """The one way a reservation ends. Three round trips; a fourth where a stream's windows empty."""
    named = checked_digests(digests or {})
    opened, account, now = repository.lock_reservation(session, reservation_id)
    ended = repository.terminal(session, reservation_id)
    if ended is not None:
        if ended.kind == kind and ended.digests == named:
            return ended
        raise _ended(ended)
    if kind is EntryKind.CHARGE and any(opened.amounts.values()):
        check_unexposed(account)
    spent = kind in (EntryKind.CHARGE, EntryKind.FORFEIT)
    windows: Mapping[int, int] = {}
    if account.window is not None and not spent and opened.amounts:
        balances = holdings.balances(session, account.id, account.window, opened.amounts)
        windows = windows_changed(terms_of(account), balances, opened.amounts, -1)
    return append(
        session,
        account,
        now,
        kind,
        amounts=opened.amounts,
        digests=named,
        reservation_id=reservation_id,
        job_id=opened.job_id,
        actor=actor,
        reason=reason,
        movement=Movement(opened.amounts, reserved=-1, charged=int(spent), windows=windows),
        changes=changes(account, now),
    )


def _ended(entry: LedgerEntry) -> InvalidTransition:
    return InvalidTransition(
        f"reservation {entry.reservation_id} has ended already: {entry.kind}",
        id=entry.reservation_id,
        state=entry.kind,
    )


def _note(
    session: Session,
    account_id: str,
    kind: EntryKind,
    job_id: str,
    digests: Mapping[str, str],
    actor: str,
    reason: str,
) -> LedgerEntry:
    """A zero-amount entry that names digests; one for each job and set of digests."""
    named = checked_digests(digests)
    account, now = repository.lock_account(session, account_id)
    for entry in repository.of_job(session, account_id, job_id, kind):
        if entry.digests == named:
            return entry
    exposed_at = account.exposed_at or now
    return append(
        session,
        account,
        now,
        kind,
        digests=named,
        job_id=job_id,
        actor=actor,
        reason=reason,
        changes={"exposed_at": exposed_at} if kind is EntryKind.EXPOSE else None,
    )
