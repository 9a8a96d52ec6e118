"""A request becomes a plan, and the plan a job. Its budget is set aside: all of it, or nothing.

A request that repeats an earlier one is offered its release, and nothing is spent. Two are identical when
everything that a release is made from is the same: the dataset's version, the method and its parameters,
epsilon and delta, relations, unit, seed, and the kind of guarantee. How the result is written, labelled and
compared makes no difference: a further sample takes formats of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from sqlalchemy.orm import Session

from core.errors import BudgetRefused, GraphveilError, IdenticalRelease
from core.graphs.schema import GraphSchema
from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import idempotency, repository
from core.jobs.models import Job, JobState
from core.jobs.service import check_room
from core.ledger import service as ledger
from core.ledger.kinds import Scope
from core.methods import registry
from core.privacy.accounting.events import NANO
from core.privacy.accounting.guarantee import node_prices, rounded_up
from core.privacy.accounting.plan import ATTO, DECLARED, GuaranteeKind
from core.privacy.accounting.plan import Cost as PlanCost
from core.privacy.units import Unit
from core.publishing.checks import shares_of
from core.publishing.notices import planned_notices
from core.publishing.spec import JobSpec
from core.workflows.common.context import Services
from core.workflows.common.policies import needs_approval
from core.workflows.common.specs import new_job, reserve
from core.workflows.jobs import accelerators, declared
from core.workflows.jobs.prepare import prepare
from core.workflows.jobs.questions import told
from core.workflows.jobs.request import JobRequest
from core.workflows.webhooks import announcements
from graphveil.amounts import format_delta, format_epsilon
from graphveil.models.plans import Cost, NodePrice, Plan

__all__ = ["JobRequest", "plan_job", "submit_job"]

EXPOSING = (
    "The job carries no guarantee: once it has opened the graph, and even if it fails then, no epsilon can "
    "be claimed for the dataset any more."
)
"""What a dry run says of a job without a guarantee."""


def plan_job(services: Services, principal: Principal, request: JobRequest) -> Plan:
    """Plan what the request would cost and leave; nothing is changed. Raises what :func:`submit_job` would.

    Only an identical release is no refusal here, where the budget would cover the repeat: it is named.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        if request.method == DECLARED:
            return declared.plan(session, services.settings, principal, request)
        prepared = prepare(session, principal, request, services.settings)
        ground, spec, settled = prepared.ground, prepared.spec, prepared.settled
        dataset, schema, nodes = ground.dataset, ground.schema, ground.nodes
        release, cost = spec.release, settled.plan.cost()
        preview = partial(
            ledger.preview, session, amounts=spec.amounts, unit=str(release.unit), window=release.window
        )
        twin = _earlier(session, spec, request)
        try:
            after = preview(dataset.account_id, team=principal.team, project=request.project)
        except BudgetRefused as refusal:
            # As a submission: the job that stands already is a better answer than the budget that does not
            # suffice.
            if twin is not None:
                raise _identical_to(twin) from refusal
            raise
        named = (Scope.TEAM, principal.team), (Scope.PROJECT, request.project)
        drawn = ledger.quotas(session, dataset.account_id, *named)
        quotas_after = tuple(preview(quota.id) for quota in drawn)
        slower = accelerators.warning(session, services.settings, prepared.accelerator)
    exposing = [EXPOSING] if spec.kind is GuaranteeKind.NONE else []
    generator, params, plan = settled.generator, settled.params, settled.plan
    precision, expected = told(generator, params, plan, schema, nodes, request.assumed(), release.edge_types)
    notices = planned_notices(generator, params, plan, schema, nodes, spec)
    return Plan(
        method=release.method,
        chosen_because=release.chosen_because,
        parameters=release.params,
        unit=str(release.unit),
        window=release.window,
        edge_types=release.edge_types,
        protects=spec.protects,
        plan_digest=plan.digest(),
        allotments=len(plan.allotments),
        cost=cost_of(cost),
        amounts=spec.amounts,
        budget_after=after,
        quotas_after=quotas_after,
        needs_approval=needs_approval(dataset, spec.kind, release.nano_epsilon),
        least_epsilon=ground.policy.min_epsilon_per_job,
        node_prices=_node_prices(schema, release.unit, cost),
        shares=shares_of(params),
        precision=precision,
        expected=expected,
        solved=prepared.solved,
        accelerator=prepared.accelerator,
        warnings=(*(notice.text for notice in notices), *([] if slower is None else [slower]), *exposing),
        identical_to=None if twin is None else twin.id,
    )


def _node_prices(schema: GraphSchema, unit: Unit, cost: PlanCost) -> tuple[NodePrice, ...]:
    if cost.nano_epsilon is None:
        return ()
    epsilon, delta = Decimal(cost.nano_epsilon) / NANO, Decimal(cost.delta_atto) / ATTO
    return tuple(
        NodePrice(
            node_type=each.node_type,
            edges=each.edges,
            epsilon=f"{each.epsilon.normalize():f}",
            delta=rounded_up(each.delta) if each.delta else "0",
        )
        for each in node_prices(schema, unit, epsilon, delta)
    )


def submit_job(
    services: Services, principal: Principal, request: JobRequest, idempotency_key: str | None
) -> tuple[Job, bool]:
    """Queue the job and reserve its budget. It is one transaction; True when an earlier call did it.

    Above the threshold of the dataset's policy it waits for a second person instead, its budget reserved.
    Raises IdempotencyKeyMissing, IdempotencyKeyReused, TooManyJobs, IdenticalRelease, what
    :func:`core.workflows.jobs.prepare.prepare` raises, and what the ledger refuses.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    key = idempotency.checked_key(idempotency_key)
    digest = idempotency.payload_hash(request.content())

    def make(session: Session, standing: repository.Standing) -> Job:
        # First, as it is cheap: planning a large request takes time.
        check_room(services.settings, standing)
        if request.method == DECLARED:
            return declared.queue(session, services.settings, principal, request, key=key, digest=digest)
        prepared = prepare(session, principal, request, services.settings)
        spec, plan = prepared.spec, prepared.settled.plan
        settings, dataset = services.settings, prepared.ground.dataset
        waits = needs_approval(dataset, spec.kind, spec.release.nano_epsilon)
        job = new_job(principal, dataset, spec, plan.to_json(), plan.digest())
        job.idempotency_key, job.payload_hash = key, digest
        job.content_hash, job.project = content_hash(spec), request.project
        accelerators.route(session, settings, job, prepared.accelerator)
        if waits:
            # Reserved all the same: what is approved cannot fail for lack of budget any more.
            job.state = JobState.AWAITING_APPROVAL
        # Every job is added under its account's lock: of two identical requests the second finds the job of
        # the first, and is offered that whatever else would refuse it.
        try:
            job.reservation_id = reserve(
                session,
                job,
                spec,
                actor=principal.key_id,
                expires_in_seconds=settings.approval_seconds if waits else settings.reservation_seconds,
            )
        except GraphveilError:
            _refuse_repeat(session, spec, request)
            raise
        # Refused for a job of the same content: it is named, or has ended meanwhile and this one tries again.
        while not repository.add(session, job, rung=not waits, alone=_is_refused(request)):
            _refuse_repeat(session, spec, request)
        if waits:
            announcements.job_came_to(session, job)
        return job

    return idempotency.once(
        services.db, tenant=principal.tenant, key=key, key_id=principal.key_id, digest=digest, make=make
    )


def content_hash(spec: JobSpec) -> str:
    """Hash what the release would be made from. It is SHA-256 (hex) of its canonical form. No data is
    read."""
    release = spec.release
    return idempotency.payload_hash(
        {
            "version": release.dataset_version,
            "method": release.method,
            "params": registry.get(release.method).Params.in_full(release.params),
            "nano_epsilon": release.nano_epsilon,
            "delta_atto": release.delta_atto,
            "edge_types": sorted(release.edge_types),
            "unit": str(release.unit),
            "window": release.window,
            "seed": release.seed,
            "kind": str(spec.kind),
        }
    )


@dataclass(frozen=True)
class Twin:
    """A job that a request would repeat, and its state."""

    id: str
    state: str


def _is_refused(request: JobRequest) -> bool:
    """Tell whether a repeat is refused. Not of a request that says it wants one, nor of one that is one of
    several draws among which a comparison decides."""
    return not (request.repeat or request.comparison)


def _earlier(session: Session, spec: JobSpec, request: JobRequest) -> Twin | None:
    """Find the job that the request would repeat. It is published where there is one, else the newest under
    way.

    None for a request whose repeat is not refused.
    """
    if not _is_refused(request):
        return None
    found = repository.identical(session, spec.release.dataset_id, content_hash(spec))
    return None if found is None else Twin(*found)


def _refuse_repeat(session: Session, spec: JobSpec, request: JobRequest) -> None:
    """Check that nothing of that content stands. IdenticalRelease where something does.

    Under the lock of the dataset's account, which every job is added under, none comes after this look.
    """
    job = _earlier(session, spec, request)
    if job is not None:
        raise _identical_to(job)


def _identical_to(job: Twin) -> IdenticalRelease:
    """Say what a request is answered that would repeat the job."""
    return IdenticalRelease(
        f"Job {job.id} has the same content and is {job.state}. Its release costs nothing, and neither does "
        "another sample of its model; ask with repeat: true to spend again.",
        job_id=job.id,
        state=job.state,
    )


def cost_of(cost: PlanCost) -> Cost:
    """Show what a plan costs."""
    nano, unbounded = cost.nano_epsilon, cost.kind is GuaranteeKind.NONE
    return Cost(
        kind=cost.kind,
        epsilon=None if nano is None else format_epsilon(nano),
        delta=None if unbounded else format_delta(cost.delta_atto),
    )
