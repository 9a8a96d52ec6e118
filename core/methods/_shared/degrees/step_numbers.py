"""The compiled part of :mod:`core.methods._shared.degrees.active_steps`."""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel


@kernel
def memberships(chance: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weigh the outcomes of every row's coins by successes.

    ``chance`` (rows, steps): of each coin; ``weight`` (steps + 1,): an outcome of k successes weighs
    ``weight[k]`` times its probability. Returns how many rows have k successes on average, (steps + 1,), and
    each coin's chance of success, (rows, steps), both under the weighed law. O(rows * steps^2).
    """
    rows, steps = chance.shape
    numbers, found = np.zeros(steps + 1), np.empty((rows, steps))
    ahead, behind = np.zeros((steps + 1, steps + 1)), np.empty(steps + 1)
    for row in range(rows):
        ahead[0, 0] = 1.0
        for t in range(steps):
            p = chance[row, t]
            ahead[t + 1, 0] = ahead[t, 0] * (1 - p)
            for k in range(1, t + 2):
                before = ahead[t, k] if k <= t else 0.0
                ahead[t + 1, k] = before * (1 - p) + ahead[t, k - 1] * p
        total = 0.0
        for k in range(steps + 1):
            total += ahead[steps, k] * weight[k]
        for k in range(steps + 1):
            numbers[k] += ahead[steps, k] * weight[k] / total
            behind[k] = weight[k] / total
        for t in range(steps - 1, -1, -1):
            p, held = chance[row, t], 0.0
            for k in range(t + 1):
                held += ahead[t, k] * p * behind[k + 1]
                behind[k] = behind[k] * (1 - p) + behind[k + 1] * p
            found[row, t] = held
    return numbers, found
