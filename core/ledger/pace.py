"""How fast accounts spend. It says on which day nothing will be left at that pace.

Counted by whole days (UTC): a charge's moment is told to nobody who may not read the ledger. A window of
steps moves on and frees what it held: w-event accounts have no pace.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import text
from sqlalchemy.orm import Session

from graphveil.amounts import format_epsilon
from graphveil.models.ledger import Pace

DAYS = 7
# Ten years: what lasts longer has no date.
FARTHEST_DAYS = 3_650

# Of a Rényi account what the curve, converted at its best order, has gained since (core/ledger/statement.py).
_SPENT = text("""
    SELECT told.* FROM (WITH of AS (
        SELECT coalesce(CAST(:today AS date), CAST(now() AT TIME ZONE 'UTC' AS date)) AS today
    ), moved AS (
        SELECT e.account_id, m.key AS dimension, sum(CAST(m.value AS numeric)) AS amount
        FROM of, ledger_entries AS e, jsonb_each_text(e.amounts) AS m
        WHERE e.account_id = ANY(:accounts) AND e.kind IN ('charge', 'forfeit', 'adjust')
            AND e.created_at >= CAST(of.today - :before AS timestamp) AT TIME ZONE 'UTC'
        GROUP BY e.account_id, m.key
    )
    SELECT a.id, of.today, of.today - CAST(a.created_at AT TIME ZONE 'UTC' AS date) AS age, CASE a.filter
        WHEN 'renyi' THEN
            CASE WHEN bool_or(b.charged > 0)
                THEN a.capacity_nano_epsilon - max(b.capacity - b.charged) ELSE 0 END
            - CASE WHEN bool_or(b.charged > coalesce(m.amount, 0))
                THEN a.capacity_nano_epsilon - max(b.capacity - b.charged + coalesce(m.amount, 0)) ELSE 0 END
        ELSE coalesce(sum(m.amount) FILTER (WHERE b.dimension = 'epsilon'), 0) END AS spent
    FROM of CROSS JOIN budget_accounts AS a
    JOIN budget_balances AS b ON b.account_id = a.id
    LEFT JOIN moved AS m ON m.account_id = b.account_id AND m.dimension = b.dimension
    WHERE a.id = ANY(:accounts) AND a."window" IS NULL
    GROUP BY a.id, of.today) AS told
""")


@dataclass(frozen=True)
class Spending:
    """What an account spent, in nano-epsilon. It counts from ``days`` - 1 days before ``today`` on."""

    today: date
    days: int
    nano_epsilon: int

    def pace(self, remaining_nano_epsilon: int) -> Pace:
        """Say when so much is gone. It is never where nothing was spent or is left, or in ten years."""
        left = max(0, remaining_nano_epsilon)
        # Rounded down: the day on which nothing is left is never named too late.
        days = left * self.days // self.nano_epsilon if self.nano_epsilon else FARTHEST_DAYS
        ends = self.today + timedelta(days=days) if left and days < FARTHEST_DAYS else None
        # Rounded up, as costs are.
        daily = -(-self.nano_epsilon // self.days)
        return Pace(days=self.days, epsilon_per_day=format_epsilon(daily), ends_on=ends)


def spending(
    session: Session, account_ids: Collection[str], *, today: date | None = None
) -> dict[str, Spending]:
    """Read what each account spent in seven days. They are its last seven, or those since it was opened,
    ``today`` included.

    O(entries of these days), by an index; accounts with a window are left out.
    """
    values = {"accounts": list(account_ids), "today": today, "before": DAYS - 1}
    return {
        row.id: Spending(row.today, min(DAYS, max(0, row.age) + 1), max(0, int(row.spent)))
        for row in session.execute(_SPENT, values)
    }
