"""SIGTERM and SIGINT as a question. A loop can ask it, and they end a wait.

Every duty's loop asks, so that asking is its heartbeat too (:mod:`worker.heartbeat`).
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

from core.settings import get_settings
from worker import heartbeat


class Stopping:
    """Calling it tells whether this process is to stop. Made in the main thread."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._heart = heartbeat.Heartbeat(get_settings().heartbeat_file)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def __call__(self) -> bool:
        self._heart.beat()
        return self._asked.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until the process is to stop. True as soon as it is requested to, False when the time is
        over."""
        until = time.monotonic() + seconds
        while True:
            self._heart.beat()
            left = until - time.monotonic()
            if self._asked.wait(max(0.0, min(left, heartbeat.EVERY_SECONDS))):
                return True
            if left <= heartbeat.EVERY_SECONDS:
                return False

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked.set()
