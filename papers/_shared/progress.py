"""Progress in a fixed number of ticks.

It is fixed whatever the number of steps: it says nothing about the data.
"""

from __future__ import annotations

from collections.abc import Callable

from core.methods.base import Progress

TICKS = 10


class Ticks:
    """A progress callback of TICKS equal parts of one stage.

    It passes them on under the stage's name. How many steps a training has follows from noisy counts; how
    many ticks it has follows from nothing.
    """

    def __init__(self, progress: Progress, stage: str) -> None:
        self._progress = progress
        self._stage = stage
        self._done = 0
        progress(stage, 0, TICKS)

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Pass on the ticks that ``done`` of ``total`` steps are worth, each once."""
        while self._done < TICKS and (self._done + 1) * total <= done * TICKS:
            self._tick()

    def part(self, number: int, parts: int, steps: int) -> Callable[[int], None]:
        """Return the callback ``tick(done)`` of one equal part.

        It is one of ``parts``, of ``steps`` steps each.
        """
        return lambda done: self(self._stage, number * steps + done, parts * steps)

    def finish(self) -> None:
        """Pass on all ticks that are left."""
        while self._done < TICKS:
            self._tick()

    def _tick(self) -> None:
        self._done += 1
        self._progress(self._stage, self._done, TICKS)
