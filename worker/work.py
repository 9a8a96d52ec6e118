"""One piece of work, by topic. A message, or :mod:`worker.run_one`, has this process look at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from core.db.outages import unreachable
from core.errors import GraphveilError, InvalidInput, LeaseLost, NotFound, StorageError
from core.failpoints import reach
from core.jobs.models import Stop
from core.logging import get_logger
from core.outbox.models import Topic
from core.workflows.jobs import turns
from core.workflows.operations import leased
from worker.kinds.audit import AuditKind
from worker.kinds.base import Held, WorkKind
from worker.kinds.evaluation import EvaluationKind
from worker.kinds.ingest import IngestKind
from worker.kinds.link_check import LinkCheckKind
from worker.kinds.release import ReleaseKind
from worker.kinds.shard import ShardKind
from worker.lease_heartbeat import LeaseHeartbeat
from worker.process import WorkerProcess
from worker.supervisor import Draining, Ending

log = get_logger(__name__)

Begin = Callable[[], Any]
"""Leases a piece of work: what is held of it, None where it is not free."""

KINDS: dict[Topic, WorkKind[Any]] = {
    Topic.INGEST: IngestKind(),
    Topic.RUN: ReleaseKind(),
    Topic.SHARD: ShardKind(),
    Topic.EVALUATE: EvaluationKind(),
    Topic.AUDIT: AuditKind(),
    Topic.LINKS: LinkCheckKind(),
}


def take(process: WorkerProcess, topic: Topic, subject_id: str, draining: Draining) -> bool:
    """Do the work as far as this process can. False if it was not free, or this worker is stopping."""
    if topic not in KINDS:
        raise InvalidInput(f"there is no topic {topic!r}", field="topic")
    if draining():
        return False  # the reaper rings again, and another worker answers
    return _take(process, topic, subject_id, draining, _begin(process, topic, subject_id))


def take_turn(
    process: WorkerProcess,
    topic: Topic,
    draining: Draining,
    *,
    gpu_only: bool = False,
    ability: str | None = None,
) -> bool:
    """Take the work whose turn it is. It does as :func:`take`; False if there is none that is free.

    Of jobs that only a worker with a GPU may take (``gpu_only``), of work that needs the ``ability``, or of
    what any worker may take.

    A message says that work of the topic waits, not which is next: it came in the order in which work was
    asked for, and that order is the fair one to nobody but the tenant that asked for most.
    """
    if gpu_only and (process.own_gpu is None or process.own_gpu.gpu is None):
        log.error("gpu_not_held")  # started for that queue without one, or it is another's, or gone
        return False
    passed_over: list[str] = []
    while not draining():
        following, begin = _claim(process, topic, passed_over, gpu_only=gpu_only, ability=ability)
        if following is None:
            break
        if _take(process, *following, draining, begin):
            return True
        passed_over.append(following[1])  # another worker was faster
    return False


def _claim(
    process: WorkerProcess, topic: Topic, passed_over: Sequence[str], **lane: Any
) -> tuple[tuple[Topic, str] | None, Begin]:
    """Find the work whose turn it is, and begin it in the same transaction where its kind can."""
    services = process.services
    try:
        with services.db.together():
            following = turns.next_work(services, topic, passed_over, **lane)
            if following is None:
                return None, lambda: None
            if not KINDS[following[0]].begins_at_once:
                return following, _begin(process, *following)
            work = _begin(process, *following)()
    except GraphveilError:
        # Its turn was undone with it. It counts all the same: nobody is to wait behind what cannot be begun.
        following = turns.next_work(services, topic, passed_over, **lane)
        return following, (lambda: None) if following is None else _begin(process, *following)
    return following, lambda: work


def _begin(process: WorkerProcess, topic: Topic, subject_id: str) -> Begin:
    return partial(KINDS[topic].begin, process.services, subject_id, process.name)


def _take(process: WorkerProcess, topic: Topic, subject_id: str, draining: Draining, begin: Begin) -> bool:
    with structlog.contextvars.bound_contextvars(
        topic=str(topic), subject_id=subject_id, worker=process.name
    ):
        taken = _run(process, topic, subject_id, draining, begin)
        log.info("work_ended" if taken else "work_not_free")
    return taken


def _run(process: WorkerProcess, topic: Topic, subject_id: str, draining: Draining, begin: Begin) -> bool:
    """Do one piece of work from claim to settlement; False if it was not free.

    Where the database does not answer, the lease runs out and the reaper decides.
    """
    services, settings, kind = process.services, process.services.settings, KINDS[topic]
    try:
        work = begin()
    except (NotFound, LeaseLost, StorageError) as error:
        log.warning("not_laid_out", error=type(error).__name__)  # handed back where it was begun
        return True
    if work is None:
        return False
    reach("after_claim")

    def beat() -> bool:
        kind.extend(services, work)
        return leased.heartbeat(
            services, topic, subject_id, work.attempt, lambda session: kind.stopped(session, work)
        )

    with (
        kind.span(work),
        kind.folder(process.folder, subject_id, work) as folder,
        LeaseHeartbeat(
            beat, every_seconds=settings.heartbeat_seconds, lease_seconds=settings.lease_seconds
        ) as heartbeat,
    ):
        try:
            kind.run(Held(services, work, folder, heartbeat, draining, process.own_gpu))
        except LeaseLost:
            log.warning("lease_lost")
        except kind.own_doing as error:
            log.warning("work_failed", error=type(error).__name__)
            _quietly(lambda: kind.fail(services, work, Ending.FAILED))
        except (StorageError, SQLAlchemyError, OSError) as error:
            stop = _stop(error)
            log.warning("infrastructure_failed", error=type(error).__name__)
            _quietly(lambda: kind.hand_back(services, work, stop))
    return True


def _stop(error: Exception) -> Stop:
    """Tell what stopped the attempt. The worker's own disk is no outage: what a job writes can fill it."""
    outage = isinstance(error, StorageError) or unreachable(error)
    return Stop.OUTAGE if outage else Stop.WORKER_LOST


def _quietly(step: Callable[[], None]) -> None:
    """Take the step, or leave it to the reaper."""
    try:
        step()
    except (GraphveilError, SQLAlchemyError) as error:
        log.warning("left_to_the_reaper", error=type(error).__name__)
