"""What the doorbell rings for, one Celery task a topic. Nothing is returned or retried here."""

from __future__ import annotations

from core.outbox.models import Topic
from core.workflows.jobs import abilities
from worker.app import GPU_TASK, app, draining, task_name, task_needing
from worker.process import this_process
from worker.work import KINDS, take_turn


def _add_task(topic: Topic) -> None:
    """Add the Celery task that takes the work whose turn it is where work of the topic waits."""

    def take_next(subject_id: str) -> None:
        take_turn(this_process(), topic, draining)

    app.task(take_next, name=task_name(topic))


for _topic in KINDS:
    _add_task(_topic)


def _add_needing(topic: Topic, ability: str) -> None:
    """Add the Celery task that takes the work whose turn it is, of the topic's that needs the ability."""

    def take_next(subject_id: str) -> None:
        take_turn(this_process(), topic, draining, ability=ability)

    app.task(take_next, name=task_needing(topic, ability))


for _topic in (Topic.RUN, Topic.EVALUATE, Topic.AUDIT):
    for _ability in abilities.beyond():
        _add_needing(_topic, _ability)


@app.task(name=GPU_TASK)
def take_next_with_gpu(subject_id: str) -> None:
    """Take the job whose turn it is of those that only a worker with a GPU may take."""
    take_turn(this_process(), Topic.RUN, draining, gpu_only=True)
