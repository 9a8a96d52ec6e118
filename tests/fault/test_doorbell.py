"""The whole chain on real processes: outbox, relay, Redis, Celery, child, reaper; and a relay that dies."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
import redis

from core.datasets.models import DatasetVersion, VersionState
from core.identity.service import Principal
from core.jobs.models import Job
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.jobs.cancel import cancel_job
from core.workflows.releases import queries as release_queries
from deploy.local.processes import COMMANDS
from tests.support.children import child_of, server_of
from tests.support.faults import Processes, alive, assert_sound, endings, until
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import SCHEMA, job_row
from tests.support.world import put_edges
from worker.app import app as celery_app

WORKER = (
    *("celery", "-A", "worker.app", "worker", "--concurrency", "1", "--pool", "prefork"),
    *("--loglevel", "WARNING", "--without-gossip", "--without-mingle"),
)


@pytest.fixture
def broker(redis_url: str) -> redis.Redis:
    """An empty broker."""
    client = redis.Redis.from_url(redis_url)
    client.flushall()
    return client


def waiting(broker: redis.Redis) -> int:
    """How many messages no worker has taken yet."""
    return broker.llen(celery_app.conf.task_default_queue)


def test_a_relay_that_dies_between_sending_and_marking_sends_twice_and_the_job_runs_once(
    submitted: Callable[[], Job],
    processes: Processes,
    broker: redis.Redis,
    fault_services: Services,
    fault_settings: Settings,
    caller: Principal,
) -> None:
    job = submitted()
    victim = processes.start("worker.relay", failpoints="before_mark_sent")
    assert victim.wait(timeout=PATIENCE_SECONDS) == -signal.SIGKILL, processes.output()
    sent_once = waiting(broker)
    assert sent_once >= 1

    relay = processes.start("worker.relay")
    until(lambda: waiting(broker) >= 2 * sent_once, what="the second sending")
    worker = processes.start(*WORKER, grace_seconds=1)
    reaper = processes.start("worker.reaper", reaper_poll_seconds=0.2)
    other = processes.start("worker.reaper", reaper_poll_seconds=0.2)
    until(lambda: job_row(fault_services, job.id).state == "published", what="the publication")
    until(
        lambda: release_queries.get_report(fault_services, caller, job.id)["curator"]["status"] == "done",
        what="the evaluation",
    )
    assert job_row(fault_services, job.id).attempt == 1
    assert endings(fault_services, job.id) == ["reserve", "charge"]

    busy = submitted()
    until(lambda: job_row(fault_services, busy.id).state != "queued", what="the next claim")
    until(lambda: processes.output().count("reaper_started") == 2, what="both reapers, which can be told")
    for process in (relay, reaper, other, worker):
        process.terminate()
    for process in (relay, reaper, other, worker):
        assert process.wait(timeout=PATIENCE_SECONDS) == 0, processes.output()
    assert job_row(fault_services, busy.id).state in ("queued", "published")
    assert "Traceback" not in processes.output()
    assert_sound(fault_services, job.id)
    if job_row(fault_services, busy.id).state == "queued":  # the next test's worker would take it first
        cancel_job(fault_services, caller, busy.id)


def test_an_upload_is_validated_while_the_only_worker_is_at_a_long_job(
    submitted: Callable[[], Job],
    processes: Processes,
    broker: redis.Redis,
    fault_services: Services,
    caller: Principal,
) -> None:
    processes.start("worker.relay")
    processes.start(*WORKER, failpoints="after_read:stop")
    job = submitted()
    until(lambda: job_row(fault_services, job.id).first_read_at is not None, what="the job's first read")
    processes.start(*COMMANDS["validator"][2:])
    declared = NewDataset(name="meanwhile", unit="edge", epsilon="1", graph_schema=SCHEMA)
    uploaded = put_edges(fault_services, register_dataset(fault_services, caller, declared).id)

    def state() -> str:
        with fault_services.db.transaction() as session:
            return session.get_one(DatasetVersion, uploaded.id).state

    until(lambda: state() == VersionState.READY, what="the validation")
    assert job_row(fault_services, job.id).state == "running"


def test_a_killed_worker_takes_its_child_with_it(
    submitted: Callable[[], Job], processes: Processes, fault_services: Services
) -> None:
    job = submitted()
    worker = processes.stopped("worker.run_one", "run", job.id, failpoints="after_read:stop")
    child, server = child_of(worker.pid), server_of(worker.pid)
    worker.kill()
    worker.wait(timeout=PATIENCE_SECONDS)
    until(lambda: not alive(child), what="the end of the child")
    until(lambda: not alive(server), what="the end of the fork server")
