"""Reservations of an amount. It is set aside in a domain's account and the quotas it draws on, and ends there
once.

A reservation ends alike in all its accounts: charged, forfeited, released or expired. Asking for the same
ending again returns the entry that stands; asking for another is an InvalidTransition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from core import ids
from core.errors import GraphveilError, InvalidTransition
from core.ledger import holdings, repository
from core.ledger.admission import check_room, check_standing, check_unexposed
from core.ledger.entries import append, checked_digests
from core.ledger.filters import Balance, windows_changed
from core.ledger.kinds import EntryKind, Scope
from core.ledger.models import BudgetAccount, LedgerEntry
from core.ledger.posting import Movement
from core.ledger.statement import statement_of
from core.ledger.terms import Terms, checked_amounts
from graphveil.models.ledger import Budget

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
    team: str | None = None,
    project: str | None = None,
) -> str:
    """Set the amounts aside for the job, and return the reservation's id.

    ``amounts`` by dimension, integers; none or only zeros means that the job claims no guarantee, or
    reads nothing. They are
    set aside in the account and in its quotas of that team and project, where there are any: in all or in
    none. The reservation runs out after ``expires_in_seconds`` by PostgreSQL's clock unless kept; None:
    never. The accounts stay locked, whether it is refused or not.

    Raises NotFound, UnitMismatch, AccountBlocked, AccountExposed (a finite claim on an exposed account),
    InvalidInput, and BudgetExceeded, which names the account or quota that refuses. Two round trips however
    many dimensions, and one more for each quota; one more for each account with a window, and for each that
    changed while its lock was waited for.
    """
    # Without a claim no quota is drawn on, so that none can refuse it.
    some = any(amounts.values())
    locked, now = repository.lock_with_quotas(
        session, account_id, team if some else None, project if some else None
    )
    account = locked[0][0]
    check_standing(account, account.terms, unit, window)
    requested = checked_amounts(account.terms, amounts)
    # All accounts are checked before one entry is written: the amounts are set aside in all or in none.
    movements = [_movement(session, each, held, requested) for each, held in locked]
    reservation_id = ids.new_id(ids.RESERVATION)
    for (each, _), movement in zip(locked, movements, strict=True):
        append(
            session,
            each,
            now,
            EntryKind.RESERVE,
            amounts=requested,
            reservation_id=reservation_id,
            job_id=job_id,
            actor=actor,
            expires_at=None if expires_in_seconds is None else now + timedelta(seconds=expires_in_seconds),
            movement=movement,
        )
    return reservation_id


def _movement(
    session: Session, account: BudgetAccount, held: Mapping[str, Balance] | None, requested: Mapping[str, int]
) -> Movement:
    """Compute what reserving the amounts moves in one locked account, if it has room for them.

    ``held``: its balances, where they came with the lock.
    """
    windows: Mapping[int, int] = {}
    if requested:
        terms = account.terms
        balances = holdings.balances(session, account.id, terms.window, requested) if held is None else held
        check_room(session, account, terms, balances, requested)
        windows = windows_changed(terms, balances, requested, +1)
    return Movement(requested, reserved=1, windows=windows)


def preview(
    session: Session,
    account_id: str,
    *,
    amounts: Mapping[str, int],
    unit: str,
    window: int | None,
    team: str | None = None,
    project: str | None = None,
) -> Budget:
    """Compute the statement after that reservation. It raises as :func:`reserve` does, and changes
    nothing."""
    (found,) = previews(session, account_id, [amounts], unit=unit, window=window, team=team, project=project)
    if isinstance(found, GraphveilError):
        raise found
    return found


def previews(
    session: Session,
    account_id: str,
    alternatives: Sequence[Mapping[str, int]],
    *,
    unit: str,
    window: int | None,
    team: str | None = None,
    project: str | None = None,
) -> list[Budget | GraphveilError]:
    """Compute the statement after each of several reservations. They are made instead of one another; what
    refuses one comes in its place. Nothing is changed. Raises NotFound, UnitMismatch and AccountBlocked,
    which would refuse all.

    The account is read once, with all that any of them reaches, and so is each quota that they draw on.
    """
    # Its keys alone count: the dimensions that any alternative reaches, so that one reading serves all.
    every = {dimension: amount for amounts in alternatives for dimension, amount in amounts.items()}
    account, balances = holdings.snapshot(session, account_id, window=window, requested=every)
    terms = account.terms
    check_standing(account, terms, unit, window)
    held = [(account, balances)]
    if every and (team is not None or project is not None):
        for quota in repository.quotas(session, account_id, (Scope.TEAM, team), (Scope.PROJECT, project)):
            held.append(holdings.snapshot(session, quota.id, window=window, requested=every))
    found: list[Budget | GraphveilError] = []
    for amounts in alternatives:
        try:
            requested = checked_amounts(terms, amounts)
            for each, theirs in held:
                check_room(session, each, each.terms, theirs, requested)
        except GraphveilError as refusal:
            found.append(refusal)
        else:
            found.append(statement_of(account, _reserved(balances, terms, requested)))
    return found


def _reserved(
    balances: Mapping[str, Balance], terms: Terms, requested: Mapping[str, int]
) -> dict[str, Balance]:
    """Add the amounts to what is reserved."""
    after = dict(balances)
    for dimension, amount in requested.items():
        held = after.get(dimension, Balance(terms.nano_epsilon))
        after[dimension] = Balance(held.capacity, held.charged, held.reserved + amount)
    return after


def charge(
    session: Session,
    reservation_id: str,
    *,
    digests: Mapping[str, str],
    actor: str,
    free: bool = False,
    reason: str = "",
) -> LedgerEntry:
    """Spend the reservation on a release. Its files are named by ``digests`` (name: SHA-256 in hex).

    A repetition with the same digests returns the entry; with others it is an InvalidTransition.
    AccountExposed when a job without a guarantee has voided the claim since it was reserved. ``free``:
    nothing was reserved and nothing was read (a further sample, or declarations, which ``reason`` names), so
    that the row of give-backs goes on; an InvalidTransition where something was.
    """
    return _end(
        session,
        reservation_id,
        EntryKind.CHARGE,
        actor,
        reason=reason,
        digests=digests,
        changes=None if free else _forget_give_backs,
        free=free,
    )


def forfeit(session: Session, reservation_id: str, *, reason: str, actor: str) -> LedgerEntry:
    """Spend the reservation without a release. The graph was opened before the job ended."""
    return _end(session, reservation_id, EntryKind.FORFEIT, actor, reason=reason, changes=_forget_give_backs)


def release(
    session: Session, reservation_id: str, *, reason: str, actor: str, give_back: bool, block_after: int
) -> LedgerEntry:
    """Return the reservation in full.

    ``give_back`` counts it towards the block: after ``block_after`` of them without a charge or forfeit
    between, the account refuses reservations until :func:`unblock`.
    """

    def count(account: BudgetAccount, now: datetime) -> dict[str, object]:
        if not give_back:
            return {}
        number = account.consecutive_give_backs + 1
        # The first block's time stays.
        blocked_at = account.blocked_at or (now if number >= block_after else None)
        return {"consecutive_give_backs": number, "blocked_at": blocked_at}

    return _end(session, reservation_id, EntryKind.RELEASE, actor, reason=reason, changes=count)


def expire(session: Session, reservation_id: str, *, reason: str, actor: str) -> LedgerEntry:
    """Return a reservation in full that ran out before its job began.

    InvalidTransition while its time has not come, and once its job has begun (:func:`keep`).
    """

    def check(account: BudgetAccount, now: datetime) -> dict[str, object]:
        expires_at = repository.hold_expiry(session, reservation_id)
        if expires_at is None or expires_at > now:
            raise InvalidTransition(f"reservation {reservation_id} is not overdue", id=reservation_id)
        return {}

    return _end(session, reservation_id, EntryKind.EXPIRE, actor, reason=reason, changes=check)


def keep(session: Session, reservation_id: str) -> None:
    """Keep the reservation from expiring: its job has begun. InvalidTransition once it has ended."""
    repository.lock_reservation(session, reservation_id)  # so that it does not expire meanwhile
    if repository.keep_hold(session, reservation_id):
        return
    ended = repository.terminal_of(session, reservation_id)
    if ended is not None:
        raise _ended(ended)


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
    changes: Changes | None,
    free: bool = False,
) -> LedgerEntry:
    """End the reservation, alike in every account that it spans: the one way it ends. Returns the domain's
    entry.

    Three round trips; a fourth where a stream's windows empty; as many again, less two, for each quota.
    """
    # Before the lock, which what is refused need not hold.
    named = checked_digests(digests or {})
    spanned, now = repository.lock_reservation(session, reservation_id)
    opened, account = spanned[0]
    # Looked for under the lock: of two endings at once the second finds the first.
    ended = repository.terminal_of(session, reservation_id)
    if ended is not None:
        if ended.kind == kind and ended.digests == named:
            return ended
        raise _ended(ended)
    if kind is EntryKind.CHARGE and any(opened.amounts.values()):
        if free:
            raise InvalidTransition(
                f"reservation {reservation_id} holds amounts: its charge is not free", id=reservation_id
            )
        check_unexposed(account)
    # Give-backs and blocks are the domain's alone.
    changed = [changes(account, now) if changes else {}, *({} for _ in spanned[1:])]
    ends = [
        append(
            session,
            each,
            now,
            kind,
            amounts=opened.amounts,
            digests=named,
            reservation_id=reservation_id,
            job_id=opened.job_id,
            actor=actor,
            reason=reason,
            movement=_undoing(session, each, opened.amounts, kind),
            changes=change,
        )
        for (_, each), change in zip(spanned, changed, strict=True)
    ]
    return LedgerEntry(**ends[0])


def _undoing(
    session: Session, account: BudgetAccount, amounts: Mapping[str, int], kind: EntryKind
) -> Movement:
    """Compute what that ending of a reservation moves in one locked account."""
    spent = kind in (EntryKind.CHARGE, EntryKind.FORFEIT)
    windows: Mapping[int, int] = {}
    # Spending moves an amount from reserved to charged: a window's sum changes only where it is given back.
    if account.window is not None and not spent and amounts:
        balances = holdings.balances(session, account.id, account.window, amounts)
        windows = windows_changed(account.terms, balances, amounts, -1)
    return Movement(amounts, reserved=-1, charged=int(spent), windows=windows)


def _ended(entry: LedgerEntry) -> InvalidTransition:
    return InvalidTransition(
        f"reservation {entry.reservation_id} has ended already: {entry.kind}",
        id=entry.reservation_id,
        state=entry.kind,
    )
