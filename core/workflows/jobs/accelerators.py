"""Which jobs wait for a GPU. Here is what becomes of them where no worker has one.

What a GPU is to a job follows from public facts, and who has one from leases in the database. A job that
gains from a GPU is claimed by workers that hold one. Once it has waited ``accelerator_wait_seconds``, and
none is held, any worker may claim it where a GPU is useful to it; where it is needed, the job has failed.
Times are PostgreSQL's.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.jobs import events, repository
from core.jobs.models import Job, JobReason, JobState
from core.methods.base import Accelerator
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.settings import Settings
from core.workers import repository as workers
from core.workflows.common.context import Services
from core.workflows.common.sweeps import sweep
from core.workflows.releases import settle

ACTOR = "reaper"
WITHOUT = "without accelerator"
"""The stage by which callers see that a job runs on a CPU although it gains from a GPU."""

MISSING = (
    "The job needs a GPU, and no worker has one at present: it fails with accelerator_missing, its budget "
    "returned, unless one comes within {seconds:g} seconds."
)
SLOWER = "The job gains from a GPU, and no worker has one at present: it may run on a CPU, slower."


def warning(session: Session, settings: Settings, accelerator: Accelerator) -> str | None:
    """Say what to expect where no GPU is held. It is said of a job that gains from a GPU; None else."""
    if accelerator is Accelerator.NONE or workers.gpus_held(session):
        return None
    if accelerator is Accelerator.USEFUL:
        return SLOWER
    return MISSING.format(seconds=settings.accelerator_wait_seconds)


def route(session: Session, settings: Settings, job: Job, accelerator: Accelerator) -> None:
    """Route the new job to a GPU, or to any worker. It waits for any where it gains nothing, or would wait in
    vain."""
    job.accelerator = accelerator
    job.gpu_only = accelerator is not Accelerator.NONE and (
        accelerator is Accelerator.NEEDED
        or settings.accelerator_wait_seconds > 0
        or workers.gpus_held(session) > 0
    )


def note_worker(session: Session, settings: Settings, job: Job, worker: str) -> bool:
    """Tell whether the worker holds a GPU. Where it does not and the job gains from one, callers see that.

    The caller has claimed the job.
    """
    holds = workers.holds_one(session, worker)
    if job.accelerator != Accelerator.NONE and not holds:
        events.record(session, job.id, [events.Step(WITHOUT, 1, 1)], limit=settings.max_job_events)
    return holds


def give_up_waiting(services: Services) -> int:
    """Let jobs wait for a GPU no longer. They waited as long as they are to, while none is held."""
    settings = services.settings
    with services.db.transaction() as session:
        if workers.gpus_held(session):
            return 0
        ids = repository.waiting_for_gpu(session, settings.accelerator_wait_seconds, settings.sweep_limit)

    def give_up(job_id: str) -> None:
        with services.db.transaction() as session:
            job = repository.locked(session, job_id)
            if job is None or job.state != JobState.QUEUED or not job.gpu_only:
                return
            # A worker with a GPU may have come since: under the job's lock it is looked at again.
            if workers.gpus_held(session):
                return
            if job.accelerator == Accelerator.NEEDED:
                settle.fail(session, settings, job, JobReason.ACCELERATOR_MISSING, actor=ACTOR)
                return
            job.gpu_only = False
            outbox.ring(session, Topic.RUN, job.id)

    return sweep(ids, give_up, subject=str)
