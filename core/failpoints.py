"""Named places at which a fault test kills or pauses this process. Inert unless the settings name one.

``GRAPHVEIL_FAILPOINTS=before_charge`` ends the process at that place as ``kill -9`` would;
``before_charge:pause=5`` holds it there for five seconds.
"""

from __future__ import annotations

import os
import signal
import time

from core.errors import InvalidInput

POINTS = (
    "after_claim",
    "before_snapshot_kept",
    "after_snapshot_kept",
    "after_open",
    "after_read",
    "after_child",
    "after_staging",
    "before_charge_commit",
    "after_charge",
    "while_copying",
    "before_published",
    "before_mark_sent",
    "after_snapshot_stored",
    "before_snapshot_commit",
)

_armed: dict[str, float | None] = {}


def arm(names: str) -> None:
    """Exactly the named places act from now on; an empty text disarms all. InvalidInput: unknown name."""
    armed: dict[str, float | None] = {}
    for name in filter(None, names.split(",")):
        point, _, pause = name.partition(":pause=")
        if point not in POINTS:
            raise InvalidInput(f"There is no failpoint {point!r}.", field="failpoints")
        armed[point] = float(pause) if pause else None
    _armed.clear()
    _armed.update(armed)


def reach(point: str) -> None:
    """Nothing happens, unless a fault test armed this place."""
    if point not in _armed:
        return
    pause = _armed[point]
    if pause is None:
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        time.sleep(pause)
