"""The memory of GPUs, from a driver that is played to the exporter's metrics; this machine may have none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import func, select, text, update
from structlog.testing import capture_logs

from core.db.session import Database
from core.workers.models import WorkerGpu
from core.workers.repository import GpuMemory
from core.workflows.common.context import Services
from tests.support.logged import events
from tests.support.patience import PATIENCE_SECONDS
from worker import gpus
from worker.exporter import GaugeCollector, Readings

GIB = 2**30


class Refused(Exception):
    """The driver does not answer."""


class Driver:
    """Four GPUs: two that answer, one that may not be asked, one that is gone."""

    NVMLError = Refused
    used = (5 * GIB, 0)

    def nvmlDeviceGetCount(self) -> int:
        return 4

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:
        if number == 3:
            raise Refused("GPU is lost")
        return number

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        if handle == 2:
            raise Refused("no permission")
        return SimpleNamespace(total=80 * GIB, used=self.used[handle])


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    played = Driver()
    monkeypatch.setattr(gpus, "driver", lambda: played)
    monkeypatch.setattr(gpus.socket, "gethostname", lambda: "host-a")
    return played


def exported(services: Services) -> dict[tuple[str, str, str], float]:
    """What a scrape has of GPUs, in GiB: by figure, host and number."""
    registry = CollectorRegistry()
    GaugeCollector(Readings(services), registry)
    found = [sample for family in registry.collect() for sample in family.samples]
    return {
        (sample.name.split("_")[-2], sample.labels["worker"], sample.labels["gpu"]): sample.value / GIB
        for sample in found
        if sample.name.startswith("graphveil_worker_gpu")
    }


def test_what_is_in_use_is_told_in_sixteenths_rounded_up(driver: Driver) -> None:
    assert gpus.readings() == (GpuMemory(0, 80 * GIB, 5 * GIB), GpuMemory(1, 80 * GIB, 0))
    driver.used = (5 * GIB + 1, 80 * GIB)
    assert gpus.readings() == (GpuMemory(0, 80 * GIB, 10 * GIB), GpuMemory(1, 80 * GIB, 80 * GIB))


def test_a_host_tells_and_the_exporter_shows_it_for_a_lease(services: Services, driver: Driver) -> None:
    assert exported(services) == {}
    gpus.tell(services, gpus.readings())
    driver.used = (21 * GIB, 1)
    gpus.tell(services, gpus.readings())
    assert exported(services) == {
        ("capacity", "host-a", "0"): 80,
        ("capacity", "host-a", "1"): 80,
        ("used", "host-a", "0"): 25,
        ("used", "host-a", "1"): 5,
    }
    with services.db.transaction() as session:
        session.execute(update(WorkerGpu).values(read_at=func.now() - text("interval '91 seconds'")))
    assert exported(services) == {}
    with services.db.transaction() as session:
        session.execute(update(WorkerGpu).values(read_at=func.now() - text("interval '25 hours'")))
        gpus.repository.record(session, "host-b", [GpuMemory(0, GIB, 0)])
        assert session.scalars(select(WorkerGpu.host)).all() == ["host-b"]


def test_a_worker_goes_on_telling(services: Services, driver: Driver) -> None:
    stop = gpus.watch(services, 0.05)
    assert stop is not None
    deadline = time.monotonic() + PATIENCE_SECONDS
    while exported(services).get(("used", "host-a", "0")) != 5:
        assert time.monotonic() < deadline
    driver.used = (79 * GIB, 0)
    while exported(services)[("used", "host-a", "0")] != 80:
        assert time.monotonic() < deadline
    stop.set()


def test_without_a_driver_nothing_is_done(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "driver", lambda: None)
    assert gpus.readings() == ()
    assert gpus.watch(services, 0.05) is None


@pytest.fixture
def fresh() -> Iterator[None]:
    gpus.driver.cache_clear()
    yield
    gpus.driver.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_the_library_says_where_there_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    import pynvml

    def missing() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", missing)
    assert gpus.readings() == ()


def test_a_database_that_is_away_is_named_and_no_more(driver: Driver) -> None:
    away = SimpleNamespace(db=Database("postgresql+psycopg://nobody@127.0.0.1:1/none"))
    with capture_logs() as logs:
        gpus.tell(away, gpus.readings())  # type: ignore[arg-type]
    assert events(logs, "worker.gpus") == ["gpus_not_told"]
