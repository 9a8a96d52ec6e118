"""What has happened since the first row. It has entries, ended jobs, their waits and durations. Counts never
fall.

Rows that have settled are counted once and kept in memory; only what is newer is counted at each reading.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from core.coarse import BOUNDS
from core.jobs.models import JobReason
from core.workflows.operations.gauges_work import UNFINISHED

# Longer than any transaction of the service: a row older than this that is not seen now never comes.
SETTLES_AFTER = timedelta(hours=1)

_ENTRIES = text("""
    SELECT kind, count(*) FROM ledger_entries WHERE created_at >= :since AND created_at < :until GROUP BY kind
""")
# The jobs that ended, with the attempts that infrastructure ended.
_LOST = "sum(greatest(attempt - 1, 0) + CASE WHEN reason = ANY(:lost) THEN 1 ELSE 0 END)"
_ENDED = text(f"""
    SELECT method, state, coalesce(reason, '') AS reason,
        CASE WHEN started_at IS NOT NULL THEN
            width_bucket(extract(epoch FROM finished_at - started_at)::float8, CAST(:bounds AS float8[]))
        END AS bucket,
        count(*) AS jobs, {_LOST} AS lost
    FROM jobs WHERE finished_at >= :since AND finished_at < :until GROUP BY 1, 2, 3, 4
""")
# A snapshot of a stream waits for those before it by intention: its wait tells nothing of the workers.
_BEGUN = text("""
    SELECT method,
        width_bucket(
            extract(epoch FROM started_at - coalesce(decided_at, created_at))::float8,
            CAST(:bounds AS float8[])
        ) AS bucket,
        count(*) AS jobs
    FROM jobs AS j WHERE started_at >= :since AND started_at < :until
        AND NOT EXISTS (SELECT FROM snapshots AS s WHERE s.job_id = j.id)
    GROUP BY 1, 2
""")
_LOST_NOW = text("SELECT coalesce(sum(greatest(attempt - 1, 0)), 0) FROM jobs WHERE state = ANY(:states)")
_LOST_REASONS = [JobReason.WORKER_LOST.value, JobReason.BUDGET_EXHAUSTED.value]


@dataclass
class Counts:
    """Counts of rows. Waits and durations are by method and by number of bucket."""

    entries: Counter[str] = field(default_factory=Counter)
    finished: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    waits: Counter[tuple[str, int]] = field(default_factory=Counter)
    durations: Counter[tuple[str, int]] = field(default_factory=Counter)
    lost_attempts: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(
            self.entries + other.entries,
            self.finished + other.finished,
            self.waits + other.waits,
            self.durations + other.durations,
            self.lost_attempts + other.lost_attempts,
        )

    def ended(self, state: str) -> int:
        """Count the jobs that have ended in the state."""
        return sum(count for (_, outcome, _), count in self.finished.items() if outcome == state)


def cumulative(counts: Counter[tuple[str, int]], method: str) -> list[int]:
    """Accumulate the method's counts below each bound, and below none."""
    return list(accumulate(counts[method, bucket] for bucket in range(len(BOUNDS) + 1)))


class Totals:
    """Remembers the counts of settled rows between readings. A fresh one counts everything once."""

    def __init__(self) -> None:
        self._settled = Counts()
        self._until: datetime | None = None

    def read(self, session: Session) -> Counts:
        """Read all counts at the session's moment. O(rows of the last two hours), the first time O(rows)."""
        settled, until = self._settled, self._until
        now = session.execute(text("SELECT now()")).scalar_one()
        # Settled rows move in steps, so that most readings count the recent ones only.
        if until is None or now - until > 2 * SETTLES_AFTER:
            # Rows show when their transaction commits, later than their time says: recent ones are counted
            # anew.
            settled += _counted(session, until, now - SETTLES_AFTER)
            until = now - SETTLES_AFTER
        recent = _counted(session, until, None)
        states = [state.value for state in UNFINISHED]
        recent.lost_attempts += int(session.execute(_LOST_NOW, {"states": states}).scalar_one())
        # Only now: a reading that fails half-way must count nothing twice.
        self._settled, self._until = settled, until
        return settled + recent


def _counted(session: Session, since: datetime | None, until: datetime | None) -> Counts:
    values: dict[str, Any] = {
        "since": since or "-infinity",
        "until": until or "infinity",
        "bounds": list(BOUNDS),
        "lost": _LOST_REASONS,
    }
    found = Counts()
    for kind, count in session.execute(_ENTRIES, values):
        found.entries[kind] += count
    for row in session.execute(_ENDED, values):
        found.finished[row.method, row.state, row.reason] += row.jobs
        found.lost_attempts += int(row.lost)
        if row.bucket is not None:
            found.durations[row.method, row.bucket] += row.jobs
    for row in session.execute(_BEGUN, values):
        found.waits[row.method, row.bucket] += row.jobs
    return found
