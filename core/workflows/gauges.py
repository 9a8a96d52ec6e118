"""What operators watch, read from PostgreSQL in one pass: budgets, jobs, the outbox, the last checks."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text

from core.jobs.models import JobState
from core.workflows.context import Services

# Epsilon (nano) by account, as its statement tells it: sums; of a stream its fullest window, untimed spend
# included; of a Rényi account the curve, converted at its best order (core/ledger/statement.py).
_BUDGETS = """
    SELECT 'budget' AS kind, a.id AS name, a.unit AS detail, a.capacity_nano_epsilon::numeric AS first,
        f.charged AS second, f.reserved AS third, f.remaining AS fourth
    FROM budget_accounts AS a
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
"""
_STATEMENT = text(f"""
    ({_BUDGETS} ORDER BY f.remaining / a.capacity_nano_epsilon, a.id LIMIT :accounts)
    UNION ALL
    SELECT 'accounts', '', '', count(*), NULL, NULL, NULL FROM budget_accounts
    UNION ALL
    SELECT 'jobs', state, '', count(*), NULL, NULL, NULL FROM jobs GROUP BY state
    UNION ALL
    SELECT 'queued', '', '', extract(epoch FROM clock_timestamp() - min(created_at)), NULL, NULL, NULL
    FROM jobs WHERE state = 'queued'
    UNION ALL
    SELECT 'outbox', '', '', count(*), NULL, NULL, NULL FROM outbox WHERE sent_at IS NULL
    UNION ALL
    SELECT 'check', invariant, '', extract(epoch FROM checked_at), violations, NULL, NULL
    FROM invariant_checks
""")


@dataclass(frozen=True)
class BudgetGauge:
    """One account's epsilon, in nano."""

    account_id: str
    unit: str
    capacity: int
    charged: int
    reserved: int
    remaining: int


@dataclass(frozen=True)
class CheckGauge:
    """One invariant's last check; ``checked_at`` in seconds since 1970."""

    invariant: str
    checked_at: float
    violations: int


@dataclass(frozen=True)
class Gauges:
    """The service at one moment. ``budgets`` are those of the fullest accounts, ``accounts`` counts all."""

    budgets: tuple[BudgetGauge, ...]
    accounts: int
    jobs: dict[str, int]
    oldest_queued_seconds: float
    outbox_unsent: int
    checks: tuple[CheckGauge, ...]


def read_gauges(services: Services) -> Gauges:
    """One statement, one snapshot: O(accounts + jobs + unsent messages), by indexes."""
    with services.db.transaction() as session:
        rows = session.execute(_STATEMENT, {"accounts": services.settings.max_exported_accounts}).all()
    of: dict[str, list[tuple]] = {}
    for kind, *rest in rows:
        of.setdefault(kind, []).append(tuple(rest))
    jobs = dict.fromkeys((state.value for state in JobState), 0)
    jobs |= {state: int(count) for state, _, count, *_ in of.get("jobs", [])}
    return Gauges(
        budgets=tuple(
            BudgetGauge(name, unit, *(int(amount) for amount in amounts))
            for name, unit, *amounts in of.get("budget", [])
        ),
        accounts=int(of["accounts"][0][2]),
        jobs=jobs,
        oldest_queued_seconds=float(of["queued"][0][2] or 0),
        outbox_unsent=int(of["outbox"][0][2]),
        checks=tuple(
            CheckGauge(name, float(at), int(count)) for name, _, at, count, *_ in of.get("check", [])
        ),
    )
