"""Budget accounts as operators watch them. They have amounts, heads of chains, the age of reservations at
work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from core.ledger import pace
from core.ledger.kinds import Filter, Scope

# 48 bits of a head: what a double holds exactly.
FINGERPRINT_BYTES = 6

# Epsilon (nano) by account, as its statement tells it: sums; of a stream its fullest window, untimed spend
# included; of a Rényi account the curve, converted at its best order (core/ledger/statement.py). Delta (atto)
# of a Rényi account is spent once, by its first release: it has no balance of its own.
_FULLEST = """
    SELECT a.id, a.domain, a.scope, a.scope_name, a.unit, a.filter,
        a.capacity_nano_epsilon, f.charged, f.reserved, f.remaining,
        a.capacity_delta_atto, d.charged AS delta_charged, d.reserved AS delta_reserved,
        a.exposed_at IS NOT NULL AS exposed, a.blocked_at IS NOT NULL AS blocked, a.last_sequence, a.last_hash
    FROM budget_accounts AS a
    LEFT JOIN budget_balances AS d ON d.account_id = a.id AND d.dimension = 'delta'
    LEFT JOIN LATERAL (
        SELECT b.step FROM budget_balances AS b WHERE b.account_id = a.id AND b.step IS NOT NULL
        ORDER BY b.window_committed DESC, b.step LIMIT 1
    ) AS x ON true
    CROSS JOIN LATERAL (
        SELECT w.charged, w.reserved, a.capacity_nano_epsilon - w.charged - w.reserved AS remaining
        FROM (
            SELECT coalesce(sum(b.charged), 0) AS charged, coalesce(sum(b.reserved), 0) AS reserved
            FROM budget_balances AS b
            WHERE b.account_id = a.id AND (
                b.dimension IN ('epsilon', 'untimed') OR b.step BETWEEN x.step - a."window" + 1 AND x.step
            )
        ) AS w
        WHERE a.filter <> 'renyi'
        UNION ALL
        SELECT c.charged, greatest(c.committed - c.charged, 0), c.room
        FROM (
            SELECT max(b.capacity - b.charged - b.reserved) AS room,
                CASE WHEN bool_or(b.charged > 0)
                    THEN a.capacity_nano_epsilon - max(b.capacity - b.charged) ELSE 0 END AS charged,
                CASE WHEN bool_or(b.charged + b.reserved > 0)
                    THEN a.capacity_nano_epsilon - max(b.capacity - b.charged - b.reserved) ELSE 0
                    END AS committed
            FROM budget_balances AS b WHERE b.account_id = a.id
        ) AS c
        WHERE a.filter = 'renyi'
    ) AS f
    ORDER BY f.remaining / a.capacity_nano_epsilon, a.id LIMIT :accounts
"""
# Only reservations at work: those of jobs that wait are bounded by settings of their own. One that outlived
# its job, or never had one, is at work too: nobody will end it.
_STATEMENT = text(f"""
    SELECT t.*, h.since FROM ({_FULLEST}) AS t
    LEFT JOIN LATERAL (
        SELECT extract(epoch FROM min(greatest(e.created_at, j.started_at))) AS since
        FROM budget_holds AS h
        JOIN ledger_entries AS e
            ON e.reservation_id = h.reservation_id AND e.account_id = h.account_id AND e.kind = 'reserve'
        LEFT JOIN jobs AS j ON j.id = e.job_id
        WHERE h.account_id = t.id AND (j.id IS NULL OR j.state NOT IN ('queued', 'awaiting_approval'))
    ) AS h ON true
""")
_COUNT = text("""
    SELECT count(*), count(exposed_at), count(blocked_at) FROM budget_accounts
""")


@dataclass(frozen=True)
class Amounts:
    """An account's amounts. It may spend them, has spent, has set aside, has left: nano-epsilon, or delta in
    1e-18."""

    capacity: int
    charged: int
    reserved: int
    remaining: int


@dataclass(frozen=True)
class BudgetGauge:
    """One account. ``delta`` is None where none may be spent.

    ``name``: its protection domain, and whose share of it where it is a team's or a project's.
    ``daily_epsilon``: what it spends a day, in nano-epsilon; None where a window frees it again.
    ``reserved_since``: seconds since 1970 at which the oldest of its reservations at work began, or its job
    did; None where none is. ``sequence`` and ``fingerprint`` (its first 48 bits) are of the chain's head.
    """

    account_id: str
    name: str
    unit: str
    epsilon: Amounts
    delta: Amounts | None
    daily_epsilon: float | None
    exposed: bool
    blocked: bool
    sequence: int
    fingerprint: int
    reserved_since: float | None


@dataclass(frozen=True)
class BudgetGauges:
    """The fullest accounts, fullest first. Counted are all, those exposed, and those blocked."""

    fullest: tuple[BudgetGauge, ...]
    accounts: int
    exposed: int
    blocked: int


def read(session: Session, most: int) -> BudgetGauges:
    """Read the gauges of budgets. It costs O(accounts + open reservations of the ``most`` fullest + their
    entries of seven days), by indexes."""
    rows = session.execute(_STATEMENT, {"accounts": most}).all()
    accounts, exposed, blocked = session.execute(_COUNT).one()
    spent = pace.spending(session, [row.id for row in rows])
    return BudgetGauges(tuple(_gauge(row, spent.get(row.id)) for row in rows), accounts, exposed, blocked)


def _gauge(row: Any, spent: pace.Spending | None) -> BudgetGauge:
    epsilon = Amounts(row.capacity_nano_epsilon, int(row.charged), int(row.reserved), int(row.remaining))
    return BudgetGauge(
        account_id=row.id,
        name=row.domain if row.scope == Scope.DOMAIN else f"{row.domain}, {row.scope} {row.scope_name}",
        unit=row.unit,
        epsilon=epsilon,
        delta=_delta(row, epsilon) if row.capacity_delta_atto else None,
        daily_epsilon=None if spent is None else spent.nano_epsilon / spent.days,
        exposed=row.exposed,
        blocked=row.blocked,
        sequence=row.last_sequence,
        fingerprint=int.from_bytes(bytes(row.last_hash)[:FINGERPRINT_BYTES], "big"),
        reserved_since=None if row.since is None else float(row.since),
    )


def _delta(row: Any, epsilon: Amounts) -> Amounts:
    capacity = row.capacity_delta_atto
    # Its whole delta converts the curve: the first release takes all of it, later ones none.
    if row.filter == Filter.RENYI:
        charged = capacity if epsilon.charged else 0
        reserved = capacity if epsilon.reserved and not epsilon.charged else 0
    else:
        charged, reserved = int(row.delta_charged), int(row.delta_reserved)
    return Amounts(capacity, charged, reserved, capacity - charged - reserved)
