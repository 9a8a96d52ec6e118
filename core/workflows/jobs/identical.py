"""A request that asks for what was asked for before: the earlier release is offered, and nothing is spent.

Two requests are identical when everything that a release is made from is the same: the dataset's version, the
method and its parameters, epsilon and delta, relations, unit, seed, and the kind of guarantee. How the result
is written, labelled and compared makes no difference: a further sample takes formats of its own.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.errors import IdenticalRelease
from core.jobs import idempotency, repository
from core.jobs.models import Job
from core.workflows.jobs.prepare import JobRequest, Prepared


def content_hash(prepared: Prepared, seed: int | None) -> str:
    """SHA-256 (hex) of what the release would be made from, in canonical form. No data is read."""
    return idempotency.payload_hash(
        {
            "version": prepared.version.id,
            "method": prepared.method,
            "params": prepared.params.model_dump(mode="json"),
            "nano_epsilon": prepared.nano_epsilon,
            "delta_atto": prepared.delta_atto,
            "edge_types": sorted(prepared.edge_types),
            "unit": str(prepared.plan.unit),
            "window": prepared.plan.window,
            "seed": seed,
            "kind": str(prepared.cost.kind),
        }
    )


def earlier(session: Session, prepared: Prepared, request: JobRequest) -> Job | None:
    """The job that the request would repeat, published where there is one, else the newest under way.

    None for a request that wants a repeat.
    """
    if _wants_repeat(request):
        return None
    return repository.identical(session, prepared.dataset.id, content_hash(prepared, request.seed))


def refuse(session: Session, prepared: Prepared, request: JobRequest, content: str) -> None:
    """Returns while nothing of that content stands; IdenticalRelease where something does.

    Needs the lock of the dataset's account, which every job is added under: nothing comes between this look
    and the job.
    """
    if not _wants_repeat(request):
        job = repository.identical(session, prepared.dataset.id, content)
        if job is not None:
            raise refusal(job)


def refusal(job: Job) -> IdenticalRelease:
    """What a request is answered that would repeat the job."""
    return IdenticalRelease(
        f"Job {job.id} has the same content and is {job.state}. Its release costs nothing, and neither does "
        "another sample of its model; ask with repeat: true to spend again.",
        job_id=job.id,
        state=job.state,
    )


def _wants_repeat(request: JobRequest) -> bool:
    """It says so, or is one of several draws among which a comparison decides."""
    return request.repeat or request.comparison
