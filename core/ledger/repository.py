"""The ledger's reads and locks. Whoever changes an account holds its row lock, and no other lock."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.base import ROW_LOCK
from core.errors import NotFound
from core.ledger.models import TERMINAL, BudgetAccount, BudgetHold, EntryKind, LedgerEntry
from core.ledger.posting import ACCOUNTS, BALANCES, HOLDS

MAX_NAMED = 20_000
"""How many amounts and digests the entries of one page name, unless its first names more."""


@dataclass(frozen=True)
class EntryPage:
    """Entries in order; ``next_after`` is the last one's number where more follow, else None."""

    entries: tuple[LedgerEntry, ...]
    next_after: int | None


_LOCK_ACCOUNT = (
    select(BudgetAccount, func.clock_timestamp())
    .where(BudgetAccount.id == bindparam("account_id"))
    .with_for_update(**ROW_LOCK)
    .execution_options(populate_existing=True)
)
_LOCK_RESERVATION = (
    select(LedgerEntry, BudgetAccount, func.clock_timestamp())
    .join(BudgetAccount, BudgetAccount.id == LedgerEntry.account_id)
    .where(LedgerEntry.reservation_id == bindparam("reservation_id"), LedgerEntry.kind == EntryKind.RESERVE)
    .with_for_update(of=BudgetAccount, **ROW_LOCK)
    .execution_options(populate_existing=True)
)
_TERMINAL = select(LedgerEntry).where(
    LedgerEntry.reservation_id == bindparam("reservation_id"), LedgerEntry.kind.in_(TERMINAL)
)
_KEEP_HOLD = (
    update(HOLDS)
    .where(HOLDS.c.reservation_id == bindparam("reservation"))
    .values(expires_at=None)
    .returning(HOLDS.c.reservation_id)
)


def create_account(session: Session, account: BudgetAccount) -> bool:
    """The account's row is written; False when the tenant has one for this domain already."""
    columns = {column.name: getattr(account, column.name) for column in ACCOUNTS.columns}
    values = {name: value for name, value in columns.items() if value is not None}
    statement = insert(ACCOUNTS).values(values).on_conflict_do_nothing(index_elements=["tenant", "domain"])
    return session.execute(statement.returning(ACCOUNTS.c.id)).first() is not None


def create_balances(
    session: Session, account_id: str, capacities: Mapping[str, int], *, binding: bool
) -> None:
    """One empty balance for each dimension."""
    rows = [
        {"account_id": account_id, "dimension": d, "capacity": Decimal(c), "binding": binding}
        for d, c in capacities.items()
    ]
    session.execute(insert(BALANCES), rows)


def account_of(session: Session, tenant: str, domain: str) -> BudgetAccount:
    """The account of a domain that is known to have one."""
    statement = select(BudgetAccount).where(BudgetAccount.tenant == tenant, BudgetAccount.domain == domain)
    return session.scalars(statement, execution_options={"populate_existing": True}).one()


def by_ids(session: Session, account_ids: Collection[str]) -> dict[str, BudgetAccount]:
    """The accounts of these ids, by id."""
    query = select(BudgetAccount).where(BudgetAccount.id.in_(account_ids))
    return {account.id: account for account in session.scalars(query)}


def lock_account(session: Session, account_id: str) -> tuple[BudgetAccount, datetime]:
    """The account, locked until the transaction ends, and PostgreSQL's time. NotFound when there is none."""
    row = session.execute(_LOCK_ACCOUNT, {"account_id": account_id}).one_or_none()
    if row is None:
        raise NotFound("no such budget account", id=account_id)
    return row[0], row[1]


def lock_reservation(session: Session, reservation_id: str) -> tuple[LedgerEntry, BudgetAccount, datetime]:
    """The reserve entry, its account (locked), and PostgreSQL's time. NotFound when there is none."""
    row = session.execute(_LOCK_RESERVATION, {"reservation_id": reservation_id}).one_or_none()
    if row is None:
        raise NotFound("no such reservation", id=reservation_id)
    return row[0], row[1], row[2]


def terminal(session: Session, reservation_id: str) -> LedgerEntry | None:
    """The entry that ended the reservation, if any."""
    return session.scalars(_TERMINAL, {"reservation_id": reservation_id}).one_or_none()


def earliest_expiry(session: Session, account_id: str) -> datetime | None:
    """When the first of the account's open reservations would run out."""
    return session.scalar(select(func.min(HOLDS.c.expires_at)).where(HOLDS.c.account_id == account_id))


def hold_expiry(session: Session, reservation_id: str) -> datetime | None:
    """When an open reservation runs out; None once its job has begun."""
    return session.scalar(select(HOLDS.c.expires_at).where(HOLDS.c.reservation_id == reservation_id))


def keep_hold(session: Session, reservation_id: str) -> bool:
    """The reservation no longer runs out; False when it is not open."""
    kept = session.execute(_KEEP_HOLD, {"reservation": reservation_id})
    return kept.first() is not None


def page(session: Session, account_id: str, *, after: int, limit: int) -> EntryPage:
    """Up to ``limit`` entries that follow ``after``: fewer, but one at least, where they name much.

    Read through a cursor, so that no more is held than is told.
    """
    statement = (
        select(LedgerEntry)
        .where(LedgerEntry.account_id == account_id, LedgerEntry.sequence > after)
        .order_by(LedgerEntry.sequence)
        .limit(limit + 1)
        .execution_options(yield_per=min(limit + 1, 20))
    )
    found: list[LedgerEntry] = []
    named = 0
    with session.scalars(statement) as rows:
        for entry in rows:
            named += len(entry.amounts) + len(entry.digests)
            if found and (len(found) == limit or named > MAX_NAMED):
                return EntryPage(tuple(found), found[-1].sequence)
            found.append(entry)
    return EntryPage(tuple(found), None)


def of_job(session: Session, account_id: str, job_id: str, kind: EntryKind) -> list[LedgerEntry]:
    """The job's entries of one kind."""
    statement = select(LedgerEntry).where(
        LedgerEntry.account_id == account_id, LedgerEntry.job_id == job_id, LedgerEntry.kind == kind
    )
    return list(session.scalars(statement))


def overdue(session: Session, limit: int) -> list[LedgerEntry]:
    """Reserve entries that are open, unkept and past their time, the oldest first. Costs what is overdue."""
    statement = (
        select(LedgerEntry)
        .join(BudgetHold, BudgetHold.reservation_id == LedgerEntry.reservation_id)
        .where(BudgetHold.expires_at < func.now(), LedgerEntry.kind == EntryKind.RESERVE)
        .order_by(BudgetHold.expires_at)
        .limit(limit)
    )
    return list(session.scalars(statement))
