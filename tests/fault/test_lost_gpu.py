"""A real worker of a played GPU: it holds that from its start on, idle or not, and stops once it is gone."""

from __future__ import annotations

from pathlib import Path

from core.workers import repository
from core.workflows.common.context import Services
from tests.support.faults import Processes, until


def held(services: Services) -> int:
    with services.db.transaction() as session:
        return repository.gpus_held(session)


def test_an_idle_worker_holds_its_gpu_and_stops_when_it_is_gone(
    processes: Processes, fault_services: Services, tmp_path: Path
) -> None:
    sign = tmp_path / "gone"
    worker = processes.start("tests.support.gpu_worker", str(sign), gpu="0", heartbeat_seconds=0.2)
    until(lambda: held(fault_services) == 1 or worker.poll() is not None, what="the lease on the GPU")
    assert worker.poll() is None, processes.output()
    sign.touch()
    until(lambda: held(fault_services) == 0, what="the end of the lease")
    until(lambda: worker.poll() is not None, what="the worker's end")
    assert worker.returncode == 0, processes.output()
    assert "gpu_lost" in processes.output()
