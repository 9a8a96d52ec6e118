"""What callers may see of a stream's snapshots. All of its releases come in one file."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from core.errors import InvalidInput, NotFound
from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import repository as jobs
from core.jobs.models import ArtifactRole, Evaluation, Job, JobState
from core.jobs.states import GIVEN_BACK
from core.streams import repository, service
from core.streams.models import Outcome, Stream
from core.streams.models import Snapshot as Row
from core.workflows.common import paging, unpaid
from core.workflows.common.context import Services
from core.workflows.streams.combined import combined
from graphveil.amounts import format_epsilon
from graphveil.models.streams import Snapshot, Snapshots

__all__ = ["combined", "get_snapshot", "list_snapshots", "views"]

READERS = (Role.REQUESTER, Role.CURATOR, Role.AUDITOR)


def get_snapshot(services: Services, principal: Principal, stream_id: str, step: int) -> Snapshot:
    """Load what was received for the step; NotFound where nothing was."""
    require(principal, *READERS)
    with services.db.transaction() as session:
        stream = service.get(session, tenant=principal.tenant, stream_id=stream_id)
        row = repository.snapshot(session, stream_id, step) if 0 <= step <= service.MAX_STEP else None
        if row is None:
            raise NotFound("Nothing was received for this step.", id=f"{stream_id}/{step}")
        return views(session, principal, stream, [row])[0]


def list_snapshots(
    services: Services,
    principal: Principal,
    stream_id: str,
    after: int | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Snapshots:
    """List one page of the stream's snapshots. They are in order, of the steps after ``after`` (None: from
    the first)."""
    require(principal, *READERS)
    page = step_page(services, principal, "snapshots", stream_id, after, cursor, limit)
    with services.db.transaction() as session:
        stream = service.get(session, tenant=principal.tenant, stream_id=stream_id)
        rows = repository.snapshots(session, stream_id, after=steps_after(page, after), limit=page.size + 1)
        shown, more = page.cut(rows, by_step)
        return Snapshots(items=views(session, principal, stream, shown), next_cursor=more)


def step_page(
    services: Services,
    principal: Principal,
    name: str,
    stream_id: str,
    after: int | None,
    cursor: str | None,
    limit: int | None,
) -> paging.Paging:
    """Make a page of a list of the stream's steps. InvalidInput for a bad cursor, limit or step."""
    if after is not None and not 0 <= after <= service.MAX_STEP:
        raise InvalidInput(f"A stream's steps are numbered from 0 to {service.MAX_STEP}.", field="after")
    return paging.paged(services, principal, name, cursor, limit, stream_id=stream_id, after=after)


def steps_after(page: paging.Paging, after: int | None) -> int | None:
    """Find the step behind which the page begins."""
    return after if page.place is None else int(page.place[0])


def by_step(row: Row) -> paging.Place:
    """Return the place of a snapshot among those of its stream."""
    return (row.step,)


def views(session: Session, principal: Principal, stream: Stream, rows: Sequence[Row]) -> list[Snapshot]:
    """Show the snapshots as this caller may see them. Three queries, however many snapshots.

    ``state`` is the job's, or ``refused``, which is for curators. ``report`` is a path under that of the API.
    """
    ids = [row.job_id for row in rows]
    found, evaluations = jobs.by_ids(session, ids), jobs.evaluations(session, ids)
    names = jobs.artifact_names(session, ids, (ArtifactRole.ARTIFACT, ArtifactRole.REPORT))
    return [
        _view(principal, stream, row, found[row.job_id], names.get(row.job_id, []), evaluations)
        for row in rows
    ]


def spent(job: Job) -> int:
    """Compute what the job has spent, in nano-epsilon. It is charged or reserved for its step; 0 once it has
    returned.

    The same as the account has it, for how a job ended decides it (:mod:`core.jobs.states`).
    """
    amount = job.reserved
    if job.state not in (JobState.FAILED, JobState.CANCELLED):
        return amount
    return amount if job.first_read_at is not None and job.reason not in GIVEN_BACK else 0


def _view(
    principal: Principal,
    stream: Stream,
    row: Row,
    job: Job,
    names: list[str],
    evaluations: dict[str, Evaluation],
) -> Snapshot:
    exact = Role.CURATOR in principal.roles
    evaluation = evaluations.get(job.id)
    published = job.state == JobState.PUBLISHED
    starts_at = stream.grid_start + row.step * stream.grid_width
    return Snapshot(
        stream_id=stream.id,
        step=row.step,
        starts_at=starts_at,
        ends_at=starts_at + stream.grid_width,
        job_id=job.id,
        state=str(Outcome.REFUSED) if row.outcome == Outcome.REFUSED and exact else job.state,
        reason=unpaid.job_reason(principal, job),
        number=row.number,
        epsilon=format_epsilon(spent(job)),
        artifacts=tuple(names) if published else (),
        report=f"/jobs/{job.id}/report" if published else None,
        evaluation=evaluation.state if evaluation is not None and exact else None,
        created_at=row.created_at,
        # How long a job ran can depend on the data: exact times are for curators.
        finished_at=job.finished_at if exact else None,
        format=row.format if exact else None,
        size_bytes=row.size_bytes if exact else None,
        findings=row.findings if exact else None,
    )
