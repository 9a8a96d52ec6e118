"""The stack's own processes: started together, watched together, stopped in reverse."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1
PYTHON = (sys.executable, "-m")

WORKER = (
    *PYTHON, "celery", "-A", "worker.app", "worker", "--concurrency", "1", "--pool", "prefork",
    "--loglevel", "WARNING", "--without-gossip", "--without-mingle",
)  # fmt: skip

COMMANDS: dict[str, tuple[str, ...]] = {
    "api": (*PYTHON, "api"),
    "worker": WORKER,
    "validator": (*WORKER, "-Q", "graphveil-uploads"),
    "relay": (*PYTHON, "worker.relay"),
    "reaper": (*PYTHON, "worker.reaper"),
    "webhooks": (*PYTHON, "worker.webhooks"),
    "verifier": (*PYTHON, "worker.verifier"),
    "exporter": (*PYTHON, "worker.exporter"),
}


@dataclass(frozen=True)
class Dead:
    """A process that ended on its own."""

    name: str
    code: int
    log: Path

    def __str__(self) -> str:
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
        return f"{self.name} stopped by itself with exit code {self.code}. The end of {self.log}:\n{tail}"


def end_with_parent() -> None:
    """This process is asked to stop when the stack dies, however it dies. Linux only.

    A worker that outlived its stack would reach the next one on the same folder, with the wrong addresses.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Processes:
    """The service's processes under one environment; their output goes to one log file each."""

    def __init__(self, environment: Mapping[str, str], logs: Path, *, root: Path) -> None:
        self._environment = {**os.environ, **environment}
        self._logs, self._root = logs, root
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Every process of the stack runs, each in its own session, so that Ctrl-C reaches only the stack."""
        for name, command in COMMANDS.items():
            self._running[name] = subprocess.Popen(
                command,
                env=self._environment,
                cwd=self._root,
                stdout=self._log(name).open("ab"),
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    def dead(self) -> Dead | None:
        """The first process that ended on its own, if any."""
        for name, process in self._running.items():
            code = process.poll()
            if code is not None:
                return Dead(name, code, self._log(name))
        return None

    def stop(self, *, grace_seconds: float = 20.0) -> None:
        """No process of the stack runs any more: asked first, killed after the grace."""
        for process in reversed(self._running.values()):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in reversed(self._running.values()):
            try:
                process.wait(timeout=grace_seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._running.clear()

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"
