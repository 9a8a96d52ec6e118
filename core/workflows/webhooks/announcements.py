"""Announcements of what happened. They are written down for subscribers, in the transaction in which it
happened.

A webhook carries ids, a state and links. What they lead to is fetched with a key, by those who may see it.
Links are stored as paths; the service's address is put before them when they are sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from fractions import Fraction
from typing import Any

from sqlalchemy.orm import Session

from core.datasets.models import Dataset, DatasetVersion, VersionState
from core.db.session import database_now
from core.jobs.models import Job, JobState
from core.ledger import service as ledger
from core.publishing.spec import Tick
from core.settings import Settings
from core.webhooks import repository, service
from core.webhooks.models import EventType
from core.workflows.common.specs import spec_of
from graphveil.models.ledger import Budget

JOB_EVENTS = {
    JobState.AWAITING_APPROVAL: EventType.JOB_AWAITING_APPROVAL,
    JobState.PUBLISHED: EventType.JOB_PUBLISHED,
    JobState.FAILED: EventType.JOB_FAILED,
    JobState.CANCELLED: EventType.JOB_CANCELLED,
    JobState.REJECTED: EventType.JOB_REJECTED,
}
VERSION_EVENTS = {
    VersionState.READY: EventType.DATASET_READY,
    VersionState.REJECTED: EventType.DATASET_REJECTED,
}


class Level(IntEnum):
    """How much of a budget is left uncharged: enough, less than the settings' share, or nothing."""

    ENOUGH = 0
    LOW = 1
    EXHAUSTED = 2


BUDGET_EVENTS = {Level.LOW: EventType.BUDGET_LOW, Level.EXHAUSTED: EventType.BUDGET_EXHAUSTED}


def job_came_to(session: Session, job: Job) -> None:
    """Announce the state that the job has come to. Subscribers will learn of it, if it is one to be
    announced.

    A stream's snapshot that is published is told of as both: a job, and a snapshot.
    """
    event = JOB_EVENTS.get(JobState(job.state))
    if event is None:
        return
    data: dict[str, Any] = {"job_id": job.id, "dataset_id": job.dataset_id, "state": str(job.state)}
    links = {"job": f"/v1/jobs/{job.id}"}
    release = spec_of(job).release
    events = [event]
    if isinstance(release, Tick):
        data |= {"stream_id": release.stream_id, "step": release.step}
        links["snapshot"] = f"/v1/streams/{release.stream_id}/snapshots/{release.step}"
        events += [EventType.SNAPSHOT_PUBLISHED] * (event == EventType.JOB_PUBLISHED)
    for each in events:
        _announce(session, job.tenant, each, {**data, "links": links})


def version_came_to(session: Session, dataset: Dataset, version: DatasetVersion) -> None:
    """Announce to subscribers that the upload is ready, or rejected."""
    event = VERSION_EVENTS.get(VersionState(version.state))
    if event is not None:
        data = {"dataset_id": dataset.id, "version_id": version.id, "state": str(version.state)}
        links = {"dataset": f"/v1/datasets/{dataset.id}"}
        _announce(session, dataset.tenant, event, {**data, "links": links})


@contextmanager
def spending(session: Session, settings: Settings, spender: Job | Dataset) -> Iterator[None]:
    """Announce a low or used-up budget. What is charged within makes it so; subscribers will learn of it.

    ``spender``: the job whose budget it is, or the dataset. Two charges at the same moment may both tell it.
    Costs a query where nobody asked.
    """
    # Where nobody listens the two statements of the account are not worth their time.
    if not repository.subscribed(session, tenant=spender.tenant, events=tuple(BUDGET_EVENTS.values())):
        yield
        return
    before = budget_level(ledger.statement(session, spender.account_id), settings.budget_low_share)
    yield
    after = budget_level(ledger.statement(session, spender.account_id), settings.budget_low_share)
    for level, event in BUDGET_EVENTS.items():
        # Every level that was passed: spend that leaves nothing announces both, each once.
        if before < level <= after:
            dataset_id = spender.dataset_id if isinstance(spender, Job) else spender.id
            links = {"budget": f"/v1/datasets/{dataset_id}/budget"}
            data = {
                "dataset_id": dataset_id,
                "account_id": spender.account_id,
                "state": level.name.lower(),
            }
            _announce(session, spender.tenant, event, {**data, "links": links})


def budget_level(statement: Budget, low_share: float) -> Level:
    """Compute how much of the account is left. It is what is not charged, in epsilon, and in delta where it
    has one."""
    shares = [
        # Exact, as the threshold below is its decimal text: a double of 0.1 is more than a tenth.
        Fraction(capacity - charged, capacity)
        for capacity, charged in (
            (statement.capacity.nano_epsilon, statement.charged.nano_epsilon),
            (statement.capacity.delta_atto, statement.charged.delta_atto),
        )
        if capacity > 0
    ]
    least = min(shares, default=Fraction(1))
    if least <= 0:
        return Level.EXHAUSTED
    return Level.LOW if least < Fraction(str(low_share)) else Level.ENOUGH


def _announce(session: Session, tenant: str, event: EventType, data: Mapping[str, Any]) -> None:
    endpoints = repository.subscribed(session, tenant=tenant, events=(event,))
    if not endpoints:
        return
    payload = {
        "type": str(event),
        "timestamp": database_now(session).isoformat(),
        "data": dict(data),
    }
    for endpoint in endpoints:
        service.due(session, endpoint, event, payload)
    session.flush()
