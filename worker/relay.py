"""``python -m worker.relay``: sends the outbox's messages to the broker, at least once.

Sent first and marked afterwards: a crash between the two sends again, and claims make that harmless. A
notification wakes the relay at once; polling finds what a notification missed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import psycopg
from celery import Celery
from kombu.exceptions import OperationalError
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core import command_line, failpoints, logging
from core.db.listening import listening
from core.db.session import Database
from core.failpoints import reach
from core.jobs import repository as jobs
from core.logging import get_logger
from core.outbox import service as outbox
from core.outbox.models import OutboxMessage, Topic
from core.settings import Settings, get_settings
from core.tracing import spans
from core.workflows.jobs import abilities_repository
from core.workflows.operations.startup import may_start
from worker.app import GPU_TASK, app, task_name, task_needing
from worker.stopping import Stopping

BATCH = 100
PAUSE_SECONDS = 2.0

log = get_logger(__name__)


def relay_once(db: Database, send: Callable[[str, str], None]) -> int:
    """Send and mark every due message. There are as many as a batch at most; returned is how many. Nothing is
    marked if sending fails.

    Several relays may run: each takes rows that the others have not locked.
    """
    with db.transaction() as session:
        messages = outbox.take_unsent(session, BATCH)
        parents = _parents(session, messages) if spans.on() else {}
        for_gpus = jobs.gpu_only(session, _of_jobs(messages))
        needed = _needed(session, messages)
        for message in messages:
            with _span_of(message, parents):
                gpu = message.topic == Topic.RUN and message.subject_id in for_gpus
                ability = needed.get((message.topic, message.subject_id))
                task = task_name(message.topic)
                if ability is not None:
                    task = task_needing(message.topic, ability)
                send(GPU_TASK if gpu else task, message.subject_id)
        if messages:
            reach("before_mark_sent")
        outbox.mark_sent(session, [message.id for message in messages])
        return len(messages)


def _needed(session: Session, messages: Sequence[OutboxMessage]) -> dict[tuple[str, str], str]:
    """Find the ability that the work of each message needs, of those that not every worker can do."""
    ids: dict[str, set[str]] = {}
    for message in messages:
        ids.setdefault(message.topic, set()).add(message.subject_id)
    return {
        (topic, row_id): ability
        for topic, of_topic in ids.items()
        for row_id, ability in abilities_repository.needed(session, Topic(topic), of_topic).items()
    }


def _parents(session: Session, messages: Sequence[OutboxMessage]) -> dict[str, str]:
    """Read the traceparents of the jobs that are to be run.

    A comparison's message has no span: its time would reveal exactly when its job's run ended.
    """
    return jobs.traceparents(session, _of_jobs(messages))


def _of_jobs(messages: Sequence[OutboxMessage]) -> set[str]:
    return {each.subject_id for each in messages if each.topic == Topic.RUN}


def _span_of(message: OutboxMessage, parents: Mapping[str, str]) -> AbstractContextManager[None]:
    """Open a span of the job's trace, where a job with a trace is to be run."""
    if message.topic != Topic.RUN or message.subject_id not in parents:
        return nullcontext()
    parent = parents[message.subject_id]
    return spans.sending(message.topic, parent, message.subject_id)


def sender(app: Celery) -> Callable[[str, str], None]:
    """Make a function that sends one id to one task. It raises kombu's OperationalError where the broker is
    away."""

    def send(name: str, subject_id: str) -> None:
        app.send_task(name, args=[subject_id], retry=False)

    return send


def run(settings: Settings, app: Celery, stopping: Stopping) -> None:
    """Relay messages until this process is to stop. Lost connections are opened again."""
    db, send = Database(settings.database_url, pool_size=1), sender(app)
    while not stopping():
        try:
            with listening(settings.database_url, outbox.CHANNEL) as listener:
                _relay_while_connected(db, send, listener, settings.relay_poll_seconds, stopping)
        except (psycopg.Error, SQLAlchemyError, OperationalError, OSError) as error:
            log.warning("relay_paused", error=type(error).__name__)
            stopping.wait(PAUSE_SECONDS)
    db.dispose()


def _relay_while_connected(
    db: Database,
    send: Callable[[str, str], None],
    listener: psycopg.Connection,
    poll_seconds: float,
    stopping: Stopping,
) -> None:
    while not stopping():
        sent = relay_once(db, send)
        if sent:
            log.info("relayed", count=sent)
        if sent < BATCH:
            for _ in listener.notifies(timeout=poll_seconds, stop_after=1):
                continue


def main() -> int:
    """Relay until stopped; the exit code."""
    command_line.parser("worker.relay", __doc__).parse_args()
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    failpoints.arm(settings.failpoints)
    if not may_start(settings):
        return 1
    stopping = Stopping()
    spans.start(settings, "relay")
    log.info("relay_started")
    try:
        run(settings, app, stopping)
    finally:
        spans.stop()
    log.info("relay_stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
