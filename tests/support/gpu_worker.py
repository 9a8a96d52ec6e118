"""``python -m tests.support.gpu_worker FILE``: a worker of a played GPU, gone once the file is there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from celery import signals

from tests.support.drivers import LOST, PlayedDriver, Refused
from worker import app, gpus


class Vanishing(PlayedDriver):
    """Its GPUs are lost from the moment that the file is there."""

    def __init__(self, sign: Path) -> None:
        super().__init__()
        self.sign = sign

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        if self.sign.exists():
            raise Refused(LOST)
        return super().nvmlDeviceGetMemoryInfo(handle)


def main() -> None:
    driver = Vanishing(Path(sys.argv[1]))
    gpus.driver = lambda: driver  # type: ignore[assignment]  # pool processes are forks of this one
    signals.worker_init.disconnect(app._start_only_with_a_whole_ledger)  # its preflight asks the true driver
    options = ("--concurrency", "1", "--pool", "prefork", "--without-gossip", "--without-mingle")
    app.app.worker_main(["worker", *options])


if __name__ == "__main__":
    main()
