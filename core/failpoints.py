"""Named places for injected faults. A fault test kills or stops this process at them. Inert unless the
settings name one.

``GRAPHVEIL_FAILPOINTS=before_charge`` ends the process at that place as ``kill -9`` would;
``before_charge:stop`` stops it there as ``kill -STOP`` would, once, until somebody lets it go on.
"""

from __future__ import annotations

import os
import signal

from core.errors import InvalidInput

POINTS = (
    "after_claim",
    "before_snapshot_kept",
    "after_snapshot_kept",
    "after_open",
    "after_read",
    "after_child",
    "after_fit_kept",
    "before_fit_commit",
    "before_part",
    "while_storing_part",
    "after_part",
    "after_shard",
    "after_staging",
    "before_charge_commit",
    "after_charge",
    "while_copying",
    "before_published",
    "before_mark_sent",
    "webhook_sent",
    "after_snapshot_stored",
    "before_snapshot_commit",
)

KILL, STOP = "", "stop"

_armed: dict[str, str] = {}


def arm(names: str) -> None:
    """Arm exactly the named places. They act from now on; an empty text disarms all.

    InvalidInput: an unknown name, or another action than those above.
    """
    armed: dict[str, str] = {}
    for name in filter(None, names.split(",")):
        point, _, action = name.partition(":")
        if point not in POINTS:
            raise InvalidInput(f"There is no failpoint {point!r}.", field="failpoints")
        if action not in (KILL, STOP):
            raise InvalidInput(f"A failpoint cannot {action!r}.", field="failpoints")
        armed[point] = action
    # At the end: an unknown name leaves what was armed as it was.
    _armed.clear()
    _armed.update(armed)


def reach(point: str) -> None:
    """Do nothing, unless a fault test armed this place."""
    action = _armed.get(point)
    if action is None:
        return
    if action == KILL:
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        # Once: whoever lets the process go on does not want it stopped here again.
        del _armed[point]
        os.kill(os.getpid(), signal.SIGSTOP)
