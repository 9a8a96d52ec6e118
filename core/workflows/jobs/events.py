"""What happens to a job, as it happens. Its stages and its states stand in one numbered order.

Nothing here says more than a poll does: a stage is a name with public step counts, a state is the job's, and
exact times are for curators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import repository
from core.jobs import service as jobs
from core.jobs.models import JobEvent
from core.jobs.states import TERMINAL
from core.workflows.common.context import Services
from graphveil.models.jobs import Event, StateChange

BATCH = 200


@dataclass(frozen=True)
class Change:
    """A stage with its step counts, or a state. ``state`` is None for a stage, ``stage`` None for a state
    that the job came to.

    ``sequence`` numbers the changes of one job from 1 on, in the order in which they were committed.
    """

    job_id: str
    sequence: int
    stage: str | None
    done: int
    total: int
    state: str | None
    created_at: datetime | None

    @property
    def last(self) -> bool:
        """Whether nothing follows: the job has ended."""
        return self.state in TERMINAL


@dataclass(frozen=True)
class Opening:
    """Where a watcher of one job begins. It has the changes so far, and the job's state if it has ended."""

    changes: Sequence[Change]
    ended: str | None


def open_changes(services: Services, principal: Principal, job_id: str, after: int) -> Opening:
    """Load the job's first changes behind the number ``after``. Raises Forbidden, NotFound."""
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        # The state first: if it is the last one, its change is among those that are read next.
        job = jobs.get(session, tenant=principal.tenant, job_id=job_id)
        found = repository.events_after(session, {job.id: after}, BATCH)
        changes = [shown(principal, _change(row)) for row in found]
        return Opening(changes, job.state if job.state in TERMINAL and len(changes) < BATCH else None)


def changes_behind(services: Services, places: Mapping[str, int]) -> list[Change]:
    """List what has happened to each job. It is since the given number, in order. For those that
    :func:`open_changes` has let in, in one statement, however many they are."""
    with services.db.transaction() as session:
        return [_change(row) for row in repository.events_after(session, places, BATCH)]


def shown(principal: Principal, change: Change) -> Change:
    """Show the change as this caller may see it."""
    return change if Role.CURATOR in principal.roles else replace(change, created_at=None)


def told(change: Change) -> Event | StateChange:
    """Show the change as an event stream tells it."""
    if change.state is not None:
        return StateChange(sequence=change.sequence, state=change.state, created_at=change.created_at)
    assert change.stage is not None  # a change is one or the other
    return Event(
        sequence=change.sequence,
        stage=change.stage,
        done=change.done,
        total=change.total,
        created_at=change.created_at,
    )


def _change(row: JobEvent) -> Change:
    return Change(row.job_id, row.sequence, row.stage, row.done, row.total, row.state, row.created_at)
