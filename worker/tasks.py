"""What the doorbell rings for. The work is done elsewhere; nothing is returned or retried here."""

from __future__ import annotations

from core.outbox.models import Topic
from worker.app import app, draining
from worker.process import this_process
from worker.work import take, take_turn

PREFIX = "graphveil."


def task_name(topic: str) -> str:
    """The Celery task that a message of the topic is sent to; ValueError for an unknown topic."""
    return PREFIX + Topic(topic).value


@app.task(name=task_name(Topic.RUN))
def run(job_id: str) -> None:
    """The job whose turn it is was taken as far as this worker can: this one, or one that goes before it."""
    take_turn(this_process(), draining)


@app.task(name=task_name(Topic.INGEST))
def ingest(version_id: str) -> None:
    """The upload was validated, or was not free."""
    take(this_process(), Topic.INGEST, version_id, draining)


@app.task(name=task_name(Topic.EVALUATE))
def evaluate(job_id: str) -> None:
    """The release was compared with its original, or was not free."""
    take(this_process(), Topic.EVALUATE, job_id, draining)


@app.task(name=task_name(Topic.AUDIT))
def audit(audit_id: str) -> None:
    """The audit was run, or was not free."""
    take(this_process(), Topic.AUDIT, audit_id, draining)


@app.task(name=task_name(Topic.LINKS))
def links(list_id: str) -> None:
    """The list of sensitive links was checked, or was not free."""
    take(this_process(), Topic.LINKS, list_id, draining)
