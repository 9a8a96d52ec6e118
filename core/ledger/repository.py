"""The ledger's reads and locks. Whoever changes an account holds its row lock, and no other lock.

Several accounts are locked by one statement: the domain's first, then its quotas in the order of their ids.
The time is read once the locks are held, so that it never runs backwards along a chain.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, or_, select, true, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from core.db.base import ROW_LOCK
from core.errors import NotFound
from core.ledger.filters import Balance
from core.ledger.kinds import TERMINAL, EntryKind, Scope
from core.ledger.models import BudgetAccount, BudgetHold, LedgerEntry
from core.ledger.posting import ACCOUNTS, BALANCES, HOLDS

MAX_NAMED = 20_000
"""How many amounts and digests the entries of one page name, unless its first names more."""


@dataclass(frozen=True)
class EntryPage:
    """Entries in order, a page of them. ``next_after`` is the last one's number where more follow, else
    None."""

    entries: tuple[LedgerEntry, ...]
    next_after: int | None


def _locked(*which: ColumnElement[bool]) -> type[BudgetAccount]:
    """Select these accounts, locked before anything else in the statement is worked out."""
    # One order for everybody: two that lock the same accounts never wait for each other.
    order = (ACCOUNTS.c.parent_id.is_not(None), ACCOUNTS.c.id)
    rows = select(ACCOUNTS).where(*which).order_by(*order).with_for_update(**ROW_LOCK).subquery("locked")
    # Its columns are made when first asked for: now, since two threads at once would make them twice,
    # and neither could read the other's rows.
    assert len(rows.c) == len(ACCOUNTS.c)
    return aliased(BudgetAccount, rows)


def _lock(*which: ColumnElement[bool]) -> Select[Any]:
    # Not now(): a transaction may have begun long before it gets the lock.
    return select(_locked(*which), func.clock_timestamp()).execution_options(populate_existing=True)


def _lock_and_read(*which: ColumnElement[bool]) -> Select[Any]:
    """Lock accounts, and read beside each what it holds that counts at no step, and whether that is current.

    The lock may be waited for, and what it then gives is the row's newest; all else of a statement is as of
    its beginning. Whatever moves a balance numbers an entry, so that an account whose number was another
    then has balances that must be read again.
    """
    account, before = _locked(*which), ACCOUNTS.alias("before")
    rows = (BALANCES.c.account_id == account.id, BALANCES.c.step.is_(None))
    held = (
        select(*(func.array_agg(BALANCES.c[name]).label(name) for name in _HELD)).where(*rows).lateral("held")
    )
    return (
        select(account, func.clock_timestamp(), before.c.last_sequence == account.last_sequence, *held.c)
        .join_from(account, before, before.c.id == account.id)
        .join(held, true())
        .execution_options(populate_existing=True)
    )


def _lock_reservation() -> Select[Any]:
    begun = (LedgerEntry.reservation_id == bindparam("reservation_id"), LedgerEntry.kind == EntryKind.RESERVE)
    account = _locked(ACCOUNTS.c.id.in_(select(LedgerEntry.account_id).where(*begun)))
    return (
        select(LedgerEntry, account, func.clock_timestamp())
        .join(account, account.id == LedgerEntry.account_id)
        .where(*begun)
        .execution_options(populate_existing=True)
    )


_HELD = ("dimension", "capacity", "charged", "reserved")
_ITSELF = ACCOUNTS.c.id == bindparam("account_id")
_NAMED_QUOTA = and_(
    ACCOUNTS.c.parent_id == bindparam("account_id"),
    or_(
        *(
            and_(ACCOUNTS.c.scope == scope, ACCOUNTS.c.scope_name == bindparam(str(scope)))
            for scope in (Scope.TEAM, Scope.PROJECT)
        )
    ),
)
_LOCK_ACCOUNT = _lock(_ITSELF)
_LOCK_ALONE = _lock_and_read(_ITSELF)
_LOCK_WITH_QUOTAS = _lock_and_read(or_(_ITSELF, _NAMED_QUOTA))
_LOCK_RESERVATION = _lock_reservation()
_TERMINAL = (
    select(LedgerEntry)
    .join(BudgetAccount, BudgetAccount.id == LedgerEntry.account_id)
    .where(
        LedgerEntry.reservation_id == bindparam("reservation_id"),
        LedgerEntry.kind.in_(TERMINAL),
        BudgetAccount.parent_id.is_(None),
    )
)
_KEEP_HOLD = (
    update(HOLDS)
    .where(HOLDS.c.reservation_id == bindparam("reservation"))
    .values(expires_at=None)
    .returning(HOLDS.c.reservation_id)
)


def columns(account: BudgetAccount) -> dict[str, Any]:
    """Return the account's row, by column."""
    return {column.name: getattr(account, column.name) for column in ACCOUNTS.columns}


def create_account(session: Session, account: BudgetAccount) -> bool:
    """Write the account's row. False when the tenant has one for this domain and scope already."""
    # What is left out takes the database's default, ``created_at`` among it.
    values = {name: value for name, value in columns(account).items() if value is not None}
    statement = (
        insert(ACCOUNTS)
        .values(values)
        .on_conflict_do_nothing(index_elements=["tenant", "domain", "scope", "scope_name"])
    )
    return session.execute(statement.returning(ACCOUNTS.c.id)).first() is not None


def create_balances(
    session: Session, account_id: str, capacities: Mapping[str, int], *, binding: bool
) -> None:
    """Write one empty balance for each dimension."""
    rows = [
        {"account_id": account_id, "dimension": d, "capacity": Decimal(c), "binding": binding}
        for d, c in capacities.items()
    ]
    session.execute(insert(BALANCES), rows)


def account_of(
    session: Session, tenant: str, domain: str, scope: str = Scope.DOMAIN, scope_name: str = ""
) -> BudgetAccount:
    """Load the account of a domain, or its quota. The quota has that scope and name; it is known to exist."""
    identity = {"tenant": tenant, "domain": domain, "scope": scope, "scope_name": scope_name}
    statement = select(BudgetAccount).filter_by(**identity)
    return session.scalars(statement, execution_options={"populate_existing": True}).one()


def account(session: Session, account_id: str) -> BudgetAccount:
    """Load the account, which exists."""
    return session.get_one(BudgetAccount, account_id)


def by_ids(session: Session, account_ids: Collection[str]) -> dict[str, BudgetAccount]:
    """Load the accounts of these ids, by id."""
    query = select(BudgetAccount).where(BudgetAccount.id.in_(account_ids))
    return {account.id: account for account in session.scalars(query)}


def exposed_account(account_id: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """Select whether an account is exposed. It is for a query of another table, by the account that its row
    names."""
    return (
        select(BudgetAccount.exposed_at.is_not(None)).where(BudgetAccount.id == account_id).scalar_subquery()
    )


def exposed_by(job_id: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    """Select whether a job has exposed an account. It is for a query of another table, by the job that its
    row names."""
    entry = select(LedgerEntry.id).where(LedgerEntry.job_id == job_id, LedgerEntry.kind == EntryKind.EXPOSE)
    return entry.exists()


def exposing(session: Session, account: BudgetAccount) -> LedgerEntry | None:
    """Load the entry that exposed the account, by the time that both name; None while it is not exposed."""
    if account.exposed_at is None:
        return None
    # By time first, which has an index: an account may have very many entries.
    query = select(LedgerEntry).where(
        LedgerEntry.created_at == account.exposed_at,
        LedgerEntry.kind == EntryKind.EXPOSE,
        LedgerEntry.account_id == account.id,
    )
    return session.scalars(query.order_by(LedgerEntry.sequence).limit(1)).one()


def lock_account(session: Session, account_id: str) -> tuple[BudgetAccount, datetime]:
    """Lock the account until the transaction ends; return it and PostgreSQL's time. NotFound when there is
    none.
    """
    row = session.execute(_LOCK_ACCOUNT, {"account_id": account_id}).one_or_none()
    if row is None:
        raise NotFound("no such budget account", id=account_id)
    return row[0], row[1]


def settled_account(session: Session, account_id: str) -> BudgetAccount | None:
    """Load the account once nobody holds it, not locked.

    Every entry with an earlier time can be read then.
    """
    row = select(BudgetAccount).where(BudgetAccount.id == account_id)
    waiting = session.begin_nested()
    # FOR SHARE waits for whoever changes the row.
    session.execute(row.with_for_update(read=True))
    waiting.rollback()  # a savepoint's locks go with it
    return session.scalars(row, execution_options={"populate_existing": True}).one_or_none()


def lock_with_quotas(
    session: Session, account_id: str, team: str | None, project: str | None
) -> tuple[list[tuple[BudgetAccount, dict[str, Balance] | None]], datetime]:
    """Lock the domain's account, then its quotas. These are of that team and project if there are any. One
    round trip. NotFound when there is no such domain's account.

    With each comes what it holds; None where that must be read under the lock: of an account with a window,
    and of one that changed while its lock was waited for.
    """
    named = {"account_id": account_id}
    statement = _LOCK_ALONE
    if team is not None or project is not None:
        named |= {str(Scope.TEAM): team or "", str(Scope.PROJECT): project or ""}
        statement = _LOCK_WITH_QUOTAS
    # A subquery's order is not kept by the join around it.
    rows = sorted(session.execute(statement, named).all(), key=lambda row: _order(row[0]))
    if not rows or rows[0][0].parent_id is not None:
        raise NotFound("no such budget account of a protection domain", id=account_id)
    # The time of the last lock: entries in several accounts carry the same.
    return [(row[0], _held(row)) for row in rows], max(row[1] for row in rows)


def _held(row: Any) -> dict[str, Balance] | None:
    account, _, current, dimensions, *amounts = row
    if account.window is not None or not current:
        return None
    return {
        dimension: Balance(*map(int, each)) for dimension, *each in zip(dimensions, *amounts, strict=True)
    }


def quotas(session: Session, account_id: str, *named: tuple[Scope, str | None]) -> list[BudgetAccount]:
    """Load the account's quotas in the order of locks. All are loaded, or those of these scopes and names
    only."""
    query = select(BudgetAccount).where(BudgetAccount.parent_id == account_id).order_by(BudgetAccount.id)
    if named:
        query = query.where(tuple_(BudgetAccount.scope, BudgetAccount.scope_name).in_(named))
    return list(session.scalars(query, execution_options={"populate_existing": True}))


def lock_reservation(
    session: Session, reservation_id: str
) -> tuple[list[tuple[LedgerEntry, BudgetAccount]], datetime]:
    """Lock the accounts that the reservation spans. It loads its reserve entry in each, the domain's first,
    and PostgreSQL's time. NotFound when there is none.
    """
    rows = session.execute(_LOCK_RESERVATION, {"reservation_id": reservation_id}).all()
    if not rows:
        raise NotFound("no such reservation", id=reservation_id)
    spanned = sorted(((row[0], row[1]) for row in rows), key=lambda pair: _order(pair[1]))
    return spanned, max(row[2] for row in rows)


def _order(account: BudgetAccount) -> tuple[bool, str]:
    return account.parent_id is not None, account.id


def terminal_of(session: Session, reservation_id: str) -> LedgerEntry | None:
    """Load the entry that ended the reservation. It is that in its domain's account; None while it is
    open."""
    return session.scalars(_TERMINAL, {"reservation_id": reservation_id}).one_or_none()


def earliest_expiry(session: Session, account_id: str) -> datetime | None:
    """Find when the first of the account's open reservations would run out."""
    least = func.min(HOLDS.c.expires_at)
    earliest: datetime | None = session.scalar(select(least).where(HOLDS.c.account_id == account_id))
    return earliest


def hold_expiry(session: Session, reservation_id: str) -> datetime | None:
    """Find when an open reservation runs out. None once its job has begun."""
    statement = select(HOLDS.c.expires_at).where(HOLDS.c.reservation_id == reservation_id)
    return session.scalar(statement.limit(1))


def hold_expiries(session: Session, reservation_ids: Collection[str]) -> dict[str, datetime]:
    """Find when each of these runs out. Of these, only those that are open can run out."""
    if not reservation_ids:
        return {}
    statement = select(HOLDS.c.reservation_id, func.min(HOLDS.c.expires_at))
    statement = statement.where(HOLDS.c.reservation_id.in_(reservation_ids), HOLDS.c.expires_at.is_not(None))
    return {row[0]: row[1] for row in session.execute(statement.group_by(HOLDS.c.reservation_id))}


def keep_hold(session: Session, reservation_id: str) -> bool:
    """Let the reservation run out no more. False when it is not open."""
    kept = session.execute(_KEEP_HOLD, {"reservation": reservation_id})
    return kept.first() is not None


def entries(session: Session, account_id: str, *, after: int, limit: int) -> EntryPage:
    """Load up to ``limit`` entries that follow ``after``. There are fewer, but one at least, where they name
    much.

    Read through a cursor, so that no more is held than is told.
    """
    statement = (
        select(LedgerEntry)
        .where(LedgerEntry.account_id == account_id, LedgerEntry.sequence > after)
        .order_by(LedgerEntry.sequence)
        .limit(limit + 1)
        .execution_options(yield_per=min(limit + 1, 20))
    )
    page: list[LedgerEntry] = []
    named = 0
    with session.scalars(statement) as rows:
        for entry in rows:
            named += len(entry.amounts) + len(entry.digests)
            # One entry at least, however much it names: a page of none would never be passed.
            if page and (len(page) == limit or named > MAX_NAMED):
                return EntryPage(tuple(page), page[-1].sequence)
            page.append(entry)
    return EntryPage(tuple(page), None)


def entries_of_job(session: Session, account_id: str, job_id: str, kind: EntryKind) -> list[LedgerEntry]:
    """Load the job's entries of one kind in the account."""
    statement = select(LedgerEntry).where(
        LedgerEntry.account_id == account_id, LedgerEntry.job_id == job_id, LedgerEntry.kind == kind
    )
    return list(session.scalars(statement))


def grants(session: Session, account_id: str) -> list[LedgerEntry]:
    """Load the account's grants, the first at its opening."""
    statement = select(LedgerEntry).where(
        LedgerEntry.account_id == account_id, LedgerEntry.kind == EntryKind.GRANT
    )
    return list(session.scalars(statement.order_by(LedgerEntry.sequence)))


def overdue_reservations(session: Session, limit: int) -> list[LedgerEntry]:
    """Load reserve entries that are overdue. They are entries of domains' accounts that are open, unkept and
    past their time, the oldest first.

    Costs what is overdue.
    """
    statement = (
        select(LedgerEntry)
        .join(BudgetAccount, BudgetAccount.id == LedgerEntry.account_id)
        .join(
            BudgetHold,
            and_(
                BudgetHold.reservation_id == LedgerEntry.reservation_id,
                BudgetHold.account_id == LedgerEntry.account_id,
            ),
        )
        .where(
            BudgetHold.expires_at < func.now(),
            LedgerEntry.kind == EntryKind.RESERVE,
            BudgetAccount.parent_id.is_(None),
        )
        .order_by(BudgetHold.expires_at)
        .limit(limit)
    )
    return list(session.scalars(statement))
