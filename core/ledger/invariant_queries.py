"""The SQL of the ledger's invariants. These are reads only, no locks, each reading one consistent
snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from core.ledger.kinds import Filter
from core.ledger.models import BudgetAccount, LedgerEntry
from core.ledger.posting import ENTRIES

BATCH = 1_000

# What the entries add up to, against what the balances say.
# FULL JOIN: entries without a balance and a step's balance without entries are flaws too; only what
# stands from the opening on may have no entry yet. CAST gives the type that a NULL parameter lacks.
_UNFOLDED = text("""
WITH moves AS (
    SELECT e.account_id, m.key AS dimension, e.kind, m.value::numeric AS amount
    FROM ledger_entries AS e, jsonb_each_text(e.amounts) AS m
    WHERE e.kind IN ('reserve', 'charge', 'forfeit', 'release', 'expire', 'adjust')
        AND (CAST(:account_id AS text) IS NULL OR e.account_id = :account_id)
), folded AS (
    SELECT account_id, dimension,
        sum(CASE WHEN kind IN ('charge', 'forfeit', 'adjust') THEN amount ELSE 0 END) AS charged,
        sum(CASE kind WHEN 'reserve' THEN amount WHEN 'adjust' THEN 0 ELSE -amount END) AS reserved
    FROM moves GROUP BY account_id, dimension
), standing AS (
    SELECT account_id, dimension, charged, reserved FROM budget_balances
    WHERE CAST(:account_id AS text) IS NULL OR account_id = :account_id
)
SELECT account_id, dimension, coalesce(f.charged, 0), coalesce(f.reserved, 0),
    coalesce(s.charged, 0), coalesce(s.reserved, 0)
FROM folded AS f FULL JOIN standing AS s USING (account_id, dimension)
WHERE coalesce(f.charged, 0) <> coalesce(s.charged, 0) OR coalesce(f.reserved, 0) <> coalesce(s.reserved, 0)
    OR s.charged IS NULL OR f.charged IS NULL AND dimension LIKE 'step/%'
ORDER BY account_id, dimension
""")

# Reservations whose entries and hold in one account do not say: begun once, ended at most once, in full; held
# while open, until the time that was set or for ever.
# IS DISTINCT FROM and coalesce: the side that a join lacks is NULL, which no comparison would
# report. A hold of a job that has begun has no time either, and passes whatever the entry named.
_LOOSE = text("""
WITH lives AS (
    SELECT reservation_id, account_id,
        count(*) FILTER (WHERE kind = 'reserve') AS begun,
        count(*) FILTER (WHERE kind <> 'reserve') AS ended,
        count(DISTINCT amounts) AS sizes,
        max(expires_at) FILTER (WHERE kind = 'reserve') AS expires_at
    FROM ledger_entries
    WHERE kind IN ('reserve', 'charge', 'forfeit', 'release', 'expire')
        AND (CAST(:account_id AS text) IS NULL OR account_id = :account_id)
    GROUP BY reservation_id, account_id
), holds AS (
    SELECT reservation_id, account_id, expires_at, true AS held FROM budget_holds
    WHERE CAST(:account_id AS text) IS NULL OR account_id = :account_id
)
SELECT reservation_id, account_id, coalesce(l.begun, 0), coalesce(l.ended, 0), coalesce(h.held, false)
FROM lives AS l FULL JOIN holds AS h USING (reservation_id, account_id)
WHERE reservation_id IS NULL OR l.begun IS DISTINCT FROM 1 OR l.ended > 1 OR l.sizes <> 1
    OR (l.ended = 0) <> coalesce(h.held, false) OR h.expires_at <> coalesce(l.expires_at, 'infinity')
ORDER BY reservation_id, account_id
""")

# Reservations that do not stand alike in one domain's account and in quotas below it.
_UNEVEN = text("""
SELECT reservation_id, min(account_id) FROM (
    SELECT e.*, a.parent_id, coalesce(a.parent_id, a.id) AS family
    FROM ledger_entries AS e JOIN budget_accounts AS a ON a.id = e.account_id
    WHERE e.kind IN ('reserve', 'charge', 'forfeit', 'release', 'expire') AND (
        CAST(:account_id AS text) IS NULL OR e.reservation_id IN (
            SELECT reservation_id FROM ledger_entries WHERE account_id = :account_id
        )
    )
) AS lives GROUP BY reservation_id
HAVING count(*) FILTER (WHERE parent_id IS NULL AND kind = 'reserve') <> 1
    OR count(DISTINCT family) <> 1 OR count(DISTINCT amounts) <> 1
    OR count(DISTINCT (kind, digests)) FILTER (WHERE kind <> 'reserve') > 1
    OR count(*) FILTER (WHERE kind <> 'reserve') NOT IN (0, count(DISTINCT account_id))
ORDER BY reservation_id
""")

# Balances that are not shaped by their account's terms. (The capacities of orders are worked out elsewhere.)
_MISSHAPEN = text("""
SELECT b.account_id, b.dimension
FROM budget_balances AS b LEFT JOIN budget_accounts AS a ON a.id = b.account_id
WHERE (CAST(:account_id AS text) IS NULL OR b.account_id = :account_id) AND (
    a.id IS NULL OR b.binding <> (a.filter = 'basic') OR (b.step IS NULL) <> (b.window_committed IS NULL)
    OR a.filter = 'basic' AND b.capacity <>
        CASE b.dimension WHEN 'delta' THEN a.capacity_delta_atto ELSE a.capacity_nano_epsilon END
    OR 'step/' || b.step IS DISTINCT FROM CASE WHEN b.dimension LIKE 'step/%' THEN b.dimension END
)
ORDER BY 1, 2
""")

# What grants an account has had: how many, what they add up to, and how many of the later ones by one person.
_GRANTED = text("""
SELECT a.id, a.filter, a.capacity_nano_epsilon, a.capacity_delta_atto, count(e.id),
    sum(coalesce((e.amounts ->> 'epsilon')::numeric, (e.amounts ->> 'untimed')::numeric)),
    sum((e.amounts ->> 'delta')::numeric),
    count(*) FILTER (WHERE e.sequence > 1 AND (e.approver IS NULL OR e.approver = e.actor))
FROM budget_accounts AS a LEFT JOIN ledger_entries AS e ON e.account_id = a.id AND e.kind = 'grant'
WHERE CAST(:account_id AS text) IS NULL OR a.id = :account_id
GROUP BY a.id ORDER BY a.id
""")

# Quotas that do not count what the account above them counts.
_STRAY = text("""
SELECT q.id FROM budget_accounts AS q LEFT JOIN budget_accounts AS p ON p.id = q.parent_id
WHERE (q.parent_id IS NOT NULL OR q.scope <> 'domain') AND (
    p.scope IS DISTINCT FROM 'domain' OR p.parent_id IS NOT NULL
    OR (p.tenant, p.domain, p.unit, p."window", p.filter, CAST(p.orders AS text))
        IS DISTINCT FROM (q.tenant, q.domain, q.unit, q."window", q.filter, CAST(q.orders AS text))
) AND (CAST(:account_id AS text) IS NULL OR q.id = :account_id)
ORDER BY q.id
""")


# Every window of a stream, summed from its steps by the database itself, beside the sum that its row keeps.
# RANGE, not ROWS: a window spans numbers of steps, and steps without spend have no row.
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
SELECT coalesce(max(committed), 0) + coalesce((
    SELECT charged + reserved FROM budget_balances WHERE account_id = :account_id AND dimension = 'untimed'
), 0) FROM windows
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
    """A reservation whose life in one account does not add up."""

    reservation_id: str | None
    account_id: str
    begun: int
    ended: int
    held: bool


@dataclass(frozen=True)
class Granted:
    """An account's capacity, and the grants that explain it. Sums are None where no grant names them."""

    account_id: str
    filter: str
    nano_epsilon: int
    delta_atto: int
    grants: int
    granted_nano_epsilon: int | None
    granted_delta_atto: int | None
    by_one_person: int

    @property
    def explained(self) -> bool:
        """True when grants explain the capacity. It is the sum of the grants, each later one by two
        persons."""
        if self.filter != Filter.BASIC:
            return self.grants == 1 and not self.by_one_person
        sums = (self.granted_nano_epsilon, self.granted_delta_atto)
        return sums == (self.nano_epsilon, self.delta_atto) and not self.by_one_person


def account_ids(session: Session, account_id: str | None) -> list[str]:
    """List the given account, or all of them."""
    if account_id is not None:
        return [account_id]
    return list(session.scalars(select(BudgetAccount.id).order_by(BudgetAccount.id)))


def streams(session: Session, account_id: str | None) -> list[BudgetAccount]:
    """List the accounts that have a window. The given one is looked at, or all of them."""
    statement = select(BudgetAccount).where(BudgetAccount.window.is_not(None)).order_by(BudgetAccount.id)
    if account_id is not None:
        statement = statement.where(BudgetAccount.id == account_id)
    return list(session.scalars(statement))


def unfolded(session: Session, account_id: str | None) -> list[Unfolded]:
    """Find every balance that entries do not explain. Its charged or reserved amount is not the sum of the
    entries. O(entries)."""
    rows = session.execute(_UNFOLDED, {"account_id": account_id})
    return [Unfolded(r[0], r[1], (int(r[2]), int(r[3])), (int(r[4]), int(r[5]))) for r in rows]


def loose(session: Session, account_id: str | None) -> list[Loose]:
    """Find every reservation that breaks the rules. It did not begin once, end at most once and in full, and
    hold while open."""
    return [Loose(*row) for row in session.execute(_LOOSE, {"account_id": account_id})]


def uneven(session: Session, account_id: str | None) -> list[tuple[str | None, str]]:
    """Find reservations that differ among accounts. They come as (reservation, one of its accounts) where it
    does not stand alike in all of them. O(entries)."""
    return [(row[0], row[1]) for row in session.execute(_UNEVEN, {"account_id": account_id})]


def misshapen(session: Session, account_id: str | None) -> list[tuple[str, str]]:
    """Find balances that differ from the terms. They come as (account, dimension) of balances with another
    capacity, guard or step than the terms give."""
    return [(row[0], row[1]) for row in session.execute(_MISSHAPEN, {"account_id": account_id})]


def granted(session: Session, account_id: str | None) -> list[Granted]:
    """Sum what every account was granted, with what it has."""
    return [Granted(*row) for row in session.execute(_GRANTED, {"account_id": account_id})]


def stray(session: Session, account_id: str | None) -> list[str]:
    """Find quotas whose account above them is none, or has other terms."""
    return list(session.scalars(_STRAY, {"account_id": account_id}))


def fullest_window(session: Session, account_id: str, window: int) -> int:
    """Sum the nano-epsilon of the fullest window. It comes from the steps, untimed spend included.
    O(steps)."""
    return int(session.execute(_FULLEST, {"account_id": account_id, "reach": window - 1}).scalar_one())


def unsummed(session: Session, account_id: str, window: int) -> list[tuple[int, int, int]]:
    """Find windows whose sums differ. They come as (last step, sum of its window, sum that its row keeps).
    O(steps)."""
    rows = session.execute(_UNSUMMED, {"account_id": account_id, "reach": window - 1})
    return [(int(step), int(found), int(kept)) for step, found, kept in rows]


def head(session: Session, account_id: str) -> tuple[BudgetAccount, int] | None:
    """Read the account and its last sequence number. The latter is the highest sequence number among its
    entries, as one statement sees them."""
    newest = (
        select(func.coalesce(func.max(LedgerEntry.sequence), 0))
        .where(LedgerEntry.account_id == BudgetAccount.id)
        .scalar_subquery()
    )
    statement = select(BudgetAccount, newest).where(BudgetAccount.id == account_id)
    row = session.execute(statement, execution_options={"populate_existing": True}).one_or_none()
    return None if row is None else (row[0], row[1])


def chain(session: Session, account_id: str, up_to: int) -> Iterator[dict[str, Any]]:
    """Stream the account's entries in order, as columns, through ``up_to``."""
    statement = (
        select(ENTRIES)
        .where(ENTRIES.c.account_id == account_id, ENTRIES.c.sequence <= up_to)
        .order_by(ENTRIES.c.sequence)
        .execution_options(yield_per=BATCH)
    )
    for row in session.execute(statement):
        yield dict(row._mapping)
