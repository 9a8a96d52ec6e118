"""SIGTERM and SIGINT, as a question that a loop can ask and a wait that they end."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class Stopping:
    """Calling it tells whether this process was asked to stop. Made in the main thread."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def __call__(self) -> bool:
        return self._asked.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait; True as soon as this process is asked to stop, False when the time is over."""
        return self._asked.wait(seconds)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked.set()
