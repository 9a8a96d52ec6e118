"""Every kind of work that a message announces. It is taken back from a worker that is gone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from core.audits.models import AUDITS
from core.datasets import repository as datasets
from core.datasets.models import INGESTS, LINK_CHECKS, DatasetVersion
from core.jobs import shard_repository as shards
from core.jobs.models import EVALUATIONS, RELEASES, SHARDS, Job, JobState, Shard, Stop
from core.logging import get_logger
from core.outbox.models import Topic
from core.settings import Settings
from core.streams import repository as streams
from core.work import leases
from core.work import service as work
from core.work.models import Kind, Row
from core.workflows.audits import requests as audits
from core.workflows.common.context import Services
from core.workflows.common.sweeps import sweep
from core.workflows.datasets import ingest
from core.workflows.datasets import link_checks as sensitive_checks
from core.workflows.datasets.upload import discard
from core.workflows.releases import evaluate, settle, sharded

ACTOR = "reaper"

log = get_logger(__name__)


@dataclass(frozen=True)
class Leasing(Generic[Row]):
    """How rows of one kind are taken back and announced again.

    ``take_back`` queues or ends a locked row whose lease ran out, and returns the keys of the objects that
    nothing names any more. ``lost_in``: the states in which a lease can run out, if not only the kind's
    ``running``. ``lock_first``: locks what must be locked before the row. ``held_up``: true of rows that wait
    for others, and are not announced.
    """

    kind: Kind[Row]
    take_back: Callable[[Session, Settings, Row], Sequence[str] | None]
    lost_in: Collection[str] | None = None
    lock_first: Callable[[Session, str], object] | None = None
    held_up: Callable[[], ColumnElement[bool]] | None = None


def _release(session: Session, settings: Settings, job: Job) -> None:
    settle.hand_back(session, settings, job, Stop.WORKER_LOST, actor=ACTOR)
    log.info("job_recovered", job_id=job.id, state=job.state)


def _shard(session: Session, settings: Settings, row: Shard) -> None:
    sharded.take_back_shard(session, settings, row, actor=ACTOR)


def _ingest(session: Session, settings: Settings, version: DatasetVersion) -> Sequence[str]:
    return ingest.take_back_ingest(session, version)


KINDS: dict[Topic, Leasing[Any]] = {
    Topic.RUN: Leasing(
        RELEASES,
        _release,
        lost_in=(JobState.RUNNING, JobState.CANCELLING),
        # A snapshot that waits for an earlier one cannot be taken: it must not hide a job that can.
        held_up=lambda: Job.id.in_(streams.held_up()),
    ),
    Topic.SHARD: Leasing(SHARDS, _shard, lock_first=shards.lock_job),
    Topic.INGEST: Leasing(INGESTS, _ingest, lock_first=datasets.lock_of_version),
    Topic.EVALUATE: Leasing(EVALUATIONS, evaluate.take_back_evaluation),
    Topic.AUDIT: Leasing(AUDITS, audits.take_back_audit),
    Topic.LINKS: Leasing(LINK_CHECKS, sensitive_checks.take_back_check),
}


def heartbeat(
    services: Services,
    topic: Topic,
    row_id: str,
    attempt: int,
    stopped: Callable[[Session], bool] = lambda session: False,
) -> bool:
    """Extend the lease. True when the work is to stop, as ``stopped`` says. LeaseLost."""
    with services.db.transaction() as session:
        work.beat(session, services.settings, KINDS[topic].kind, row_id, attempt)
        return stopped(session)


def recover_lost(services: Services, topic: Topic) -> int:
    """Take work back from workers that are gone. It waits for another one, or has ended where none may try.

    Returns how many rows there were, up to the settings' limit of a sweep.
    """
    leasing, settings = KINDS[topic], services.settings
    with services.db.transaction() as session:
        ids = leases.lost_ids(session, leasing.kind, settings.sweep_limit, leasing.lost_in)

    def recover(row_id: str) -> None:
        keys: Sequence[str] | None = None
        with services.db.transaction() as session:
            # Parents before children, as everywhere: otherwise two workers wait for each other.
            if leasing.lock_first is not None:
                leasing.lock_first(session, row_id)
            # Looked at again under its lock: it may have beaten, or ended, since the list was made.
            row = leases.lost(session, leasing.kind, row_id, leasing.lost_in)
            if row is not None:
                keys = leasing.take_back(session, settings, row)
        # After the commit, so that no row names bytes that are gone.
        discard(services, keys or ())

    return sweep(ids, recover, subject=str)


def ring_again(services: Services) -> int:
    """Announce again what still waits. Its message was sent long ago; returned is how much of it there
    was."""
    rung = 0
    with services.db.transaction() as session:
        for leasing in KINDS.values():
            but = None if leasing.held_up is None else leasing.held_up()
            rung += work.ring_again(session, services.settings, leasing.kind, but)
    return rung
