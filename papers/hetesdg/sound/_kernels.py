"""The compiled part of :mod:`papers.hetesdg.sound.profiles`."""

from __future__ import annotations

import math

import numpy as np

from core.kernels.decorator import kernel


@kernel
def drawn(noisy: np.ndarray, candidates: np.ndarray, scale: float, uniform: np.ndarray) -> np.ndarray:
    """Sample a candidate's number for every row of ``noisy``.

    Its weight is exp(-|row - candidate|_1 / scale).

    ``uniform`` (n,) in [0, 1) decides. int64 (n,).
    """
    nodes, columns = noisy.shape
    count = candidates.shape[0]
    found = np.zeros(nodes, np.int64)
    weight = np.empty(count)
    for i in range(nodes):
        nearest = math.inf
        for j in range(count):
            far = 0.0
            for k in range(columns):
                far += abs(noisy[i, k] - candidates[j, k])
            weight[j] = far
            nearest = min(nearest, far)
        total = 0.0
        for j in range(count):
            total += math.exp((nearest - weight[j]) / scale)
            weight[j] = total
        aim = uniform[i] * total
        low, high = 0, count - 1
        while low < high:
            middle = (low + high) // 2
            if weight[middle] > aim:
                high = middle
            else:
                low = middle + 1
        found[i] = low
    return found
