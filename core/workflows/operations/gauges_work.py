"""Work under way, as operators watch it. It has jobs by state, what waits and since when, who was heard of
last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import text
from sqlalchemy.orm import Session

from core.jobs.models import JobState
from core.jobs.states import TERMINAL
from core.workers import repository as workers
from core.workers.repository import GpuMemory

UNFINISHED = tuple(state for state in JobState if state not in TERMINAL)

# A snapshot whose predecessor has not ended waits by intention. A job that is tried again waits since its
# last attempt, not since its first.
_WAITING = """
    SELECT extract(epoch FROM min(
        CASE WHEN j.attempt = 0 THEN coalesce(j.decided_at, j.created_at) ELSE (
            SELECT max(e.created_at) FROM job_events AS e WHERE e.job_id = j.id AND e.state = 'queued'
        ) END
    )) FROM jobs AS j
    WHERE j.state = 'queued' AND NOT EXISTS (
        SELECT FROM snapshots AS s JOIN snapshots AS earlier
            ON earlier.stream_id = s.stream_id AND earlier.step < s.step AND earlier.outcome IS NULL
        WHERE s.job_id = j.id AND s.outcome IS NULL
    )
"""
_COMMITTED = """
    SELECT extract(epoch FROM min(e.created_at)) FROM jobs AS j
    JOIN ledger_entries AS e ON e.job_id = j.id AND e.kind = 'charge' WHERE j.state = 'publishing'
"""
_UNSENT = "FROM outbox WHERE sent_at IS NULL AND not_before <= clock_timestamp()"
_STATES = text("SELECT state, count(*) AS jobs FROM jobs WHERE state = ANY(:states) GROUP BY state")
_RUNNING = text("SELECT method, count(*) AS jobs FROM jobs WHERE state = 'running' GROUP BY method")
_UPLOADS = text("SELECT state, count(*) AS uploads FROM unfinished_uploads GROUP BY state")
_SHARDS = text("SELECT state, count(*) AS shards FROM shards WHERE state <> 'drawn' GROUP BY state")
_ONE = text(f"""
    SELECT ({_WAITING}) AS waiting_since, ({_COMMITTED}) AS committed_since,
        (SELECT count(*) {_UNSENT}) AS unsent,
        (SELECT extract(epoch FROM min(not_before)) {_UNSENT}) AS unsent_since,
        (SELECT count(*) FROM jobs WHERE state = 'queued' AND gpu_only) AS for_gpus,
        (SELECT count(*) FROM held_gpus WHERE lease_expires_at > clock_timestamp()) AS gpus_held
""")

# A heartbeat sets the lease's end ``lease_seconds`` ahead. A worker's name is its host's, its process number
# and random digits: the host alone is a label with few values.
_HEARD = text("""
    SELECT regexp_replace(h.leased_by, '-[0-9]+-[0-9a-f]{8}$', '') AS host,
        extract(epoch FROM max(h.lease_expires_at)) - :lease_seconds AS heard_at
    FROM (
        SELECT leased_by, lease_expires_at FROM jobs WHERE state IN ('running', 'cancelling', 'publishing')
        UNION ALL SELECT leased_by, lease_expires_at FROM shards WHERE state = 'drawing'
        UNION ALL SELECT leased_by, lease_expires_at FROM evaluations WHERE state = 'running'
        UNION ALL SELECT leased_by, lease_expires_at FROM audits WHERE state = 'running'
        UNION ALL SELECT leased_by, lease_expires_at FROM dataset_versions WHERE state = 'validating'
        UNION ALL SELECT leased_by, lease_expires_at FROM sensitive_lists WHERE state = 'checking'
    ) AS h
    WHERE h.leased_by IS NOT NULL GROUP BY 1
""")


@dataclass(frozen=True)
class WorkGauges:
    """Work under way, by state and method. ``unfinished`` are jobs by state, ``running`` ones by method;
    ``uploads`` are those that are not validated, by state; ``shards`` those that are not sampled, by state.

    Times are seconds since 1970, None where nothing waits.
    ``waiting_since``: of the job that has waited longest for a worker; ``committed_since``: of the longest
    charged release that cannot be downloaded yet; ``unsent_since``: of the longest due message. ``heard_at``:
    the last heartbeat of each host whose workers hold anything; an idle worker is not seen. ``gpus``: of
    hosts that told of them lately; ``gpus_held``: how many of them workers compute on, idle or not;
    ``for_gpus``: how many jobs wait for one.
    """

    unfinished: dict[str, int]
    running: dict[str, int]
    waiting_since: float | None
    committed_since: float | None
    unsent: int
    unsent_since: float | None
    heard_at: dict[str, float]
    gpus: tuple[tuple[str, GpuMemory], ...] = ()
    uploads: Mapping[str, int] = field(default_factory=dict)
    gpus_held: int = 0
    for_gpus: int = 0
    shards: Mapping[str, int] = field(default_factory=dict)


def read(session: Session, lease_seconds: float) -> WorkGauges:
    """O(unfinished work), by the indexes on states."""
    # States without a job show a 0: a series that ends would look like a lost exporter.
    unfinished = dict.fromkeys((state.value for state in UNFINISHED), 0)
    states = [state.value for state in UNFINISHED]
    unfinished |= {row.state: row.jobs for row in session.execute(_STATES, {"states": states})}
    one = session.execute(_ONE).one()
    heard = session.execute(_HEARD, {"lease_seconds": lease_seconds})
    return WorkGauges(
        unfinished=unfinished,
        running={row.method: row.jobs for row in session.execute(_RUNNING)},
        waiting_since=_time(one.waiting_since),
        committed_since=_time(one.committed_since),
        unsent=one.unsent,
        unsent_since=_time(one.unsent_since),
        heard_at={row.host: float(row.heard_at) for row in heard},
        gpus=tuple(workers.recent(session, lease_seconds)),
        gpus_held=one.gpus_held,
        for_gpus=one.for_gpus,
        uploads={"queued": 0, "validating": 0}
        | {row.state: row.uploads for row in session.execute(_UPLOADS)},
        shards={"waiting": 0, "drawing": 0} | {row.state: row.shards for row in session.execute(_SHARDS)},
    )


def _time(value: object) -> float | None:
    return None if value is None else float(str(value))
