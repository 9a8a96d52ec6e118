"""Processes that are kept running as a container engine keeps containers: what ends is started again."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from deploy.local.processes import end_with_parent
from tests.support.faults import alive

WATCH_SECONDS = 0.05
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 60.0
STEADY_SECONDS = 10.0
"""A process that ran so long is started again at once; one that ends sooner waits twice as long each time."""


@dataclass
class Supervised:
    """One process, restarted whenever it ends, with all that it leaves behind gone first."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    stop_seconds: float
    user: int | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    starts: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _began: float = 0.0
    _again_at: float = 0.0
    _pause: float = FIRST_PAUSE_SECONDS
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def pid(self) -> int:
        """The main process as it runs now; waits for it where it is being started again."""
        while True:
            with self._lock:
                if self._process is not None and self._process.poll() is None:
                    return self._process.pid
            time.sleep(WATCH_SECONDS)

    def start(self) -> None:
        """It runs, in a session of its own."""
        with self._lock, self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=end_with_parent,
                user=self.user,
                group=self.user,
                extra_groups=None if self.user is None else [],
            )
            self._began, self.starts = time.monotonic(), self.starts + 1

    def watch(self) -> None:
        """It runs again if it has ended and its pause is over. Called over and over."""
        with self._lock:
            if self._process is None or (self._process.poll() is None):
                return
            now = time.monotonic()
            if not self._again_at:
                self._clear()
                steady = now - self._began >= STEADY_SECONDS
                self._pause = FIRST_PAUSE_SECONDS if steady else min(2 * self._pause, LONGEST_PAUSE_SECONDS)
                self._again_at = now + self._pause
            elif now >= self._again_at:
                self._again_at = 0.0
                self.start()

    def send(self, number: int) -> int:
        """The main process got the signal; its id."""
        pid = self.pid
        os.kill(pid, number)
        return pid

    def ended(self, pid: int, seconds: float) -> bool:
        """Whether the process with that id ended within the time."""
        ends = time.monotonic() + seconds
        while alive(pid) and time.monotonic() < ends:
            time.sleep(0.02)
        return not alive(pid)

    def stop(self) -> None:
        """It is gone, and stays so: asked first, killed after its grace."""
        with self._lock:
            process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(self.stop_signal)
        try:
            process.wait(timeout=self.stop_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._kill_group(process.pid)

    def _clear(self) -> None:
        """As when a container ends: nothing of its session outlives its first process."""
        assert self._process is not None
        self._kill_group(self._process.pid)

    @staticmethod
    def _kill_group(pid: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


class Supervisor:
    """A thread that watches processes; they end with the context, in reverse order."""

    def __init__(self) -> None:
        self.processes: dict[str, Supervised] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    def __enter__(self) -> Supervisor:
        self._thread.start()
        return self

    def add(self, process: Supervised) -> Supervised:
        """The process is started, and watched from now on."""
        process.start()
        self.processes[process.name] = process
        return process

    def _run(self) -> None:
        while not self._stopped.wait(WATCH_SECONDS):
            for process in list(self.processes.values()):
                process.watch()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        for process in reversed(self.processes.values()):
            process.stop()
