"""One worker process. It has its name, its services, and a private folder that no other process touches."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from core import failpoints
from core.logging import get_logger
from core.settings import Settings, get_settings
from core.storage.store import make_private_folder
from core.tracing import spans
from core.workflows.common.context import Services, open_services
from worker import gpus, warm
from worker.own_gpu import OwnGpu, find

PREFIX = "worker-"
LOCK = ".lock"

log = get_logger(__name__)


@dataclass(frozen=True)
class WorkerProcess:
    """One worker process and its resources. ``services.settings.work_folder`` is this process's own,
    ``own_gpu`` its hold on a GPU, if any."""

    name: str
    services: Services
    own_gpu: OwnGpu | None = None

    @property
    def folder(self) -> Path:
        return self.services.settings.work_folder


@lru_cache(maxsize=1)
def this_process() -> WorkerProcess:
    """Open this process at the first call, and return it. It is to be called after any fork."""
    settings = get_settings()
    spans.start(settings, "worker")
    warm.preload()
    process = open_process(settings)
    gpus.watch(process.services, settings.heartbeat_seconds)
    return process


def open_process(settings: Settings) -> WorkerProcess:
    """Open services and a folder for a process. What dead ones of this host left is deleted."""
    failpoints.arm(settings.failpoints)
    name = f"{socket.gethostname()[:64]}-{os.getpid()}-{os.urandom(4).hex()}"
    make_private_folder(settings.work_folder)
    folder = own_folder(settings.work_folder, name)
    sweep(settings.work_folder)
    own = settings.model_copy(update={"work_folder": folder})
    services = open_services(own)
    if not settings.gpu:
        return WorkerProcess(name, services)
    held = OwnGpu(services, find(settings), name, settings.work_folder)
    held.begin()
    return WorkerProcess(name, services, held)


def sweep(parent: Path) -> int:
    """Delete the folders of processes that are gone, and count them. A living process holds its lock."""
    removed = 0
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            handle = os.open(folder / LOCK, os.O_RDWR)
        except FileNotFoundError:
            # A living process has its lock: what has none was left half deleted, or another sweep is at it.
            shutil.rmtree(folder, ignore_errors=True)
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
        finally:
            os.close(handle)
    if removed:
        log.warning("left_folders_deleted", count=removed)
    return removed


def own_folder(parent: Path, name: str) -> Path:
    """Make a locked folder of this process. It is locked before it has a name that sweeps look for; the lock
    ends with the process."""
    made = parent / f"new-{name}"
    os.mkdir(made, 0o700)
    handle = os.open(made / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    folder = parent / f"{PREFIX}{name}"
    made.rename(folder)
    return folder
