"""What sets the job of a stream's snapshot apart: it waits for the ones before it, and rings for the next."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.jobs.models import Job, JobReason, JobState
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.streams import repository
from core.streams.models import Outcome

OUTCOMES = {
    JobState.PUBLISHED: Outcome.PUBLISHED,
    JobState.FAILED: Outcome.FAILED,
    JobState.CANCELLED: Outcome.CANCELLED,
}


def is_tick(job: Job) -> bool:
    """Whether the job publishes a snapshot of a live stream."""
    return job.spec["release"].get("tick") is not None


def nano_epsilon(job: Job) -> int:
    """The epsilon of the job's release: of a tick its own step's part, not that of a window."""
    return sum(job.spec["amounts"].values()) if is_tick(job) else job.spec["release"]["nano_epsilon"]


def may_run(session: Session, job_id: str) -> bool:
    """Whether nothing before the job has to end first; always true of a job that is no tick."""
    row = repository.of_job(session, job_id)
    return row is None or not repository.unfinished_before(session, row.stream_id, row.step)


def ended(session: Session, job: Job) -> None:
    """Its snapshot knows how the job has ended, and the earliest one that waits is rung.

    Part of the transaction in which the job ends. Two jobs of a stream that end at the same moment may each
    ring the other; the reaper then rings the one that waits.
    """
    if not is_tick(job):
        return
    row = repository.of_job(session, job.id)
    if row is None:
        return
    refused = job.reason == JobReason.INVALID_SNAPSHOT
    row.outcome = Outcome.REFUSED if refused else OUTCOMES[JobState(job.state)]
    row.object_key = None  # what is left of the upload has no name, and is swept
    session.flush()
    following = repository.first_unfinished(session, row.stream_id)
    if following is not None:
        outbox.ring(session, Topic.RUN, following.job_id)
