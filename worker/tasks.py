"""What the doorbell rings for. The work is done elsewhere; nothing is returned or retried here."""

from __future__ import annotations

from core.outbox.models import Topic
from worker.app import app, draining
from worker.process import this_process
from worker.work import take_turn

PREFIX = "graphveil."


def task_name(topic: str) -> str:
    """The Celery task that a message of the topic is sent to; ValueError for an unknown topic."""
    return PREFIX + Topic(topic).value


@app.task(name=task_name(Topic.RUN))
def run(job_id: str) -> None:
    """The job whose turn it is was taken as far as this worker can: this one, or one that goes before it."""
    take_turn(this_process(), Topic.RUN, draining)


@app.task(name=task_name(Topic.INGEST))
def ingest(version_id: str) -> None:
    """The upload whose turn it is was validated, or the list of sensitive links was checked."""
    take_turn(this_process(), Topic.INGEST, draining)


@app.task(name=task_name(Topic.EVALUATE))
def evaluate(job_id: str) -> None:
    """The release whose turn it is was compared with its original, or the audit was run."""
    take_turn(this_process(), Topic.EVALUATE, draining)


@app.task(name=task_name(Topic.AUDIT))
def audit(audit_id: str) -> None:
    """The audit whose turn it is was run, or the release was compared with its original."""
    take_turn(this_process(), Topic.AUDIT, draining)


@app.task(name=task_name(Topic.LINKS))
def links(list_id: str) -> None:
    """The list of sensitive links whose turn it is was checked, or the upload was validated."""
    take_turn(this_process(), Topic.LINKS, draining)
