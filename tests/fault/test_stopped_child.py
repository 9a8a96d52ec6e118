"""What ends a child, and who pays: the job once it opened the graph, nobody before; a drain costs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import pytest

from core.errors import InvalidTransition
from core.identity.service import Principal
from core.jobs import repository
from core.jobs.models import Job
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.jobs.cancel import cancel_job
from tests.support.children import child_of, server_of
from tests.support.faults import Processes, alive, assert_sound, endings, lapse, until
from tests.support.held import ThreadWorker, thread_worker
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


def await_heartbeat(services: Services, job_id: str) -> None:
    """The job's lease has been extended."""
    before = job_row(services, job_id).lease_expires_at
    until(lambda: job_row(services, job_id).lease_expires_at != before, what="a heartbeat")


@dataclass
class Scene:
    """A job, and the process ids of its child and of the fork server; ``go_on`` waits for its worker."""

    job: Job
    server: int
    child: int
    go_on: Callable[[], bool]


@pytest.fixture(scope="module")
def worker(rescuer: WorkerProcess) -> Iterator[ThreadWorker]:
    """A worker that notices at once that it is to stop."""
    settings = rescuer.services.settings.model_copy(update={"heartbeat_seconds": 0.05})
    with thread_worker(replace(rescuer, services=replace(rescuer.services, settings=settings))) as made:
        yield made


@pytest.fixture
def held_at(
    submitted: Callable[[], Job], worker: ThreadWorker, processes: Processes, fault_services: Services
) -> Callable[[str | None], Scene]:
    """Has a job's worker held at the point; None: its child was only just started, and stands still."""

    def held(point: str | None) -> Scene:
        job = submitted()
        if point is None:
            alone = processes.start("worker.run_one", "run", job.id, failpoints="after_open:stop")
            child = child_of(alone.pid)
            os.kill(child, signal.SIGSTOP)  # else it opens the graph before a slow test does its part
            scene = Scene(job, server_of(alone.pid), child, lambda: ended(alone, child))
        else:
            work = worker.held_at(point, Topic.RUN, job.id)
            scene = Scene(job, work.server, work.child, work.let_go)
            assert has_opened(fault_services, job.id)
        assert reads(fault_services, job.id) == (1 if point == "after_read" else 0)
        return scene

    def ended(alone: subprocess.Popen[bytes], child: int) -> bool:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGCONT)
        assert alone.wait(timeout=PATIENCE_SECONDS) == 0, processes.output()
        return True

    return held


STOPS = [(None, "release"), ("after_open", "forfeit"), ("after_read", "forfeit")]


@pytest.mark.parametrize(("point", "ending"), STOPS)
def test_a_killed_child_costs_its_job_what_it_may_have_learned(
    point: str | None,
    ending: str,
    held_at: Callable[[str | None], Scene],
    fault_services: Services,
) -> None:
    scene = held_at(point)
    os.kill(scene.child, signal.SIGKILL)
    assert scene.go_on()
    row = job_row(fault_services, scene.job.id)
    assert (row.state, row.reason) == ("failed", "generator_failed")
    assert endings(fault_services, row.id) == ["reserve", ending]
    assert_sound(fault_services, row.id)


@pytest.mark.parametrize("point", [None, "after_open", "after_read"])
def test_a_killed_fork_server_loses_no_job(
    point: str | None, held_at: Callable[[str | None], Scene], fault_services: Services
) -> None:
    """It is the worker's, as the worker is: another attempt is made, and one of them is paid."""
    scene = held_at(point)
    job = scene.job
    os.kill(scene.server, signal.SIGKILL)
    assert scene.go_on()
    assert not alive(scene.child)
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
    held_at: Callable[[str | None], Scene],
    fault_services: Services,
    caller: Principal,
) -> None:
    scene = held_at(point)
    job_id = scene.job.id
    assert cancel_job(fault_services, caller, job_id).state == "cancelling"
    assert cancel_job(fault_services, caller, job_id).state == "cancelling"
    if point is not None:  # of two heartbeats the second began after the cancel; none comes in time otherwise
        for _ in range(2):
            await_heartbeat(fault_services, job_id)
    assert scene.go_on()
    assert not alive(scene.child)
    row = job_row(fault_services, job_id)
    assert (row.state, row.reason) == ("cancelled", "cancelled_by_caller")
    assert endings(fault_services, job_id) == ["reserve", ending]
    assert_sound(fault_services, job_id)


def test_a_drained_worker_hands_the_job_back_and_the_retry_reserves_anew(
    submitted: Callable[[], Job], processes: Processes, fault_services: Services
) -> None:
    job = submitted()
    worker = processes.stopped(
        "worker.run_one", "run", job.id, failpoints="after_read:stop", grace_seconds=1e-6
    )
    worker.terminate()
    worker.send_signal(signal.SIGCONT)
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
    worker = processes.stopped("worker.run_one", "run", job.id, failpoints="after_staging:stop")
    assert stored_keys(fault_services, f"staging/{job.id}")
    lapse(fault_services)
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
    [({"job_wall_seconds": 1e-6}, "time_exceeded"), ({"job_memory_bytes": 2**20}, "memory_exceeded")],
)
def test_a_child_over_its_limits_is_killed_and_only_the_reason_is_told(
    limit: dict[str, float],
    reason: str,
    submitted: Callable[[], Job],
    rescuer: WorkerProcess,
    fault_services: Services,
) -> None:
    job = submitted()
    tight = rescuer.services.settings.model_copy(update=limit)
    process = replace(rescuer, services=replace(rescuer.services, settings=tight))
    assert take(process, Topic.RUN, job.id, lambda: False)
    row = job_row(fault_services, job.id)
    assert (row.state, row.reason) == ("failed", reason)
    ending = "forfeit" if has_opened(fault_services, job.id) else "release"  # a fast one may have begun
    assert endings(fault_services, job.id) == ["reserve", ending]
    assert spent(fault_services, job)[1] == "0"
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
