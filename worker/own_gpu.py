"""The GPU that this worker's jobs compute on. Its driver names it; it is held by one worker at a time,
watched.

Two locks say that nobody else has it: a file in the work folder, for workers of one machine that share it,
and a lease in the database, for all. The lease is also how everybody knows that a worker has a GPU.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from core.errors import InvalidInput
from core.logging import get_logger
from core.settings import Settings
from core.workers import repository
from core.workflows.common.context import Services
from worker import gpus

GONE = frozenset({6, 9, 15})
"""What NVIDIA's driver answers of a GPU that is not there: not found, driver not loaded, GPU is lost."""
ANSWER_SECONDS = 5.0

log = get_logger(__name__)


@dataclass(frozen=True)
class Gpu:
    """One GPU, as a child is given it. ``uuid`` is as the driver names it, ``files`` are those by which it is
    reached."""

    uuid: str
    files: tuple[str, ...]
    memory_fraction: float


def find(settings: Settings) -> Gpu:
    """Find the GPU that the settings name. InvalidInput where the driver shows no such one.

    Its files are what NVIDIA's driver opens: the control device, unified memory, and the one GPU's own.
    """
    named, driver = settings.gpu, gpus.driver()
    if driver is None:
        raise InvalidInput("GRAPHVEIL_GPU names a GPU, and this machine has no driver of NVIDIA", field="gpu")
    ask, name = (
        (driver.nvmlDeviceGetHandleByIndex, int(named))
        if named.isdigit()
        else (driver.nvmlDeviceGetHandleByUUID, named)
    )
    try:
        handle = ask(name)
        uuid, minor = driver.nvmlDeviceGetUUID(handle), driver.nvmlDeviceGetMinorNumber(handle)
    except driver.NVMLError as error:
        raise InvalidInput(f"the driver shows no GPU {named}: {error}", field="gpu") from error
    shared = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
    return Gpu(str(uuid), (*shared, f"/dev/nvidia{minor}"), settings.gpu_memory_fraction)


def gone(gpu: Gpu) -> bool:
    """Ask the driver whether the GPU is gone. False where it does not say so, or does not answer in time."""
    answers: list[bool] = []

    def ask() -> None:
        answers.append(_gone(gpu))

    asking = threading.Thread(target=ask, name="gpu-asked", daemon=True)  # a driver may hang
    asking.start()
    asking.join(ANSWER_SECONDS)
    return answers == [True]


def _gone(gpu: Gpu) -> bool:
    driver: Any = gpus.driver()
    if driver is None:
        return True
    try:
        driver.nvmlDeviceGetMemoryInfo(driver.nvmlDeviceGetHandleByUUID(gpu.uuid))
    except driver.NVMLError as error:
        return getattr(error, "value", None) in GONE
    return False


class OwnGpu:
    """This process's hold on the GPU. A thread keeps it from :meth:`begin` until :meth:`let_go`.

    ``gpu`` is None while another worker holds it, and for good once it is gone; ``lost`` says the latter, and
    ``when_lost`` is called then, once.
    """

    def __init__(self, services: Services, gpu: Gpu, worker: str, locks: Path) -> None:
        self._services, self._gpu, self._worker = services, gpu, worker
        self._lock = locks / f"gpu-{gpu.uuid}.lock"
        self._handle: int | None = None
        self._held = False
        self._lost, self._stopped = threading.Event(), threading.Event()
        self.when_lost: Callable[[], None] = lambda: None

    @property
    def gpu(self) -> Gpu | None:
        return self._gpu if self._held and not self.lost else None

    @property
    def lost(self) -> bool:
        return self._lost.is_set()

    def begin(self) -> None:
        """Hold the GPU if it is free, and go on trying."""
        self.look()
        threading.Thread(target=self._keep, name="own-gpu", daemon=True).start()

    def look(self) -> None:
        """Renew the lease, or learn why not. It does nothing once the GPU is gone."""
        if self.lost:
            return
        if gone(self._gpu):
            self.lose()
            return
        try:
            held = self._locked() and self._leased()
        except SQLAlchemyError as error:  # the lease runs out, or is renewed the next time
            log.warning("gpu_not_told", error=type(error).__name__)
            return
        if held != self._held:
            (log.info if held else log.error)("gpu_held" if held else "gpu_taken", gpu=self._gpu.uuid)
        self._held = held

    def seen_gone(self) -> bool:
        """Ask whether the GPU is gone, now."""
        if not self.lost and gone(self._gpu):
            self.lose()
        return self.lost

    def lose(self) -> None:
        """Record that the GPU is gone. This worker claims nothing for it any more."""
        if self.lost:
            return
        self._lost.set()
        log.error("gpu_lost", gpu=self._gpu.uuid)
        self.let_go()
        self.when_lost()

    def let_go(self) -> None:
        """Let others hold the GPU. What the database cannot be notified of runs out there."""
        self._stopped.set()
        held, self._held = self._held, False
        try:
            if held:
                with self._services.db.transaction() as session:
                    repository.let_go(session, self._gpu.uuid, worker=self._worker)
        except SQLAlchemyError as error:
            log.warning("gpu_not_told", error=type(error).__name__)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _keep(self) -> None:
        while not self._stopped.wait(self._services.settings.heartbeat_seconds):
            self.look()

    def _locked(self) -> bool:
        """Tell whether this process has the file. Who had it before is dead: so is any lease of theirs."""
        if self._handle is not None:
            return True
        self._handle = file_lock(self._lock)
        if self._handle is None:
            return False
        with self._services.db.transaction() as session:
            repository.let_go_of_host(session, self._gpu.uuid, host=_place(self._handle))
        return True

    def _leased(self) -> bool:
        assert self._handle is not None
        with self._services.db.transaction() as session:
            return repository.hold(
                session,
                self._gpu.uuid,
                host=_place(self._handle),
                worker=self._worker,
                lease_seconds=self._services.settings.lease_seconds,
            )


def file_lock(path: Path) -> int | None:
    """Lock the file for this process; None where another one has. It ends with the process, or is closed."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _place(handle: int) -> str:
    """Name this machine and the lock's file, as all do who share both, and nobody else does."""
    file = os.fstat(handle)
    return f"{socket.gethostname()[:30]} {file.st_dev:x}:{file.st_ino:x}"
