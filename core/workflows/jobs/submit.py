"""A request becomes a plan, and the plan a job with its budget set aside: all of it, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from core import ids
from core.errors import BudgetRefused
from core.generators import registry
from core.generators.choice import Choice
from core.graphs.schema import GraphSchema
from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import idempotency, repository
from core.jobs.models import Job, JobState
from core.ledger import service as ledger
from core.ledger.statement import AccountStatement
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.privacy.plan import Cost, GuaranteeKind
from core.publishing.true_edges import true_edge_notices
from core.reports.notices import lasting_relations
from core.tracing import spans
from core.workflows.common.context import Services
from core.workflows.jobs import identical, turns
from core.workflows.jobs.prepare import JobRequest, Prepared, node_counts, prepare
from core.workflows.ledger.quotas import drawn_on
from core.workflows.webhooks import announcements

__all__ = ["DryRun", "JobRequest", "plan_job", "submit_job"]

EXPOSING = (
    "The job carries no guarantee: once it has opened the graph, and even if it fails then, no epsilon can "
    "be claimed for the dataset any more."
)
"""What a dry run says of a job without a guarantee."""


@dataclass(frozen=True)
class DryRun:
    """What a request would do: its plan and cost, the amounts by budget dimension, the account afterwards.

    ``choice`` is None where the request names its ``method`` itself. ``identical_to`` is the job whose
    release the request would be refused for, because it can be had at no charge. ``quotas_after``: those that
    it draws on, beside the account. ``needs_approval``: whether it would wait for a second person.
    ``least_epsilon``: of a job under the dataset's policy, and so of an attempt that fails; None: no least.
    """

    method: str
    choice: Choice | None
    parameters: dict[str, Any]
    unit: str
    window: int | None
    edge_types: tuple[str, ...]
    plan_digest: str
    allotments: int
    cost: Cost
    amounts: dict[str, int]
    statement_after: AccountStatement
    quotas_after: tuple[AccountStatement, ...]
    needs_approval: bool
    least_epsilon: str | None
    warnings: tuple[str, ...] = ()
    identical_to: str | None = None


def plan_job(services: Services, principal: Principal, request: JobRequest) -> DryRun:
    """What the request would cost and leave; nothing is changed. Raises what :func:`submit_job` would.

    Only an identical release is no refusal here, where the budget would cover the repeat: it is named.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        prepared = prepare(session, principal, request, services.settings)
        twin = identical.earlier(session, prepared, request)
        try:
            after = ledger.preview(
                session,
                prepared.account.id,
                amounts=prepared.amounts,
                unit=str(prepared.plan.unit),
                window=prepared.plan.window,
                team=principal.team,
                project=request.project,
            )
        except BudgetRefused as refusal:
            if twin is not None:
                raise identical.refusal(twin) from refusal
            raise
        quotas_after = _quotas_after(session, principal, request, prepared)
        schema = GraphSchema.model_validate(prepared.version.graph_schema or prepared.dataset.graph_schema)
    exposing = [EXPOSING] if prepared.cost.kind is GuaranteeKind.NONE else []
    notices = (
        *lasting_relations(schema, prepared.plan.unit, prepared.plan.window, prepared.edge_types),
        *true_edge_notices(
            registry.get(prepared.method),
            prepared.params,
            prepared.plan,
            schema,
            node_counts(prepared.version, schema),
        ),
    )
    return DryRun(
        method=prepared.method,
        choice=prepared.choice,
        parameters=prepared.params.model_dump(mode="json"),
        unit=str(prepared.plan.unit),
        window=prepared.plan.window,
        edge_types=prepared.edge_types,
        plan_digest=prepared.plan.digest(),
        allotments=len(prepared.plan.allotments),
        cost=prepared.cost,
        amounts=prepared.amounts,
        statement_after=after,
        quotas_after=quotas_after,
        needs_approval=prepared.needs_approval,
        least_epsilon=prepared.least_epsilon,
        warnings=(*(notice.text for notice in notices), *exposing),
        identical_to=None if twin is None else twin.id,
    )


def submit_job(
    services: Services, principal: Principal, request: JobRequest, idempotency_key: str | None
) -> tuple[Job, bool]:
    """The job is queued and its budget reserved, in one transaction; True when an earlier call did it.

    Above the threshold of the dataset's policy it waits for a second person instead, its budget reserved.
    Raises IdempotencyKeyMissing, IdempotencyKeyReused, TooManyJobs, IdenticalRelease, what
    :func:`core.workflows.jobs.prepare.prepare` raises, and what the ledger refuses.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    key = idempotency.checked_key(idempotency_key)
    digest = idempotency.payload_hash(request.model_dump(mode="json"))

    def make(session: Session) -> Job:
        turns.check_room(session, services.settings, principal)
        prepared = prepare(session, principal, request, services.settings)
        content = identical.content_hash(prepared, request.seed)
        job_id = ids.new_id(ids.JOB)
        settings, waits = services.settings, prepared.needs_approval
        reservation_id = ledger.reserve(
            session,
            prepared.account.id,
            amounts=prepared.amounts,
            unit=str(prepared.plan.unit),
            window=prepared.plan.window,
            job_id=job_id,
            actor=principal.key_id,
            expires_in_seconds=settings.approval_seconds if waits else settings.reservation_seconds,
            team=principal.team,
            project=request.project,
            # Under the account's lock: of two identical requests the second finds the job of the first.
            once_locked=partial(identical.refuse, session, prepared, request, content),
        )
        job = _new_job(principal, request, prepared, job_id, reservation_id)
        job.idempotency_key, job.payload_hash, job.content_hash = key, digest, content
        repository.add(session, job)
        if waits:
            announcements.job_came_to(session, job)
        else:
            outbox.ring(session, Topic.RUN, job.id)
        return job

    return idempotency.once(services.db, tenant=principal.tenant, key=key, digest=digest, make=make)


def _quotas_after(
    session: Session, principal: Principal, request: JobRequest, prepared: Prepared
) -> tuple[AccountStatement, ...]:
    drawn = drawn_on(session, prepared.account.id, team=principal.team, project=request.project)
    unit, window = str(prepared.plan.unit), prepared.plan.window
    return tuple(
        ledger.preview(session, quota.id, amounts=prepared.amounts, unit=unit, window=window)
        for quota in drawn
    )


def _new_job(
    principal: Principal, request: JobRequest, prepared: Prepared, job_id: str, reservation_id: str
) -> Job:
    plan = prepared.plan.to_json()
    release = {
        "job_id": job_id,
        "dataset_id": prepared.dataset.id,
        "dataset_version": prepared.version.id,
        "method": prepared.method,
        "chosen_because": None if prepared.choice is None else prepared.choice.reason,
        "params": prepared.params.model_dump(mode="json"),
        "unit": str(prepared.plan.unit),
        "window": prepared.plan.window,
        "nano_epsilon": prepared.nano_epsilon,
        "delta_atto": prepared.delta_atto,
        "edge_types": list(prepared.edge_types),
        "formats": list(prepared.formats),
        "seed": request.seed,
        "derived": list(prepared.version.derived),
        "named_links": prepared.named_links,
    }
    return Job(
        id=job_id,
        tenant=principal.tenant,
        dataset_id=prepared.dataset.id,
        version_id=prepared.version.id,
        account_id=prepared.account.id,
        reservation_id=reservation_id,
        method=prepared.method,
        spec={
            "release": release,
            "amounts": prepared.amounts,
            "kind": prepared.cost.kind,
            "label": request.label,
            "suite": str(request.suite),
        },
        plan=plan,
        plan_digest=prepared.plan.digest(),
        state=JobState.AWAITING_APPROVAL if prepared.needs_approval else JobState.QUEUED,
        requested_by=principal.key_id,
        person=principal.person,
        team=principal.team,
        project=request.project,
        policy_version=prepared.dataset.policy_version,
        traceparent=spans.carried(job_id),
    )
