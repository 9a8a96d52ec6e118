"""States that no budget paid for, as callers see them. They follow from data; callers who are no curators are
shown less of them.

Curators hold the data. To all others an upload whose content was refused looks like one that was never sent,
and a snapshot whose content was refused like one that the infrastructure lost. SECURITY.md lists what stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.datasets.models import Dataset, DatasetState, ShownState
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.models import Job, JobState
from core.jobs.states import GIVEN_BACK
from core.publishing.spec import Tick
from core.streams.models import Outcome
from core.workflows.common.specs import spec_of

RETURNED = "returned"
"""Why a stream's snapshot failed without a charge: for its content, or for infrastructure."""

_SHOWN_TO_ALL = frozenset({DatasetState.REGISTERED, DatasetState.READY, DatasetState.ARCHIVED})
_LOOKS_LOST = frozenset({Outcome.REFUSED, Outcome.LOST})


def dataset_state(principal: Principal, dataset: Dataset) -> str:
    """Return the dataset's state. It is ``registered`` in place of an upload's progress or rejection."""
    state = dataset.shown_state
    if Role.CURATOR in principal.roles or state in _SHOWN_TO_ALL:
        return state
    return DatasetState.REGISTERED


def dataset_states(principal: Principal, shown: str) -> list[str]:
    """List the states that the caller is shown as this one: what is hidden is found as ``registered``."""
    if Role.CURATOR in principal.roles:
        return [shown]
    # A filter by a hidden state must show no more than the list does.
    hidden = sorted({*map(str, ShownState)} - {*map(str, _SHOWN_TO_ALL)})
    if shown == DatasetState.REGISTERED:
        return [shown, *hidden]
    return [] if shown in hidden else [shown]


def retry_after_seconds(principal: Principal, dataset: Dataset) -> int | None:
    """Compute the seconds until another look is worth while. None for those who may not know what is waited
    for."""
    return dataset.retry_after_seconds if Role.CURATOR in principal.roles else None


def job_reason(principal: Principal, job: Job) -> str | None:
    """Say why the job ended as it did. It is ``returned`` for every failed snapshot that was charged
    nothing."""
    return RETURNED if hidden(principal, job) else job.reason


def hidden(principal: Principal, job: Job) -> bool:
    """Tell whether a failure is hidden from the caller. The job failed before its content was paid for, and
    this caller may not know why."""
    if Role.CURATOR in principal.roles or job.state != JobState.FAILED:
        return False
    # A failure that gave its budget back tells of content that nobody has paid for.
    free = job.first_read_at is None or job.reason in GIVEN_BACK
    return free and isinstance(spec_of(job).release, Tick)


def outcomes(principal: Principal, counts: Mapping[str | None, int]) -> dict[str, int]:
    """Count snapshots by outcome. Those without one are ``waiting``; refused and lost ones ``failed``."""
    found: dict[str, int] = {}
    for outcome, count in counts.items():
        name = outcome or "waiting"
        if Role.CURATOR not in principal.roles and outcome in _LOOKS_LOST:
            name = str(Outcome.FAILED)
        found[name] = found.get(name, 0) + count
    return found
