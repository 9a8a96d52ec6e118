"""Records the memory of this host's GPUs. It says for operators how full it is; nothing where there are none.

The driver is asked, not torch, which would take GPU memory to answer. A thread of its own asks: a driver that
hangs must not stop a lease's heartbeat.
"""

from __future__ import annotations

import importlib
import socket
import threading
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from core.logging import get_logger
from core.workers import repository
from core.workers.repository import GpuMemory
from core.workflows.common.context import Services

PARTS = 16
"""Used memory is recorded in sixteenths, rounded up: the exact figure can depend on private data."""

log = get_logger(__name__)


def watch(services: Services, every_seconds: float) -> threading.Event | None:
    """Record the memory of this host's GPUs in the database. It does so until the event is set.

    None, and nothing happens, where there are none.
    """
    if not readings():
        return None
    stopped = threading.Event()
    arguments = (services, stopped, every_seconds)
    threading.Thread(target=_record_repeatedly, args=arguments, name="gpus", daemon=True).start()
    return stopped


def readings() -> tuple[GpuMemory, ...]:
    """Read each GPU's memory that the driver shows. One that cannot be read, as under MIG, is left out."""
    asked = driver()
    if asked is None:
        return ()
    found = (_reading(asked, number) for number in range(_query(asked, asked.nvmlDeviceGetCount) or 0))
    return tuple(gpu for gpu in found if gpu is not None)


def tell(services: Services, gpus: Sequence[GpuMemory]) -> None:
    """Write them to the database, unless it does not answer."""
    try:
        with services.db.transaction() as session:
            repository.record(session, socket.gethostname()[:64], gpus)
    except SQLAlchemyError as error:
        log.warning("gpus_not_told", error=type(error).__name__)


def _record_repeatedly(services: Services, stopped: threading.Event, every_seconds: float) -> None:
    while True:
        tell(services, readings())
        if stopped.wait(every_seconds):
            return


def _reading(driver: ModuleType, number: int) -> GpuMemory | None:
    handle = _query(driver, driver.nvmlDeviceGetHandleByIndex, number)
    memory = None if handle is None else _query(driver, driver.nvmlDeviceGetMemoryInfo, handle)
    if memory is None or not memory.total:
        return None
    return GpuMemory(number, memory.total, _coarse(memory.used, memory.total))


def _coarse(used: int, capacity: int) -> int:
    parts = -(-used * PARTS // capacity)
    return capacity * parts // PARTS


def _query(driver: ModuleType, question: Callable[..., Any], *arguments: object) -> Any:
    try:
        return question(*arguments)
    except driver.NVMLError:
        return None


@cache
def driver() -> ModuleType | None:
    """Open NVIDIA's management library; None where there is no driver."""
    # Not above: the relay imports this module without a worker's libraries.
    library = importlib.import_module("pynvml")
    try:
        library.nvmlInit()
    except library.NVMLError:
        return None
    return library
