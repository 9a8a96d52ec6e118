"""What sets a snapshot's job apart. It waits for the ones before it, and rings for the next."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.jobs import repository as jobs
from core.jobs.models import Job, JobReason, JobState
from core.jobs.states import GIVEN_BACK, LEASED
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.publishing.spec import Tick
from core.streams import repository
from core.streams.models import Outcome
from core.workflows.common.specs import spec_of

OUTCOMES = {
    JobState.PUBLISHED: Outcome.PUBLISHED,
    JobState.FAILED: Outcome.FAILED,
    JobState.CANCELLED: Outcome.CANCELLED,
}


def may_run(session: Session, job_id: str) -> bool:
    """Tell whether the job may run. Nothing has to end before it; always true of a job that is no tick.

    Earlier steps have to, and while a stream has published nothing its ticks run one at a time, a mended one
    too. Locks the stream.
    """
    row = repository.of_job(session, job_id)
    if row is None:
        return True
    repository.locked(session, row.stream_id)  # of two that are claimed at once, the second sees the first
    if repository.unfinished_before(session, row.stream_id, row.step):
        return False
    if repository.any_published(session, row.stream_id) is not None:
        return True
    # The first to be published draws the names of the nodes: until then one runs at a time.
    others = jobs.by_ids(session, repository.unfinished_jobs(session, row.stream_id))
    return not any(job.state in LEASED for job in others.values() if job.id != job_id)


def ended(session: Session, job: Job) -> None:
    """Record how the snapshot's job has ended. The earliest one that waits is rung.

    Part of the transaction in which the job ends. Two jobs of a stream that end at the same moment may each
    ring the other; the reaper then rings the one that waits.
    """
    if not isinstance(spec_of(job).release, Tick):
        return
    row = repository.of_job(session, job.id)
    if row is None:
        return
    row.outcome = _outcome(job)
    row.object_key = None  # what is left of the upload has no name, and is swept
    session.flush()
    following = repository.first_unfinished(session, row.stream_id)
    if following is not None:
        outbox.ring(session, Topic.RUN, following.job_id)


def _outcome(job: Job) -> Outcome:
    if job.reason == JobReason.INVALID_SNAPSHOT:
        return Outcome.REFUSED
    return Outcome.LOST if job.reason in GIVEN_BACK else OUTCOMES[JobState(job.state)]
