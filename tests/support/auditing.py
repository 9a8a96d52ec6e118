"""How sure an audit of the suite must be, and when a broken copy counts as caught.

Noise has no seed, so both errors of a test must stay rare over years of runs: a sound mechanism is accused
once in a million looks, and a broken one is looked at again, with more runs, before it counts as missed.
"""

from collections.abc import Callable

SOUND, CAUGHT = 1 - 1e-6, 0.999
LOOKS = 5


def caught(measure: Callable[[int, float], float], epsilon: float, runs: int) -> bool:
    """Whether ``measure(runs, confidence)``, a lower bound on epsilon, passes ``epsilon``.

    Where it does not, it is measured anew with twice the runs, ``LOOKS`` times in all. A mechanism that
    keeps to ``epsilon`` is accused with probability at most ``LOOKS * (1 - CAUGHT)``: .005.
    """
    return any(measure(runs << look, CAUGHT) > epsilon for look in range(LOOKS))
