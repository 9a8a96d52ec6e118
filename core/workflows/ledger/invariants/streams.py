"""What a stream promises of each of its windows."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.orm import Session

from core.streams.models import SENT_ANEW
from core.workflows.ledger.invariants.base import Found, found

_LENGTHS = text('SELECT DISTINCT "window" FROM streams ORDER BY 1')
# RANGE counts steps by number: one without a snapshot still takes its place in the window.
_OVERFULL = text("""
    WITH sums AS (
        SELECT s.tenant, s.id, n.step, s.nano_epsilon, sum(n.nano_epsilon) OVER (
            PARTITION BY s.id ORDER BY n.step RANGE BETWEEN :reach PRECEDING AND CURRENT ROW
        ) AS committed
        FROM streams AS s JOIN snapshots AS n ON n.stream_id = s.id
        WHERE s."window" = :reach + 1 AND (n.outcome IS NULL OR n.outcome <> ALL(CAST(:anew AS text[])))
    )
    SELECT tenant, id, 'the window to step ' || step || ' takes ' || committed || ' of ' || nano_epsilon,
        count(*) OVER ()
    FROM sums WHERE committed > nano_epsilon ORDER BY id, step LIMIT :found_limit
""")


class StreamsKeepTheirWindows:
    """Streams keep their windows, privacy.md 3. It costs one statement for each length of window in use,
    O(snapshots) in all."""

    name = "streams_keep_their_windows"
    promise = "In every window of a stream its snapshots take at most the epsilon that it was opened for."

    def check(self, session: Session, limit: int) -> Found:
        """As :meth:`core.workflows.ledger.invariants.base.Promise.check`."""
        total = 0
        kept: list[Row[Any]] = []
        # One statement a length: PostgreSQL takes the reach of a frame from no row.
        for length in session.scalars(_LENGTHS).all():
            parameters = {"reach": length - 1, "anew": sorted(SENT_ANEW), "found_limit": limit}
            rows = session.execute(_OVERFULL, parameters).all()
            total += rows[0][3] if rows else 0
            kept += rows
        return found(kept[:limit], total)
