"""Tasks of an engine that end its process, for tests that kill executors."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.publishing.drawn import Drawing


@dataclass(frozen=True)
class Killed(Drawing):
    """Draws; after the second shard its executor is killed, once."""

    def __call__(self, index: int) -> Mapping[str, Any]:
        told = super().__call__(index)
        died = Path(self.place.removeprefix("file://")).parents[1] / "died"
        if index == 1 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return told
