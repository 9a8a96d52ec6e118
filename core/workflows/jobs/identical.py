"""A request that repeats an earlier one. The earlier release is offered, and nothing is spent.

Two requests are identical when everything that a release is made from is the same: the dataset's version, the
method and its parameters, epsilon and delta, relations, unit, seed, and the kind of guarantee. How the result
is written, labelled and compared makes no difference: a further sample takes formats of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from core.errors import IdenticalRelease
from core.jobs import idempotency, repository
from core.methods import registry
from core.publishing.spec import JobSpec
from core.workflows.jobs.request import JobRequest


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


def is_refused(request: JobRequest) -> bool:
    """Tell whether a repeat is refused. Not of a request that says it wants one, nor of one that is one of
    several draws among which a comparison decides."""
    return not (request.repeat or request.comparison)


def earlier(session: Session, spec: JobSpec, request: JobRequest) -> Twin | None:
    """Find the job that the request would repeat. It is published where there is one, else the newest under
    way.

    None for a request whose repeat is not refused.
    """
    if not is_refused(request):
        return None
    found = repository.identical(session, spec.release.dataset_id, content_hash(spec))
    return None if found is None else Twin(*found)


def refuse(session: Session, spec: JobSpec, request: JobRequest) -> None:
    """Check that nothing of that content stands. IdenticalRelease where something does.

    Under the lock of the dataset's account, which every job is added under, none comes after this look.
    """
    job = earlier(session, spec, request)
    if job is not None:
        raise refusal(job)


def refusal(job: Twin) -> IdenticalRelease:
    """Say what a request is answered that would repeat the job."""
    return IdenticalRelease(
        f"Job {job.id} has the same content and is {job.state}. Its release costs nothing, and neither does "
        "another sample of its model; ask with repeat: true to spend again.",
        job_id=job.id,
        state=job.state,
    )
