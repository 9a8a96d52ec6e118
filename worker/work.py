"""One piece of work, by topic: what a message, or ``python -m worker.once``, asks this process to look at."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from core.errors import InvalidInput
from core.logging import get_logger
from core.outbox.models import Topic
from core.workflows import turns
from worker.audits import run_audit
from worker.evaluations import run_evaluation
from worker.ingests import run_ingest
from worker.jobs import run_job
from worker.links import run_check
from worker.process import WorkerProcess

Draining = Callable[[], bool]

log = get_logger(__name__)

RUNNERS: dict[Topic, Callable[[WorkerProcess, str, Draining], bool]] = {
    Topic.INGEST: run_ingest,
    Topic.RUN: run_job,
    Topic.EVALUATE: run_evaluation,
    Topic.AUDIT: run_audit,
    Topic.LINKS: run_check,
}


def take(process: WorkerProcess, topic: Topic, subject_id: str, draining: Draining) -> bool:
    """The work was taken as far as this process can; False if it was not free, or this worker is stopping."""
    if topic not in RUNNERS:
        raise InvalidInput(f"there is no topic {topic!r}", field="topic")
    if draining():
        return False  # the reaper rings again, and another worker answers
    with structlog.contextvars.bound_contextvars(
        topic=str(topic), subject_id=subject_id, worker=process.name
    ):
        taken = RUNNERS[topic](process, subject_id, draining)
        log.info("work_ended" if taken else "work_not_free")
    return taken


def take_turn(process: WorkerProcess, topic: Topic, draining: Draining) -> bool:
    """The work whose turn it is was taken, as :func:`take` takes it; False if there is none that is free.

    A message says that work of the topic waits, not which is next: it came in the order in which work was
    asked for, and that order is the fair one to nobody but the tenant that asked for most.
    """
    passed_over: list[str] = []
    while not draining():
        found = turns.next_work(process.services, topic, passed_over)
        if found is None:
            break
        if take(process, *found, draining):
            return True
        passed_over.append(found[1])  # another worker was faster
    return False
