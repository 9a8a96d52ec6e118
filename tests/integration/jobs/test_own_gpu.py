"""A worker's hold on its GPU, on a real database, with a played driver: one at a time, until it is gone."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import func, select, update
from structlog.testing import capture_logs

from core.identity.service import Principal
from core.methods.base import Accelerator
from core.outbox.models import Topic
from core.settings import Settings
from core.workers import repository
from core.workers.models import HeldGpu
from core.workflows.common.context import Services
from tests.support.drivers import LOST, NO_PERMISSION, UUIDS, PlayedDriver, played
from tests.support.faults import until
from tests.support.inline import children_inline
from tests.support.logged import events
from tests.support.methods import answering
from tests.support.patience import PATIENCE_SECONDS
from tests.support.releases import job_row, queued_job, ready_dataset, spent, violations
from worker import own_gpu, preflight
from worker.limits import child_environment
from worker.own_gpu import OwnGpu
from worker.process import WorkerProcess, open_process
from worker.supervisor import Ending
from worker.work import take_turn

pytestmark = pytest.mark.extras


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> PlayedDriver:
    return played(monkeypatch)


@pytest.fixture
def told(settings: Settings) -> Settings:
    """The settings of a worker that is told of the first GPU."""
    return settings.model_copy(
        update={"gpu": "0", "heartbeat_seconds": 0.05, "lease_seconds": PATIENCE_SECONDS}
    )


@pytest.fixture
def started(told: Settings, driver: PlayedDriver) -> Callable[..., WorkerProcess]:
    """Starts a worker's process; each ends with the test."""
    return lambda **other: open_process(told.model_copy(update=other))


def held(services: Services) -> dict[str, str]:
    with services.db.transaction() as session:
        return {row.uuid: row.worker for row in session.scalars(select(HeldGpu))}


def test_a_gpu_is_named_by_its_number_or_as_the_driver_names_it(told: Settings, driver: PlayedDriver) -> None:
    second = own_gpu.find(told.model_copy(update={"gpu": "1"}))
    assert (second.uuid, second.files[-1]) == (UUIDS[1], "/dev/nvidia5")
    assert own_gpu.find(told.model_copy(update={"gpu": UUIDS[1]})) == second


@pytest.mark.parametrize("gpu", ["2", "GPU-00000000-0000-0000-0000-000000000009"])
def test_a_worker_that_is_told_of_a_gpu_which_is_not_there_does_not_start(
    told: Settings, driver: PlayedDriver, gpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with capture_logs() as logs:
        assert not preflight.may_hold_gpu(told.model_copy(update={"gpu": gpu}))
        monkeypatch.setattr("worker.gpus.driver", lambda: None)
        assert not preflight.may_hold_gpu(told)
    assert events(logs, "worker.preflight") == ["not_started"] * 2


def test_a_driver_that_torch_cannot_use_starts_no_worker(told: Settings, driver: PlayedDriver) -> None:
    """This machine's torch sees no GPU, whatever the driver says."""
    with capture_logs() as logs:
        assert not preflight.may_hold_gpu(told)
    assert any("torch sees no GPU" in line.get("message", "") for line in logs)


@pytest.mark.parametrize(("tried", "seen"), [("SOCK_SEQPACKET", True), ("SOCK_STREAM", False)])
def test_what_a_driver_may_not_do_in_a_child_shows_before_a_worker_starts(
    told: Settings,
    driver: PlayedDriver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tried: str,
    seen: bool,
) -> None:
    """The module plays torch, and a driver that opens such a socket when it starts."""
    module = f"""
    import socket
    socket.socket(socket.AF_UNIX, socket.{tried})
    class ones:
        def __init__(self, count, device): pass
        def sum(self): return self
        def item(self): pass
    """
    (tmp_path / "torch.py").write_text(textwrap.dedent(module))
    environment = child_environment()
    path = f"{tmp_path}:{environment['PYTHONPATH']}"
    monkeypatch.setattr(preflight, "child_environment", lambda: environment | {"PYTHONPATH": path})
    assert preflight._torch_sees(own_gpu.find(told), tmp_path) is seen


def test_of_two_workers_on_one_machine_the_second_is_refused_until_the_first_is_gone(
    services: Services, told: Settings, started: Callable[..., WorkerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "_torch_sees", lambda *_: True)
    first = started()
    assert first.own_gpu is not None
    assert held(services) == {UUIDS[0]: first.name}
    hurried = told.model_copy(update={"lease_seconds": 0.01})
    with capture_logs() as logs:
        assert not preflight.may_hold_gpu(hurried)
        second = started(heartbeat_seconds=60.0)
    assert set(events(logs, "worker.preflight")) == {"not_started"}
    assert second.own_gpu is not None
    assert second.own_gpu.gpu is None
    first.own_gpu.let_go()
    second.own_gpu.look()
    assert second.own_gpu.gpu is not None
    assert held(services) == {UUIDS[0]: second.name}
    second.own_gpu.let_go()
    assert preflight.may_hold_gpu(told)
    assert held(services) == {}


def test_of_two_workers_that_share_no_folder_the_lease_refuses_the_second(
    services: Services, started: Callable[..., WorkerProcess], tmp_path: Path
) -> None:
    first, second = started(), started(work_folder=tmp_path / "elsewhere", heartbeat_seconds=60.0)
    assert first.own_gpu is not None
    assert second.own_gpu is not None
    assert second.own_gpu.gpu is None
    assert held(services) == {UUIDS[0]: first.name}
    first.own_gpu._stopped.set()  # as if it were killed: nobody lets go

    def taken_over() -> bool:
        """What the first was just about to extend is over in the end."""
        with services.db.transaction() as session:
            session.execute(update(HeldGpu).values(lease_expires_at=func.now()))
        second.own_gpu.look()
        return held(services) == {UUIDS[0]: second.name}

    until(taken_over, what="the second's turn")


def test_a_lease_that_a_dead_process_of_this_machine_left_is_taken_over_at_once(
    services: Services, started: Callable[..., WorkerProcess]
) -> None:
    killed = started()
    assert killed.own_gpu is not None
    killed.own_gpu._stopped.set()
    handle = killed.own_gpu._handle
    assert handle is not None
    own_gpu.os.close(handle)  # its kernel did
    successor = started()
    assert successor.own_gpu is not None
    assert held(services) == {UUIDS[0]: successor.name}


def test_a_gpu_that_is_gone_is_let_go_for_good_and_a_driver_that_refuses_is_no_sign_of_that(
    services: Services, started: Callable[..., WorkerProcess], driver: PlayedDriver
) -> None:
    process, told_once = started(heartbeat_seconds=60.0), []
    watched = process.own_gpu
    assert watched is not None
    watched.when_lost = lambda: told_once.append(True)
    driver.refusals[UUIDS[0]] = NO_PERMISSION
    watched.look()
    assert watched.gpu is not None
    driver.refusals[UUIDS[0]] = LOST
    assert watched.seen_gone()
    watched.look()
    driver.refusals.clear()
    watched.look()
    assert (watched.gpu, watched.lost, told_once) == (None, True, [True])
    assert held(services) == {}


def test_a_job_whose_gpu_vanishes_waits_for_another_and_is_charged_once(
    services: Services,
    principal: Principal,
    settings: Settings,
    started: Callable[..., WorkerProcess],
    driver: PlayedDriver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The child fails at once; that its GPU is gone is what the supervisor's own question finds."""
    answering(monkeypatch, "psgraph", accelerator=lambda *_: Accelerator.USEFUL)
    dataset, process = ready_dataset(services, principal), started(heartbeat_seconds=60.0)
    job = queued_job(services, principal, dataset.id, method="psgraph")
    given: list[OwnGpu | None] = []

    def vanishes(kind: str, folder: Path, settings: Settings, *rest: object) -> Ending:
        own = rest[-1]
        assert isinstance(own, OwnGpu)
        given.append(own)
        rest[1].opening()  # type: ignore[attr-defined]
        driver.refusals[UUIDS[0]] = LOST
        return Ending.LOST if own.seen_gone() else Ending.FAILED

    with monkeypatch.context() as patched:
        patched.setattr("worker.kinds.release.supervise", vanishes)
        assert take_turn(process, Topic.RUN, lambda: False, gpu_only=True)
    assert given == [process.own_gpu]
    row = job_row(services, job.id)
    assert (row.state, row.gpu_only, row.attempt) == ("queued", True, 1)
    assert spent(services, row) == ("0", "1")
    assert not take_turn(process, Topic.RUN, lambda: False, gpu_only=True)
    with services.db.transaction() as session:
        assert repository.gpus_held(session) == 0
    driver.refusals.clear()
    other = started(heartbeat_seconds=60.0)
    with services.db.transaction() as session:  # the pause before another attempt is over
        session.connection().exec_driver_sql("UPDATE outbox SET not_before = now()")
    with children_inline():
        assert take_turn(other, Topic.RUN, lambda: False, gpu_only=True)
    assert job_row(services, job.id).state == "published"
    assert spent(services, row) == ("1", "0")
    assert violations(services) == []
