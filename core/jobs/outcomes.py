"""The budget of a job that ended without a release. This is what callers read of it."""

from __future__ import annotations

from core.jobs.models import Job, JobState
from core.jobs.states import GIVEN_BACK
from graphveil.models.jobs import BudgetOutcome

_FREE = BudgetOutcome(outcome="returned", text="The job had reserved nothing: there is nothing to return.")
_RETURNED = BudgetOutcome(
    outcome="returned", text="The graph was not opened: the whole reservation has returned."
)
_PENDING = BudgetOutcome(
    outcome="pending",
    text="The graph has not been opened, and will not be: the whole reservation returns once the job has "
    "stopped.",
)
_FAILED_FREE = BudgetOutcome(outcome="returned", text="The whole reservation has returned.")
_SPENT = BudgetOutcome(
    outcome="spent",
    text="The graph was opened for this job, so its whole cost stays charged: that a job failed or stopped "
    "can tell something about the data.",
)


def budget_outcome(job: Job) -> BudgetOutcome | None:
    """Say what becomes of a stopped job's budget. It failed, was stopped or refused; None otherwise.

    It follows from whether the graph had been opened when the job was asked to stop: after that it is not.
    A failure that returns the budget has one text, whether content or infrastructure was to blame.
    """
    if job.state not in (JobState.FAILED, JobState.CANCELLING, JobState.CANCELLED, JobState.REJECTED):
        return None
    if not job.reserved:
        return _FREE
    if job.state == JobState.FAILED and (job.first_read_at is None or job.reason in GIVEN_BACK):
        return _FAILED_FREE
    if job.first_read_at is not None:
        return _SPENT
    return _PENDING if job.state == JobState.CANCELLING else _RETURNED
