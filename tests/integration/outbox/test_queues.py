"""On a real broker: what waits is taken uploads first, then releases, whatever came first."""

from __future__ import annotations

from typing import Any

from kombu import Connection

from core.outbox.models import Topic
from worker.app import app
from worker.tasks import task_name


def test_uploads_go_before_releases_and_those_before_comparisons_that_came_earlier(redis_url: str):
    apart = redis_url.rsplit("/", 1)[0] + "/7"  # no other test's messages
    taken: list[str] = []

    def take(_: Any, message: Any) -> None:
        taken.append(message.headers["task"])
        message.ack()

    with Connection(apart, transport_options=app.conf.broker_transport_options) as connection:
        for topic in (Topic.EVALUATE, Topic.AUDIT, Topic.EVALUATE, Topic.RUN, Topic.INGEST, Topic.RUN):
            app.send_task(task_name(topic), args=["x"], retry=False, connection=connection)
        queues = list(app.amqp.queues.consume_from.values())
        with connection.Consumer(queues, callbacks=[take], prefetch_count=1):
            while len(taken) < 6:
                connection.drain_events(timeout=10)
    topics = (Topic.INGEST, Topic.RUN, Topic.RUN, Topic.EVALUATE, Topic.AUDIT, Topic.EVALUATE)
    assert taken == [task_name(topic) for topic in topics]
