"""On a real broker: what waits is taken uploads first, then releases and shards, whatever came first."""

from __future__ import annotations

from typing import Any

from kombu import Connection

from core.outbox.models import Topic
from tests.support.patience import PATIENCE_SECONDS
from worker.app import GPU, GPU_TASK, app, task_name


def test_uploads_go_before_releases_and_those_before_comparisons_that_came_earlier(redis_url: str):
    apart = redis_url.rsplit("/", 1)[0] + "/7"  # no other test's messages
    taken: list[str] = []

    def take(_: Any, message: Any) -> None:
        taken.append(message.headers["task"])
        message.ack()

    with Connection(apart, transport_options=app.conf.broker_transport_options) as connection:
        for topic in (
            Topic.EVALUATE,
            Topic.AUDIT,
            Topic.SHARD,
            Topic.EVALUATE,
            Topic.RUN,
            Topic.INGEST,
            Topic.RUN,
        ):
            app.send_task(task_name(topic), args=["x"], retry=False, connection=connection)
        queues = list(app.amqp.queues.consume_from.values())
        with connection.Consumer(queues, callbacks=[take], prefetch_count=1):
            while len(taken) < 7:
                connection.drain_events(timeout=PATIENCE_SECONDS)
    topics = (Topic.INGEST, Topic.RUN, Topic.RUN, Topic.SHARD, Topic.EVALUATE, Topic.AUDIT, Topic.EVALUATE)
    assert taken == [task_name(topic) for topic in topics]


def test_a_worker_with_a_gpu_takes_what_waits_for_it_first_and_others_never_hear_of_it(redis_url: str):
    apart = redis_url.rsplit("/", 1)[0] + "/7"
    taken: list[str] = []

    def take(_: Any, message: Any) -> None:
        taken.append(message.headers["task"])
        message.ack()

    others = list(app.amqp.queues.consume_from.values())
    with Connection(apart, transport_options=app.conf.broker_transport_options) as connection:
        for task in (task_name(Topic.RUN), task_name(Topic.INGEST), GPU_TASK):
            app.send_task(task, args=["x"], retry=False, connection=connection)
        with connection.Consumer([GPU, *others], callbacks=[take], prefetch_count=1):
            while len(taken) < 3:
                connection.drain_events(timeout=PATIENCE_SECONDS)
    assert taken == [GPU_TASK, task_name(Topic.INGEST), task_name(Topic.RUN)]
    assert GPU.name not in app.amqp.queues.consume_from
