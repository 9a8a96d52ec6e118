"""A ready dataset that the tests of one module share, and processes to be killed on it."""

from __future__ import annotations

import itertools
import secrets
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from core.datasets.models import Dataset
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.models import Job
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from tests.support import victims
from tests.support.faults import FORKED, Kill, Processes
from tests.support.patience import PATIENCE_SECONDS
from tests.support.postgres import PostgresCluster
from tests.support.releases import queued_job, ready_dataset
from worker.process import WorkerProcess, open_process


@pytest.fixture(scope="module")
def fault_settings(
    postgres_cluster: PostgresCluster, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """A service of the module's own, patient as in production."""
    folder = tmp_path_factory.mktemp("fault")
    name = postgres_cluster.create()
    yield Settings(
        database_url=postgres_cluster.address(name),
        redis_url=redis_url,
        storage_url=(folder / "objects").as_uri(),
        master_key=secrets.token_hex(32),
        fingerprint_key=secrets.token_hex(32),
        work_folder=folder / "work",
    )
    postgres_cluster.drop(name)


@pytest.fixture(scope="module")
def fault_services(fault_settings: Settings) -> Iterator[Services]:
    opened = open_services(fault_settings)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def caller() -> Principal:
    return Principal("acme", "key_test", "test", frozenset({Role.CURATOR, Role.REQUESTER}))


@pytest.fixture(scope="module")
def shared_dataset(fault_services: Services, caller: Principal) -> Dataset:
    """Budget for more jobs than the module has."""
    return ready_dataset(fault_services, caller, epsilon="1000")


@pytest.fixture(scope="module")
def rescuer(fault_settings: Settings) -> Iterator[WorkerProcess]:
    """A worker that nothing happens to, in this process."""
    process = open_process(fault_settings)
    yield process
    process.services.close()


@pytest.fixture
def submitted(
    fault_services: Services, caller: Principal, shared_dataset: Dataset, request: pytest.FixtureRequest
) -> Callable[[], Job]:
    """Queues a fresh job of epsilon 1."""
    numbers = itertools.count()

    def submit() -> Job:
        key = f"{request.node.nodeid}/{next(numbers)}".encode().hex()[-200:]
        return queued_job(fault_services, caller, shared_dataset.id, key)

    return submit


@pytest.fixture
def killed(fault_settings: Settings, processes: Processes, request: pytest.FixtureRequest) -> Kill:
    """Kills a worker at a point of the work that it took; a forked one, unless a test's parameters differ."""
    if getattr(request, "param", FORKED) == FORKED:
        return partial(victims.die, fault_settings)

    def kill(topic: Topic, subject_id: str, point: str) -> None:
        victim = processes.start("worker.run_one", topic, subject_id, failpoints=point)
        assert victim.wait(timeout=PATIENCE_SECONDS) == -signal.SIGKILL, processes.output()

    return kill


@pytest.fixture
def processes(fault_settings: Settings, tmp_path: Path) -> Iterator[Processes]:
    """Starts worker processes that look after their work often; a busy machine takes no lease from them."""
    watchful = fault_settings.model_copy(
        update={"lease_seconds": PATIENCE_SECONDS, "heartbeat_seconds": 0.3, "sample_seconds": 0.1}
    )
    started = Processes(watchful, tmp_path)
    yield started
    started.stop()
