"""The job that publishes one snapshot. It is one of a live stream; its budget is set aside."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.datasets import repository as datasets
from core.errors import BudgetExceeded
from core.identity.service import Principal
from core.jobs import idempotency
from core.jobs.models import Job
from core.ledger import repository as accounts
from core.privacy.units import Unit
from core.streams import repository
from core.streams.models import Stream
from core.workflows.common.policies import policy_of
from core.workflows.common.specs import new_job, reserve
from core.workflows.streams.terms import check_terms, tick_spec
from graphveil.amounts import format_epsilon


def add_tick(session: Session, principal: Principal, stream: Stream, step: int, number: int) -> Job:
    """Queue the step's job. Its budget is reserved until it ends. Raises what the dataset's present policy
    and the ledger refuse.

    ``number``: how often the step was sent anew. The caller holds the stream.
    """
    version = datasets.existing_version(session, stream.version_id)
    dataset = datasets.existing(session, stream.dataset_id)
    account = accounts.account(session, stream.account_id)
    spec, plan = tick_spec(session, stream, version, account, step, policy_of(dataset))
    team, project = stream.team, stream.project
    check_terms(session, dataset, spec, team=team, project=project)
    job = new_job(principal, dataset, spec, plan.to_json(), plan.digest())
    job.account_id, job.team, job.project = stream.account_id, team, project
    # No caller's key holds a space: the two cannot meet.
    job.idempotency_key = f"tick {stream.id} {step} {number}"
    job.payload_hash = idempotency.payload_hash({"stream_id": stream.id, "step": step, "number": number})
    job.reservation_id = reserve(session, job, spec, actor=principal.key_id)
    session.add(job)
    session.flush()
    return job


def check_windows(session: Session, stream: Stream, step: int) -> None:
    """Check that no window exceeds the stream's epsilon. It is one that holds the step; flushed rows count.

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
