"""The SQL of the ledger's invariants: reads only, no locks, each reading one consistent snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from core.ledger.models import BudgetAccount, LedgerEntry
from core.ledger.posting import ENTRIES

BATCH = 1_000

# What the entries add up to, against what the balances say.
_UNFOLDED = text("""
WITH moves AS (
    SELECT e.account_id, m.key AS dimension, e.kind, m.value::numeric AS amount
    FROM ledger_entries AS e, jsonb_each_text(e.amounts) AS m
    WHERE e.kind IN ('reserve', 'charge', 'forfeit', 'release', 'expire')
        AND (CAST(:account_id AS text) IS NULL OR e.account_id = :account_id)
), folded AS (
    SELECT account_id, dimension,
        sum(CASE WHEN kind IN ('charge', 'forfeit') THEN amount ELSE 0 END) AS charged,
        sum(CASE WHEN kind = 'reserve' THEN amount ELSE -amount END) AS reserved
    FROM moves GROUP BY account_id, dimension
), standing AS (
    SELECT account_id, dimension, charged, reserved FROM budget_balances
    WHERE CAST(:account_id AS text) IS NULL OR account_id = :account_id
)
SELECT account_id, dimension, coalesce(f.charged, 0), coalesce(f.reserved, 0),
    coalesce(s.charged, 0), coalesce(s.reserved, 0)
FROM folded AS f FULL JOIN standing AS s USING (account_id, dimension)
WHERE coalesce(f.charged, 0) <> coalesce(s.charged, 0) OR coalesce(f.reserved, 0) <> coalesce(s.reserved, 0)
ORDER BY account_id, dimension
""")

# Reservations whose entries and hold do not say: begun once, in one account, ended at most once, in full.
_LOOSE = text("""
WITH lives AS (
    SELECT reservation_id, min(account_id) AS account_id, count(DISTINCT account_id) AS accounts,
        count(*) FILTER (WHERE kind = 'reserve') AS begun,
        count(*) FILTER (WHERE kind <> 'reserve') AS ended,
        count(DISTINCT amounts) AS sizes
    FROM ledger_entries
    WHERE kind IN ('reserve', 'charge', 'forfeit', 'release', 'expire')
        AND (CAST(:account_id AS text) IS NULL OR account_id = :account_id)
    GROUP BY reservation_id
), holds AS (
    SELECT reservation_id, account_id FROM budget_holds
    WHERE CAST(:account_id AS text) IS NULL OR account_id = :account_id
)
SELECT reservation_id, coalesce(l.account_id, h.account_id),
    coalesce(l.begun, 0), coalesce(l.ended, 0), h.account_id IS NOT NULL
FROM lives AS l FULL JOIN holds AS h USING (reservation_id)
WHERE reservation_id IS NULL OR l.begun IS DISTINCT FROM 1 OR l.ended > 1 OR l.sizes <> 1 OR l.accounts <> 1
    OR (l.ended = 0) <> (h.account_id IS NOT NULL)
ORDER BY reservation_id
""")


# Every window of a stream, summed from its steps by the database itself, beside the sum that its row keeps.
_WINDOWS = """
WITH windows AS (
    SELECT step, window_committed,
        sum(charged + reserved)
            OVER (ORDER BY step RANGE BETWEEN :reach PRECEDING AND CURRENT ROW) AS committed
    FROM budget_balances WHERE account_id = :account_id AND step IS NOT NULL
)
"""
_FULLEST = text(
    _WINDOWS
    + """
SELECT coalesce(max(committed), 0) + (
    SELECT charged + reserved FROM budget_balances WHERE account_id = :account_id AND dimension = 'untimed'
) FROM windows
"""
)
_UNSUMMED = text(
    _WINDOWS
    + """
SELECT step, committed, window_committed FROM windows WHERE committed <> window_committed ORDER BY step
"""
)


@dataclass(frozen=True)
class Unfolded:
    """A balance that is not the sum of its entries."""

    account_id: str
    dimension: str
    folded: tuple[int, int]
    standing: tuple[int, int]


@dataclass(frozen=True)
class Loose:
    """A reservation whose life does not add up."""

    reservation_id: str | None
    account_id: str
    begun: int
    ended: int
    held: bool


def account_ids(session: Session, account_id: str | None) -> list[str]:
    """The given account, or all of them."""
    if account_id is not None:
        return [account_id]
    return list(session.scalars(select(BudgetAccount.id).order_by(BudgetAccount.id)))


def streams(session: Session, account_id: str | None) -> list[BudgetAccount]:
    """The given account, or all of them, of those that have a window."""
    statement = select(BudgetAccount).where(BudgetAccount.window.is_not(None)).order_by(BudgetAccount.id)
    if account_id is not None:
        statement = statement.where(BudgetAccount.id == account_id)
    return list(session.scalars(statement))


def unfolded(session: Session, account_id: str | None) -> list[Unfolded]:
    """Every balance whose charged or reserved is not the sum of the entries. O(entries)."""
    rows = session.execute(_UNFOLDED, {"account_id": account_id})
    return [Unfolded(r[0], r[1], (int(r[2]), int(r[3])), (int(r[4]), int(r[5]))) for r in rows]


def loose(session: Session, account_id: str | None) -> list[Loose]:
    """Every reservation that did not begin once, end at most once and in full, and hold while open."""
    return [Loose(*row) for row in session.execute(_LOOSE, {"account_id": account_id})]


def fullest_window(session: Session, account_id: str, window: int) -> int:
    """Nano-epsilon of the fullest window, untimed spend included, summed from the steps. O(steps)."""
    return int(session.execute(_FULLEST, {"account_id": account_id, "reach": window - 1}).scalar_one())


def unsummed(session: Session, account_id: str, window: int) -> list[tuple[int, int, int]]:
    """(last step, sum of its window, sum that its row keeps) where they differ. O(steps)."""
    rows = session.execute(_UNSUMMED, {"account_id": account_id, "reach": window - 1})
    return [(int(step), int(found), int(kept)) for step, found, kept in rows]


def head(session: Session, account_id: str) -> tuple[BudgetAccount, int] | None:
    """The account, and the highest sequence number among its entries, as one statement sees them."""
    newest = (
        select(func.coalesce(func.max(LedgerEntry.sequence), 0))
        .where(LedgerEntry.account_id == BudgetAccount.id)
        .scalar_subquery()
    )
    statement = select(BudgetAccount, newest).where(BudgetAccount.id == account_id)
    row = session.execute(statement, execution_options={"populate_existing": True}).one_or_none()
    return None if row is None else (row[0], row[1])


def chain(session: Session, account_id: str, up_to: int) -> Iterator[dict[str, Any]]:
    """The account's entries in order, as columns, through ``up_to``; streamed."""
    statement = (
        select(ENTRIES)
        .where(ENTRIES.c.account_id == account_id, ENTRIES.c.sequence <= up_to)
        .order_by(ENTRIES.c.sequence)
        .execution_options(yield_per=BATCH)
    )
    for row in session.execute(statement):
        yield dict(row._mapping)
