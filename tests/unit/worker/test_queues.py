"""What callers wait for stands in another queue than what looks at releases afterwards, and goes first."""

from __future__ import annotations

import pytest

from core.outbox.models import Topic
from worker.app import CHECKS, WORK, app
from worker.tasks import task_name


@pytest.mark.parametrize(
    ("topic", "queue"),
    [
        (Topic.RUN, WORK),
        (Topic.INGEST, WORK),
        (Topic.LINKS, WORK),
        (Topic.EVALUATE, CHECKS),
        (Topic.AUDIT, CHECKS),
    ],
)
def test_every_topic_has_its_queue(topic: Topic, queue: str):
    assert set(Topic) == {Topic.RUN, Topic.INGEST, Topic.LINKS, Topic.EVALUATE, Topic.AUDIT}
    assert app.amqp.router.route({}, task_name(topic))["queue"].name == queue


def test_a_worker_serves_both_and_releases_first():
    assert [queue.name for queue in app.conf.task_queues] == [WORK, CHECKS]
    assert app.conf.broker_transport_options["queue_order_strategy"] == "priority"
