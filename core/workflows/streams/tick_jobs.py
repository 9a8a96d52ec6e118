"""The job that publishes one snapshot of a live stream, with its budget set aside."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core import ids
from core.datasets import repository as datasets
from core.datasets.models import DatasetVersion
from core.errors import BudgetExceeded
from core.graphs.schema import GraphSchema
from core.identity.service import Principal
from core.jobs import idempotency
from core.jobs.models import Job, JobState
from core.ledger import service as ledger
from core.ledger.amounts import format_epsilon
from core.ledger.models import BudgetAccount
from core.privacy.units import Unit
from core.streams import repository
from core.streams.models import Stream
from core.tracing import spans
from core.workflows.streams.terms import TickPlan, check_terms, tick_plan


def add_tick(
    session: Session,
    principal: Principal,
    stream: Stream,
    schema: GraphSchema,
    version: DatasetVersion,
    account: BudgetAccount,
    step: int,
    number: int,
) -> Job:
    """The step's job is queued, its budget reserved until it ends. Raises what the dataset's present policy
    and the ledger refuse.

    ``number``: how often the step was sent anew. The caller holds the stream.
    """
    planned = tick_plan(stream, schema, account, step)
    dataset = datasets.existing(session, stream.dataset_id)
    team, project = stream.team, stream.project
    check_terms(
        session, dataset, stream.method, planned.plan, stream.nano_epsilon, team=team, project=project
    )
    job_id = ids.new_id(ids.JOB)
    reservation_id = ledger.reserve(
        session,
        stream.account_id,
        amounts=planned.amounts,
        unit=str(Unit.W_EVENT),
        window=stream.window,
        job_id=job_id,
        actor=principal.key_id,
        expires_in_seconds=None,
        team=stream.team,
        project=stream.project,
    )
    job = Job(
        id=job_id,
        tenant=stream.tenant,
        dataset_id=stream.dataset_id,
        version_id=stream.version_id,
        account_id=stream.account_id,
        reservation_id=reservation_id,
        method=stream.method,
        spec=_spec(stream, version, planned, job_id, step),
        plan=planned.plan.to_json(),
        plan_digest=planned.plan.digest(),
        state=JobState.QUEUED,
        requested_by=principal.key_id,
        person=principal.person,
        team=stream.team,
        project=stream.project,
        policy_version=dataset.policy_version,
        traceparent=spans.carried(job_id),
        # No caller's key holds a space: the two cannot meet.
        idempotency_key=f"tick {stream.id} {step} {number}",
        payload_hash=idempotency.payload_hash({"stream_id": stream.id, "step": step, "number": number}),
    )
    session.add(job)
    session.flush()
    return job


def check_windows(session: Session, stream: Stream, step: int) -> None:
    """Returns while no window that holds the step takes more than the stream's epsilon; flushed rows count.

    The account may have room for more, but the stream's own promise has not. A stream opens only with plans
    that keep it; this holds whatever a later version of its method plans. Raises BudgetExceeded.
    """
    fullest = repository.fullest_window(session, stream, step)
    if fullest <= stream.nano_epsilon:
        return
    capacity = format_epsilon(stream.nano_epsilon)
    raise BudgetExceeded(
        f"With step {step} a window of this stream would take {format_epsilon(fullest)}; the stream was "
        f"opened for {capacity}.",
        account_id=stream.account_id,
        unit=str(Unit.W_EVENT),
        dimension="epsilon",
        requested=format_epsilon(fullest),
        capacity=capacity,
    )


def _spec(
    stream: Stream, version: DatasetVersion, planned: TickPlan, job_id: str, step: int
) -> dict[str, object]:
    release = {
        "job_id": job_id,
        "dataset_id": stream.dataset_id,
        "dataset_version": stream.version_id,
        "method": stream.method,
        "chosen_because": stream.chosen_because,
        "params": stream.params,
        "unit": str(Unit.W_EVENT),
        "window": stream.window,
        "nano_epsilon": stream.nano_epsilon,
        "delta_atto": 0,
        "edge_types": list(stream.edge_types),
        "formats": [],
        "seed": None,
        "derived": list(version.derived),
        "tick": {"stream_id": stream.id, "step": step},
    }
    return {
        "release": release,
        "amounts": planned.amounts,
        "kind": str(planned.plan.kind),
        "label": stream.label,
        "suite": stream.suite,
    }
