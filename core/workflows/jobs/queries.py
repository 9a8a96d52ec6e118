"""What callers may see of jobs. Requesters see enumerated reasons and bucketed times, curators exact ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache

from sqlalchemy.orm import Session

from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import repository
from core.jobs import service as jobs
from core.jobs import shard_repository as shards
from core.jobs.models import Evaluation, Job, JobEvent, JobState
from core.ledger import repository as budgets
from core.methods import registry
from core.methods.base import GraphKinds
from core.privacy.accounting.plan import DECLARED, GuaranteeKind
from core.privacy.units import Unit
from core.publishing import declarations
from core.workflows.common import paging, unpaid
from core.workflows.common.context import Services
from core.workflows.common.specs import spec_of
from core.workflows.releases import elsewhere
from graphveil.amounts import format_delta, format_epsilon
from graphveil.models import jobs as views
from graphveil.models.plans import Method

UNDER_WAY = (JobState.RUNNING, JobState.PUBLISHING, JobState.QUEUED)

RUN_TIMES = (
    (60, "under 1 minute"),
    (600, "under 10 minutes"),
    (3_600, "under 1 hour"),
    (6 * 3_600, "under 6 hours"),
)
"""How long a job ran, coarsely: the exact time can depend on the data."""


_EXPOSED = budgets.exposed_account(Job.account_id)


def get_job(services: Services, principal: Principal, job_id: str) -> views.Job:
    """Return the tenant's job; NotFound otherwise."""
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        job, evaluation, exposed = jobs.seen(session, tenant=principal.tenant, job_id=job_id, beside=_EXPOSED)
        until = _expiries(session, [job]).get(job.reservation_id)
        drawn = {} if job.shards is None else shards.drawn(session, [job.id])
        return _view(principal, job, evaluation, until, exposed=exposed, drawn=drawn.get(job.id, 0))


def new_job(services: Services, principal: Principal, job: Job) -> views.Job:
    """Show the new job as its maker may see it. Nothing but its making is known yet.

    An exposed account takes no job but one without a guarantee, or of nothing read: only of those it is
    looked up. So is until when an approval is awaited.
    """
    view = _view(principal, job, None, exposed=False)
    more = view.kind in (GuaranteeKind.NONE, GuaranteeKind.UNREAD) or job.state == JobState.AWAITING_APPROVAL
    return get_job(services, principal, job.id) if more else view


def list_jobs(
    services: Services,
    principal: Principal,
    state: str | None = None,
    dataset_id: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
    sort: str | None = None,
) -> views.Jobs:
    """One page of the tenant's jobs, newest first unless ``sort`` says otherwise. InvalidInput: unknown state
    or order, bad cursor or limit."""
    require(principal, Role.REQUESTER, Role.CURATOR)
    paging.require_state(state, JobState)
    order = paging.sort_of(sort, paging.Sort.NEWEST, paging.Sort.OLDEST)
    filters = {"state": state, "dataset_id": dataset_id, "sort": order.named}
    page = paging.paged(services, principal, "jobs", cursor, limit, **filters)
    with services.db.transaction() as session:
        rows = repository.page(
            session,
            tenant=principal.tenant,
            state=state,
            dataset_id=dataset_id,
            beyond=page.before,
            limit=page.size + 1,
            falls=order.falls,
        )
        shown, more = page.cut(rows, paging.by_age)
        return views.Jobs(items=_views(session, principal, shown), next_cursor=more)


def under_way(services: Services, principal: Principal, limit: int) -> list[views.Job]:
    """List the tenant's jobs that workers hold, then those that wait for one, the newest first."""
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        rows = repository.under_way(session, principal.tenant, UNDER_WAY, limit)
        return _views(session, principal, rows)


def events(
    services: Services, principal: Principal, job_id: str, after: int = 0, limit: int = paging.MAX_PAGE
) -> list[views.Event]:
    """List up to ``limit`` steps of the job. They follow the sequence number ``after``, in order."""
    require(principal, Role.REQUESTER, Role.CURATOR)
    size = paging.paged(services, principal, "events", None, limit).size
    with services.db.transaction() as session:
        job = jobs.get(session, tenant=principal.tenant, job_id=job_id)
        return [_event(principal, row) for row in repository.steps_after(session, job.id, after, size)]


def methods() -> list[Method]:
    """Every method on offer, by name."""
    return [*_methods()]


@cache
def _methods() -> tuple[Method, ...]:
    """What the registry holds, which never changes while a process lives: schemas of parameters cost most."""
    return (
        *(
            Method(
                name=generator.name,
                title=generator.title,
                summary=generator.summary,
                assurance=generator.assurance,
                units=tuple(sorted(str(unit) for unit in generator.units)),
                kinds=tuple(sorted(str(kind) for kind in generator.kinds)),
                accepts={name: bool(value) for name, value in vars(generator.accepts).items()},
                parameters=generator.Params.model_json_schema(),
                accelerator=generator.accelerator is not None,
                reads=generator.Params.READS,
            )
            for generator in registry.generators().values()
        ),
        _DECLARED,
    )


_DECLARED = Method(
    name=DECLARED,
    title=declarations.TITLE,
    summary=declarations.SUMMARY,
    assurance="proven",
    units=tuple(sorted(map(str, Unit))),
    kinds=(GuaranteeKind.UNREAD,),
    accepts=dict.fromkeys(vars(GraphKinds()), True),
    parameters=declarations.DeclaredParams.model_json_schema(),
)


def _views(session: Session, principal: Principal, rows: Sequence[Job]) -> list[views.Job]:
    """Show the jobs as this caller may see them. Four queries at most, however many jobs."""
    ids = [job.id for job in rows]
    accounts = budgets.by_ids(session, {job.account_id for job in rows})
    evaluations = repository.evaluations(session, ids)
    until = _expiries(session, rows)
    drawn = shards.drawn(session, [job.id for job in rows if job.shards is not None])
    return [
        _view(
            principal,
            job,
            evaluations.get(job.id),
            until.get(job.reservation_id),
            exposed=accounts[job.account_id].exposed_at is not None,
            drawn=drawn.get(job.id, 0),
        )
        for job in rows
    ]


def _expiries(session: Session, rows: Sequence[Job]) -> dict[str, datetime]:
    """When those of the jobs that wait for a second person fail, by reservation. A query only for them."""
    waiting = [job.reservation_id for job in rows if job.state == JobState.AWAITING_APPROVAL]
    return budgets.hold_expiries(session, waiting)


def _view(
    principal: Principal,
    job: Job,
    evaluation: Evaluation | None,
    approval_until: datetime | None = None,
    *,
    exposed: bool,
    drawn: int = 0,
) -> views.Job:
    exact = Role.CURATOR in principal.roles
    spec = spec_of(job)
    release = spec.release
    return views.Job(
        id=job.id,
        dataset_id=job.dataset_id,
        version_id=job.version_id,
        method=job.method,
        chosen_because=release.chosen_because,
        parameters=release.params,
        edge_types=release.edge_types,
        formats=release.formats,
        label=spec.label,
        stream_id=release.stream_id,
        step=release.step,
        sample_of=release.source_id,
        size=None if release.size is None else views.Size(nodes=release.size.nodes, of=release.size.of),
        write_to=elsewhere.folder_of(release),
        tables=tuple(
            views.Table(name=name, snapshot=str(number))
            for name, number in sorted((job.tables or {}).items())
        ),
        epsilon=format_epsilon(spec.nano_epsilon),
        delta=format_delta(release.delta_atto),
        unit=release.unit,
        window=release.window,
        protects=spec.protects,
        kind=spec.kind,
        exposed=exposed,
        plan_digest=job.plan_digest,
        state=job.state,
        shards=_shards(job, drawn),
        reason=unpaid.job_reason(principal, job),
        budget=jobs.budget_outcome(job),
        accelerator=job.accelerator,
        waits_for_gpu=job.gpu_only and job.state == JobState.QUEUED,
        suite=spec.suite,
        evaluation=_evaluation(evaluation) if evaluation is not None and exact else None,
        requested_by=job.requested_by,
        person=job.person,
        team=job.team,
        project=job.project,
        policy_version=job.policy_version,
        approval=_approval(job),
        approval_until=approval_until,
        created_at=job.created_at,
        cancel_requested_at=job.cancel_requested_at,
        run_time=None if unpaid.hidden(principal, job) else _run_time(job),
        started_at=job.started_at if exact else None,
        finished_at=job.finished_at if exact else None,
        attempt=job.attempt if exact else None,
    )


def _shards(job: Job, drawn: int) -> views.Shards | None:
    if job.shards is None or job.state in (JobState.FAILED, JobState.CANCELLED):
        return None
    joined = job.state in (JobState.PUBLISHING, JobState.PUBLISHED)
    return views.Shards(drawn=job.shards if joined else drawn, total=job.shards)


def _approval(job: Job) -> views.Approval | None:
    if job.decided_at is None:
        return None
    return views.Approval(
        decided_by=job.decided_person or "", decided_at=job.decided_at, reason=job.decision_reason or ""
    )


def _evaluation(row: Evaluation) -> views.Evaluation:
    return views.Evaluation(state=row.state, stage=row.stage, done=row.done, total=row.total)


def _event(principal: Principal, row: JobEvent) -> views.Event:
    assert row.stage is not None  # the queries leave states out
    exact = Role.CURATOR in principal.roles
    return views.Event(
        sequence=row.sequence,
        stage=row.stage,
        done=row.done,
        total=row.total,
        created_at=row.created_at if exact else None,
    )


def _run_time(job: Job) -> str | None:
    if job.started_at is None or job.finished_at is None:
        return None
    seconds = (job.finished_at - job.started_at).total_seconds()
    return next((name for bound, name in RUN_TIMES if seconds < bound), "6 hours or more")
