"""What ends a child, and who pays: the job once it opened the graph, nobody before; a drain costs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest

from core.errors import InvalidTransition
from core.identity.service import Principal
from core.jobs import repository
from core.jobs.models import Job
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.jobs.cancel import cancel_job
from tests.support.children import child_of, server_of
from tests.support.faults import Processes, alive, assert_sound, endings, lease_over, until
from tests.support.inline import taken
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import job_row, spent, stored_keys
from worker.process import WorkerProcess
from worker.reaper import reap_once
from worker.work import take


def has_opened(services: Services, job_id: str) -> bool:
    return job_row(services, job_id).first_read_at is not None


def reads(services: Services, job_id: str) -> int:
    with services.db.transaction() as session:
        return len(repository.reads(session, job_id, attempt=1))


def held_at(
    point: str | None, submitted: Callable[[], Job], processes: Processes, services: Services
) -> tuple[Job, subprocess.Popen[bytes], int]:
    """A job, its worker and its child, which waits at the point; None: which was only just started."""
    job = submitted()
    worker = processes.start("worker.run_one", "run", job.id, failpoints=f"{point or 'after_open'}:pause=1")
    child = child_of(worker.pid)
    if point is not None:
        until(lambda: has_opened(services, job.id), what="the opening of the graph")
    if point == "after_read":
        until(lambda: reads(services, job.id), what="the first read")
    assert reads(services, job.id) == (1 if point == "after_read" else 0)
    return job, worker, child


STOPS = [(None, "release"), ("after_open", "forfeit"), ("after_read", "forfeit")]


@pytest.mark.parametrize(("point", "ending"), STOPS)
def test_a_killed_child_costs_its_job_what_it_may_have_learned(
    point: str | None,
    ending: str,
    submitted: Callable[[], Job],
    processes: Processes,
    fault_services: Services,
) -> None:
    job, worker, child = held_at(point, submitted, processes, fault_services)
    os.kill(child, signal.SIGKILL)
    assert worker.wait(timeout=PATIENCE_SECONDS) == 0, processes.output()
    row = job_row(fault_services, job.id)
    assert (row.state, row.reason) == ("failed", "generator_failed")
    assert endings(fault_services, job.id) == ["reserve", ending]
    assert_sound(fault_services, job.id)


@pytest.mark.parametrize("point", [None, "after_open", "after_read"])
def test_a_killed_fork_server_loses_no_job(
    point: str | None, submitted: Callable[[], Job], processes: Processes, fault_services: Services
) -> None:
    """It is the worker's, as the worker is: another attempt is made, and one of them is paid."""
    job, worker, child = held_at(point, submitted, processes, fault_services)
    os.kill(server_of(worker.pid), signal.SIGKILL)
    assert worker.wait(timeout=PATIENCE_SECONDS) == 0, processes.output()
    assert not alive(child)
    if job_row(fault_services, job.id).state != "published":  # the child was told of before its server died
        assert job_row(fault_services, job.id).state == "queued"
        assert taken(fault_services.settings, Topic.RUN, job.id)
    assert job_row(fault_services, job.id).state == "published"
    anew = ["release", "reserve"] * (point is not None)
    assert endings(fault_services, job.id) in (
        ["reserve", *anew, "charge"],
        ["reserve", "release", "reserve", "charge"],
    )
    assert_sound(fault_services, job.id)


@pytest.mark.parametrize(("point", "ending"), STOPS)
def test_a_cancelled_job_pays_once_it_opened_the_graph(
    point: str | None,
    ending: str,
    submitted: Callable[[], Job],
    processes: Processes,
    fault_services: Services,
    caller: Principal,
) -> None:
    job, worker, child = held_at(point, submitted, processes, fault_services)
    assert cancel_job(fault_services, caller, job.id).state == "cancelling"
    assert cancel_job(fault_services, caller, job.id).state == "cancelling"
    assert worker.wait(timeout=PATIENCE_SECONDS) == 0, processes.output()
    assert not alive(child)
    row = job_row(fault_services, job.id)
    assert (row.state, row.reason) == ("cancelled", "cancelled_by_caller")
    assert endings(fault_services, job.id) == ["reserve", ending]
    assert_sound(fault_services, job.id)


def test_a_drained_worker_hands_the_job_back_and_the_retry_reserves_anew(
    submitted: Callable[[], Job], processes: Processes, fault_services: Services
) -> None:
    job = submitted()
    worker = processes.start(
        "worker.run_one", "run", job.id, failpoints="after_read:pause=0.5", grace_seconds=0.05
    )
    until(lambda: has_opened(fault_services, job.id), what="the opening of the graph")
    worker.terminate()
    assert worker.wait(timeout=PATIENCE_SECONDS) == 0, processes.output()
    row = job_row(fault_services, job.id)
    assert (row.state, row.reason, row.first_read_at) == ("queued", None, None)
    assert endings(fault_services, job.id) == ["reserve", "release", "reserve"]
    assert taken(fault_services.settings, Topic.RUN, job.id)
    assert job_row(fault_services, job.id).state == "published"
    assert_sound(fault_services, job.id)


def test_a_paused_worker_that_wakes_after_its_lease_changes_nothing(
    submitted: Callable[[], Job], processes: Processes, fault_services: Services
) -> None:
    job = submitted()
    worker = processes.start(
        "worker.run_one", "run", job.id, failpoints="after_staging:pause=1", lease_seconds=1.5
    )
    until(lambda: stored_keys(fault_services, f"staging/{job.id}"), what="the staging")
    os.kill(worker.pid, signal.SIGSTOP)
    until(lambda: lease_over(fault_services, job.id), what="the end of the lease")
    reap_once(fault_services)
    assert taken(fault_services.settings, Topic.RUN, job.id)
    before = (job_row(fault_services, job.id), endings(fault_services, job.id))
    assert before[0].state == "published"

    os.kill(worker.pid, signal.SIGCONT)
    assert worker.wait(timeout=PATIENCE_SECONDS) == 0, processes.output()
    after = job_row(fault_services, job.id)
    assert (after.state, after.attempt, after.finished_at) == ("published", 2, before[0].finished_at)
    assert endings(fault_services, job.id) == before[1] == ["reserve", "release", "reserve", "charge"]
    reap_once(fault_services)
    assert stored_keys(fault_services, f"staging/{job.id}") == []
    assert_sound(fault_services, job.id)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [({"job_wall_seconds": 0.2}, "time_exceeded"), ({"job_memory_bytes": 2**20}, "memory_exceeded")],
)
def test_a_child_over_its_limits_is_killed_and_only_the_reason_is_told(
    limit: dict[str, float],
    reason: str,
    submitted: Callable[[], Job],
    rescuer: WorkerProcess,
    fault_services: Services,
) -> None:
    job = submitted()
    before = spent(fault_services, job)[0]
    tight = rescuer.services.settings.model_copy(update=limit)
    process = replace(rescuer, services=replace(rescuer.services, settings=tight))
    assert take(process, Topic.RUN, job.id, lambda: False)
    row = job_row(fault_services, job.id)
    assert (row.state, row.reason) == ("failed", reason)
    assert spent(fault_services, job) == (before, "0")
    assert list(rescuer.folder.glob("release-*")) == []
    assert_sound(fault_services, job.id)


def test_a_published_job_can_no_longer_be_cancelled(
    submitted: Callable[[], Job], rescuer: WorkerProcess, fault_services: Services, caller: Principal
) -> None:
    job = submitted()
    assert take(rescuer, Topic.RUN, job.id, lambda: False)
    with pytest.raises(InvalidTransition):
        cancel_job(fault_services, caller, job.id)


def test_a_worker_that_stops_claims_nothing(
    submitted: Callable[[], Job], rescuer: WorkerProcess, fault_services: Services
) -> None:
    job = submitted()
    assert not take(rescuer, Topic.RUN, job.id, lambda: True)
    assert job_row(fault_services, job.id).state == "queued"
