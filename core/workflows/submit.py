"""A request becomes a plan, and the plan a job with its budget set aside: all of it, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core import ids
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
from core.privacy.plan import Cost
from core.reports.notices import lasting_relations
from core.workflows.context import Services
from core.workflows.prepare import JobRequest, Prepared, prepare

__all__ = ["DryRun", "JobRequest", "plan_job", "submit_job"]


@dataclass(frozen=True)
class DryRun:
    """What a request would do: its plan and cost, the amounts by budget dimension, the account afterwards.

    ``choice`` is None where the request names its ``method`` itself.
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
    warnings: tuple[str, ...] = ()


def plan_job(services: Services, principal: Principal, request: JobRequest) -> DryRun:
    """What the request would cost and leave; nothing is changed. Raises what :func:`submit_job` would."""
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        prepared = prepare(session, principal, request)
        after = ledger.preview(
            session,
            prepared.account.id,
            amounts=prepared.amounts,
            unit=str(prepared.plan.unit),
            window=prepared.plan.window,
        )
        schema = GraphSchema.model_validate(prepared.version.graph_schema or prepared.dataset.graph_schema)
    notices = lasting_relations(schema, prepared.plan.unit, prepared.plan.window, prepared.edge_types)
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
        warnings=tuple(notice.text for notice in notices),
    )


def submit_job(
    services: Services, principal: Principal, request: JobRequest, idempotency_key: str | None
) -> tuple[Job, bool]:
    """The job is queued and its budget reserved, in one transaction; True when an earlier call did it.

    Raises IdempotencyKeyMissing, IdempotencyKeyReused, what :func:`core.workflows.prepare.prepare` raises,
    and what the ledger refuses.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    key = idempotency.checked_key(idempotency_key)
    digest = idempotency.payload_hash(request.model_dump(mode="json"))
    with services.db.transaction() as session:
        # The key is looked up first: a repeat is answered whatever has become of the dataset since. The lock
        # makes a second caller with the same key wait for the first, and then find its job.
        repository.lock_key(session, tenant=principal.tenant, key=key)
        earlier = idempotency.earlier(session, tenant=principal.tenant, key=key, digest=digest)
        if earlier is not None:
            return earlier, True
        prepared = prepare(session, principal, request)
        job_id = ids.new_id(ids.JOB)
        reservation_id = ledger.reserve(
            session,
            prepared.account.id,
            amounts=prepared.amounts,
            unit=str(prepared.plan.unit),
            window=prepared.plan.window,
            job_id=job_id,
            actor=principal.key_id,
            expires_in_seconds=services.settings.reservation_seconds,
        )
        job = _new_job(principal, request, prepared, job_id, reservation_id)
        job.idempotency_key, job.payload_hash = key, digest
        session.add(job)
        session.flush()
        outbox.ring(session, Topic.RUN, job.id)
        return job, False


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
        state=JobState.QUEUED,
        requested_by=principal.key_id,
        person=principal.person,
        team=principal.team,
        policy_version=prepared.dataset.policy_version,
    )
