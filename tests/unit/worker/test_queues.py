"""Uploads, releases, their shards, and what looks at releases afterwards: a queue each, in that order."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from core.outbox.models import Topic
from core.workflows.jobs import abilities
from core.workflows.jobs.turns import DESKS
from deploy.local.processes import COMMANDS
from worker.app import CHECKS, GPU, GPU_TASK, SHARDS, UPLOADS, WORK, app, queue_of, task_name


@pytest.mark.parametrize(
    ("topic", "queue"),
    [
        (Topic.RUN, WORK),
        (Topic.SHARD, SHARDS),
        (Topic.INGEST, UPLOADS),
        (Topic.LINKS, UPLOADS),
        (Topic.EVALUATE, CHECKS),
        (Topic.AUDIT, CHECKS),
    ],
)
def test_every_topic_has_its_queue(topic: Topic, queue: str):
    assert set(Topic) == {Topic.RUN, Topic.SHARD, Topic.INGEST, Topic.LINKS, Topic.EVALUATE, Topic.AUDIT}
    assert app.amqp.router.route({}, task_name(topic))["queue"].name == queue


def test_a_job_that_waits_for_a_gpu_has_a_queue_that_no_other_worker_serves():
    assert app.amqp.router.route({}, GPU_TASK)["queue"] is GPU
    assert GPU not in app.conf.task_queues
    script = "from worker.app import app; print(*app.amqp.queues.consume_from)"
    told = {**os.environ, "GRAPHVEIL_GPU": "0"}
    served = subprocess.run(
        [sys.executable, "-c", script], env=told, capture_output=True, text=True, check=True
    )
    assert served.stdout.split() == [GPU.name, UPLOADS, WORK, SHARDS, CHECKS]


def test_a_worker_serves_all_and_uploads_first():
    assert [queue.name for queue in app.conf.task_queues] == [UPLOADS, WORK, SHARDS, CHECKS]
    assert app.conf.broker_transport_options["queue_order_strategy"] == "priority"


def test_uploads_have_a_process_that_no_job_holds_up():
    assert COMMANDS["validator"] == (*COMMANDS["worker"], "-Q", UPLOADS)


def test_topics_share_a_desk_where_they_share_a_queue():
    """A message has its worker take what is next at the desk: that must wait in the queue that it serves."""
    queues = {
        UPLOADS: DESKS["uploads"],
        SHARDS: DESKS["shards"],
        CHECKS: DESKS["checks"],
        WORK: {Topic.RUN: None},
    }
    for queue, topics in queues.items():
        assert {app.amqp.router.route({}, task_name(topic))["queue"].name for topic in topics} == {queue}
    assert {topic for topics in queues.values() for topic in topics} == set(Topic)


def served(script: str) -> set[str]:
    """The queues of a worker that is started without -Q, in a process that begins with the script."""
    script += "\nfrom worker.app import app; app.Worker(); print(*app.amqp.queues.consume_from)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ran.stdout.split())


@pytest.mark.faults
def test_a_worker_serves_the_queues_of_what_it_can_do_beyond_others():
    every = {UPLOADS, WORK, SHARDS, CHECKS}
    found = served("")
    assert found == every | {queue_of(each).name for each in abilities.beyond()}
    assert queue_of("thepuff").name in found


@pytest.mark.faults
def test_a_worker_without_libraries_for_learning_serves_the_common_queues_alone():
    light = "from tests.support import absent; absent.remove(*absent.LEARNING)"
    assert served(light) == {UPLOADS, WORK, SHARDS, CHECKS}
