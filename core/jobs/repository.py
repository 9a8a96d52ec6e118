"""The only SQL on the tables of jobs. Loads and saves; decides nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from typing import cast as typed

from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    Integer,
    Select,
    String,
    Table,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    insert,
    literal_column,
    select,
    text,
    true,
    tuple_,
)
from sqlalchemy.orm import Session, aliased
from sqlalchemy.orm.attributes import set_committed_value

from core.db.base import ROW_LOCK
from core.db.session import notify_at_commit
from core.jobs import states
from core.jobs.models import (
    GPU_AND_QUEUED,
    OPEN_JOB,
    UNGUARDED,
    Artifact,
    ArtifactRole,
    Evaluation,
    EvaluationState,
    Job,
    JobEvent,
    JobState,
    MeteredRead,
)
from core.outbox import repository as outbox
from core.outbox.models import Topic

# Built once: they are on the way of every submission or poll, and building one costs as much as running it.
_JOBS = typed(Table, Job.__table__)
_GIVEN = ("created_at", "attempt")  # by the database
_ADDED = tuple(column.name for column in _JOBS.columns if column.name not in _GIVEN)
# The tenant as an expression: a plan made while the table was small could go by its index of tenants, and
# would read all of a tenant's jobs until the table is next analysed.
_OPEN = (
    select(
        func.count().label("of_tenant"),
        func.count().filter(_JOBS.c.requested_by == bindparam("key_id")).label("of_key"),
    )
    .where(text(OPEN_JOB), _JOBS.c.tenant == bindparam("tenant"))
    .subquery("open_jobs")
)
_STANDING = select(_OPEN.c.of_tenant, _OPEN.c.of_key)
_MINE = and_(
    _JOBS.c.idempotency_key == bindparam("key"), _JOBS.c.tenant + "" == bindparam("tenant", type_=String())
)
_BY_KEY = select(_JOBS.c.id, _OPEN.c.of_tenant, _OPEN.c.of_key).outerjoin_from(_OPEN, _JOBS, _MINE)
# Written out: a list that is bound is expanded anew at each execution.
_LIVE: list[ColumnElement[str]] = [literal_column(f"'{state}'") for state in sorted(states.LIVE)]
_IDENTICAL = (
    select(_JOBS.c.id, _JOBS.c.state)
    .where(
        _JOBS.c.dataset_id == bindparam("dataset_id"),
        _JOBS.c.content_hash == bindparam("content_hash"),
        _JOBS.c.state.in_(_LIVE),
    )
    .order_by((_JOBS.c.state == JobState.PUBLISHED).desc(), _JOBS.c.created_at.desc())
    .limit(1)
)
_SEEN = (
    select(Job, Evaluation)
    .outerjoin(Evaluation, Evaluation.id == Job.id)
    .where(Job.id == bindparam("job_id"))
)


@dataclass(frozen=True)
class Standing:
    """How many jobs have not ended. Counted are the tenant's, and those that the key requested."""

    of_tenant: int
    of_key: int


def identical(session: Session, dataset_id: str, content_hash: str) -> tuple[str, str] | None:
    """Find the dataset's job of that content. Returned are its id and state: a published one if any, else the
    newest under way. Nothing else of it is read: nearly every submission finds none, and columns cost
    time."""
    sought = {"dataset_id": dataset_id, "content_hash": content_hash}
    found = session.execute(_IDENTICAL, sought).one_or_none()
    return None if found is None else (found.id, found.state)


@lru_cache
def _adding(alone: bool, rung: bool) -> Select[Any]:
    given = select(
        # In a SELECT a parameter has no type of its own: each takes its column's.
        *(cast(bindparam(name, type_=_JOBS.c[name].type), _whole(_JOBS.c[name])) for name in _ADDED)
    )
    if alone:
        other = _JOBS.alias("other")
        same = (other.c[name] == bindparam(name) for name in ("dataset_id", "content_hash"))
        given = given.where(~exists().where(*same, other.c.state.in_(_LIVE)))
    row = insert(_JOBS).from_select(_ADDED, given).returning(_JOBS.c.id, *(_JOBS.c[name] for name in _GIVEN))
    added = row.cte("added")
    statement = select(*(added.c[name] for name in _GIVEN))
    return statement.add_cte(outbox.rung_by(Topic.RUN, added)) if rung else statement


def _whole(column: Column[Any]) -> Any:
    """The column's type without a bound: a cast to a bounded one would cut what the row refuses."""
    return String() if isinstance(column.type, String) else column.type


def add(session: Session, job: Job, *, rung: bool, alone: bool = False) -> bool:
    """Add the new job, and ring for it where it is ``rung``. One round trip.

    False where it is to stand ``alone`` and another of its content does (:func:`identical`). The job knows
    what the database gave it. It is no part of the session: the unit of work would cost as much as the
    statement, on the way of every submission.
    """
    held = vars(job)  # attributes of the mapping would each be asked for by two calls
    values = {name: held.get(name) for name in _ADDED}
    given = session.execute(_adding(alone, rung), values).one_or_none()
    if given is None:
        return False
    for name in _GIVEN:
        set_committed_value(job, name, getattr(given, name))
    if rung:
        notify_at_commit(session, outbox.CHANNEL)
    return True


def by_key(session: Session, *, tenant: str, key: str, key_id: str) -> tuple[Job | None, Standing]:
    """Load the job of that idempotency key, if any; with it comes how the caller stands.

    One round trip where there is none, which is nearly always: a job's columns cost time, empty ones too.
    """
    values = {"tenant": tenant, "key": key, "key_id": key_id}
    job_id, of_tenant, of_key = session.execute(_BY_KEY, values).one()
    return None if job_id is None else existing(session, job_id), Standing(of_tenant, of_key)


def standing(session: Session, *, tenant: str, key_id: str) -> Standing:
    """Count the jobs that have not ended."""
    return Standing(*session.execute(_STANDING, {"tenant": tenant, "key_id": key_id}).one())


def seen(
    session: Session, job_id: str, beside: ColumnElement[bool]
) -> tuple[Job, Evaluation | None, bool] | None:
    """Load the job and its evaluation, if there is any. With them comes ``beside``, a column of the caller's
    about the job. One round trip."""
    row = session.execute(_seen(beside), {"job_id": job_id}).one_or_none()
    return None if row is None else (row[0], row[1], bool(row[2]))


@lru_cache  # by the column itself, of which there are few
def _seen(beside: ColumnElement[bool]) -> Select[Any]:
    return _SEEN.add_columns(beside)


def by_id(session: Session, job_id: str) -> Job | None:
    return session.get(Job, job_id)


def existing(session: Session, job_id: str) -> Job:
    """Load the job, which exists."""
    return session.get_one(Job, job_id)


def by_ids(session: Session, job_ids: Collection[str]) -> dict[str, Job]:
    """Load the jobs of these ids, by id."""
    return {job.id: job for job in session.scalars(select(Job).where(Job.id.in_(job_ids)))}


def locked(session: Session, job_id: str) -> Job | None:
    """Lock the row until the transaction ends. It is loaded as it is now."""
    return session.get(Job, job_id, with_for_update=ROW_LOCK, populate_existing=True)


def page(
    session: Session,
    *,
    tenant: str,
    state: str | None,
    dataset_id: str | None,
    beyond: tuple[datetime, str] | None,
    limit: int,
    falls: bool = True,
) -> Sequence[Job]:
    """List jobs of a tenant, newest or oldest first. They stand beyond the pair (created_at, id)."""
    age = tuple_(Job.created_at, Job.id)
    keys = (Job.created_at.desc(), Job.id.desc()) if falls else (Job.created_at, Job.id)
    query = select(Job).where(Job.tenant == tenant).order_by(*keys).limit(limit)
    if state is not None:
        query = query.where(Job.state == state)
        if (
            state not in states.TERMINAL
        ):  # an index has those: else a tenant's jobs are gone through for a few
            query = query.where(text(OPEN_JOB))
    if dataset_id is not None:
        query = query.where(Job.dataset_id == dataset_id)
    if beyond is not None:
        query = query.where(age < tuple_(*beyond) if falls else age > tuple_(*beyond))
    return session.scalars(query).all()


def under_way(session: Session, tenant: str, order: Sequence[JobState], limit: int) -> Sequence[Job]:
    """List open jobs of a tenant in these states, by their order, the newest first."""
    place = case({state: place for place, state in enumerate(order)}, value=Job.state)
    query = select(Job).where(text(OPEN_JOB), Job.tenant == tenant, Job.state.in_(order))
    return session.scalars(query.order_by(place, Job.created_at.desc(), Job.id.desc()).limit(limit)).all()


def locked_of_dataset(session: Session, dataset_id: str, states: Collection[JobState]) -> Sequence[Job]:
    """Lock and load the dataset's jobs in the states. The lock lasts until the transaction ends."""
    query = (
        select(Job)
        .where(Job.dataset_id == dataset_id, Job.state.in_(states))
        .order_by(Job.id)
        .with_for_update(**ROW_LOCK)
        .execution_options(populate_existing=True)
    )
    return session.scalars(query).all()


def overdue_cancels(session: Session, after_seconds: float, limit: int) -> Sequence[str]:
    """List jobs that are overdue to stop. They were requested to longer ago than the given time and still
    have not."""
    query = (
        select(Job.id)
        .where(
            Job.state == JobState.CANCELLING,
            Job.cancel_requested_at < func.now() - timedelta(seconds=after_seconds),
        )
        .limit(limit)
    )
    return session.scalars(query).all()


def unguarded_ids(session: Session, limit: int, *, but: ColumnElement[bool]) -> Sequence[str]:
    """List jobs with unguarded graphs. They opened their graph without a guarantee; those of which ``but`` is
    true are left out."""
    query = select(Job.id).where(text(UNGUARDED), ~but).order_by(Job.id)
    return session.scalars(query.limit(limit)).all()


def waiting_for_gpu(session: Session, waited_seconds: float, limit: int) -> Sequence[str]:
    """List jobs that wait for a GPU, the longest first. Only a worker with one may claim them; they were
    queued so long ago.
    """
    queued = select(func.max(JobEvent.created_at)).where(
        JobEvent.job_id == Job.id, JobEvent.state == JobState.QUEUED
    )
    # A job that is tried again waits since it was queued again.
    since = func.coalesce(queued.scalar_subquery(), Job.created_at)
    query = select(Job.id).where(
        text(GPU_AND_QUEUED), since <= func.clock_timestamp() - timedelta(seconds=waited_seconds)
    )
    return session.scalars(query.order_by(Job.created_at, Job.id).limit(limit)).all()


def queued_but(session: Session, methods: Collection[str], limit: int) -> Sequence[str]:
    """List waiting jobs by other methods, oldest first. They wait for a worker, by none of these methods."""
    query = select(Job.id).where(Job.state == JobState.QUEUED, Job.method.not_in(methods))
    return session.scalars(query.order_by(Job.created_at, Job.id).limit(limit)).all()


def lease_live(session: Session, job: Job) -> bool:
    """Tell whether the lease still runs, by PostgreSQL's clock."""
    return (
        # By clock_timestamp(): the lease may run out while this transaction lasts.
        job.lease_expires_at is not None
        and job.lease_expires_at >= session.execute(select(func.clock_timestamp())).scalar_one()
    )


def add_read(session: Session, job_id: str, *, attempt: int, sequence: int, entry: dict[str, Any]) -> None:
    session.add(MeteredRead(job_id=job_id, attempt=attempt, sequence=sequence, entry=entry))


def next_read(session: Session, job_id: str, *, attempt: int) -> int:
    """Compute the transcript's next sequence number. It is that of the attempt's next entry."""
    last = select(func.max(MeteredRead.sequence)).where(
        MeteredRead.job_id == job_id, MeteredRead.attempt == attempt
    )
    found = session.execute(last).scalar_one()
    return 0 if found is None else found + 1


def reads(session: Session, job_id: str, *, attempt: int) -> list[dict[str, Any]]:
    """Load the transcript of one attempt, in order."""
    query = (
        select(MeteredRead.entry)
        .where(MeteredRead.job_id == job_id, MeteredRead.attempt == attempt)
        .order_by(MeteredRead.sequence)
    )
    return list(session.scalars(query))


def published_reads(session: Session, job_id: str) -> list[dict[str, Any]]:
    """Load the transcript of a published job. It is that of the attempt that published it, or fitted its
    model."""
    job = existing(session, job_id)
    # Shards are joined by a later attempt than the one that read the graph.
    return reads(session, job_id, attempt=job.fitted_attempt or job.attempt)


def count_events(session: Session, job_id: str) -> tuple[int, int]:
    """Count the job's events and stages. The number of events is the newest one's number."""
    counts = select(func.coalesce(func.max(JobEvent.sequence), 0), func.count(JobEvent.stage))
    events, stages = session.execute(counts.where(JobEvent.job_id == job_id)).one()
    return events, stages


def add_event(session: Session, job_id: str, *, sequence: int, stage: str, done: int, total: int) -> None:
    session.add(JobEvent(job_id=job_id, sequence=sequence, stage=stage, done=done, total=total))


def steps_after(session: Session, job_id: str, after: int, limit: int) -> Sequence[JobEvent]:
    """Load the job's stages that follow ``after``. They are in order, without its states."""
    query = (
        select(JobEvent)
        .where(JobEvent.job_id == job_id, JobEvent.sequence > after, JobEvent.stage.is_not(None))
        .order_by(JobEvent.sequence)
        .limit(limit)
    )
    return session.scalars(query).all()


def events_after(session: Session, places: Mapping[str, int], limit: int) -> Sequence[JobEvent]:
    """List stages and states of several jobs. They follow each job's place, in order: ``limit`` of each."""
    # Two arrays side by side: one text of the statement for however many jobs.
    watched = select(
        func.unnest(cast(list(places), ARRAY(String))).label("job_id"),
        func.unnest(cast(list(places.values()), ARRAY(Integer))).label("place"),
    ).subquery()
    following = (
        select(JobEvent)
        .where(JobEvent.job_id == watched.c.job_id, JobEvent.sequence > watched.c.place)
        .order_by(JobEvent.sequence)
        .limit(limit)
        .lateral()
    )
    event = aliased(JobEvent, following)
    return session.scalars(select(event).select_from(watched).join(event, true())).all()


def evaluations(session: Session, job_ids: Collection[str]) -> dict[str, Evaluation]:
    """Load the evaluation of each job that has one."""
    return {row.id: row for row in session.scalars(select(Evaluation).where(Evaluation.id.in_(job_ids)))}


def artifacts(session: Session, job_id: str) -> Sequence[Artifact]:
    return session.scalars(select(Artifact).where(Artifact.job_id == job_id).order_by(Artifact.name)).all()


def artifact_names(
    session: Session, job_ids: Collection[str], roles: Collection[ArtifactRole]
) -> dict[str, list[str]]:
    """List the names of each job's files of these roles, sorted."""
    query = (
        select(Artifact.job_id, Artifact.name)
        .where(Artifact.job_id.in_(job_ids), Artifact.role.in_(roles))
        .order_by(Artifact.job_id, Artifact.name)
    )
    names: dict[str, list[str]] = {}
    for job_id, name in session.execute(query):
        names.setdefault(job_id, []).append(name)
    return names


def artifact(session: Session, job_id: str, name: str) -> Artifact | None:
    return session.get(Artifact, (job_id, name))


def evaluation(session: Session, job_id: str) -> Evaluation | None:
    return session.get(Evaluation, job_id)


def existing_evaluation(session: Session, job_id: str) -> Evaluation:
    """Load the job's evaluation, which exists."""
    return session.get_one(Evaluation, job_id)


def evaluations_in(state: EvaluationState) -> Select[str, str, datetime]:
    """Selects id, tenant and created_at of the evaluations in that state."""
    query = select(Evaluation.id, Job.tenant, Evaluation.created_at).join(Job, Job.id == Evaluation.id)
    return query.where(Evaluation.state == state)


def unswept_evaluations(session: Session, limit: int) -> Sequence[str]:
    """List evaluations to sweep, oldest first. They are over, and their lost attempts' files are to be looked
    for by now."""
    over = (EvaluationState.DONE, EvaluationState.FAILED)
    query = (
        select(Evaluation.id)
        .where(Evaluation.state.in_(over), Evaluation.lease_expires_at < func.now())
        .order_by(Evaluation.lease_expires_at)
        .limit(limit)
    )
    return session.scalars(query).all()


def traceparents(session: Session, job_ids: Collection[str]) -> dict[str, str]:
    """Load the traceparents of jobs, by job id. Submissions left them with their jobs."""
    query = select(Job.id, Job.traceparent).where(Job.id.in_(job_ids), Job.traceparent.is_not(None))
    return {job_id: str(traceparent) for job_id, traceparent in session.execute(query)}


def gpu_only(session: Session, job_ids: Collection[str]) -> set[str]:
    """Find the jobs that need a GPU. Only a worker with one may claim them. No query where there are none."""
    if not job_ids:
        return set()
    return set(session.scalars(select(Job.id).where(Job.id.in_(job_ids), Job.gpu_only)))
