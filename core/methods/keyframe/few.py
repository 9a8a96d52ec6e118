"""Degrees of few nodes. Where tail counters would drown in noise, key frames say how degrees are spread.

With a few hundred nodes the noise of a tail counter is as large as what it counts, while the noise of one
degree at a key frame is a few edges. So the law of degrees is read off the noisy degrees themselves: some
nodes have none, the others' degrees follow a gamma law, and every pair of a share without edges and a shape
is weighed by the likelihood of what the frames showed. The mean is that of the step. Post-processing.

Shapes, shares and what is forgotten were set on radoslaw-email and on made contacts of
:mod:`benchmarks.stream_made`.
"""

from __future__ import annotations

import numpy as np

from core.late import late

_gammainc = late("scipy.special:gammainc")
NONE = np.arange(0, 1, 0.05)[:, None, None]  # shares of nodes without an edge
SHAPES = np.array([0.5, 1, 2, 4, 10])[None, :, None]  # of the others' gamma law
LAWS = NONE.size * SHAPES.size
FORGETTING = 0.9  # per step, of the evidence for a law
REACH, SHORTEST_CAP = 8.0, 10  # the largest degree that a law has, over the mean, and at least
LEAST = 1e-300  # a likelihood has a logarithm


def laws(mean: float, nodes: int) -> np.ndarray:
    """Compute the chances of degrees 0, 1, ... under every law of that mean, float64 (laws, degrees)."""
    cap = int(max(1, min(nodes - 1, max(SHORTEST_CAP, REACH * mean))))
    none = np.maximum(NONE, 1 - mean)  # whoever has an edge has one at least
    ends = np.append(np.arange(1, cap) + 0.5, np.inf)
    # Gamma laws of mean ``mean / (1 - none)``, of those who have an edge.
    some = np.diff(_gammainc(SHAPES, ends * SHAPES * (1 - none) / mean), prepend=0.0)
    return np.concatenate([np.broadcast_to(none, (*some.shape[:2], 1)), (1 - none) * some], axis=2).reshape(
        LAWS, cap + 1
    )


def seen(evidence: np.ndarray, measured: np.ndarray, scale: float, mean: float, steps: int) -> np.ndarray:
    """Update the log likelihood of every law, float64 (laws,), by a frame ``steps`` steps later.

    ``measured`` float64 (n,): degrees under Laplace noise of ``scale``. O(n * degrees * laws).
    """
    if mean <= 0:
        return evidence
    chances = laws(mean, len(measured))
    far = np.abs(measured[:, None] - np.arange(chances.shape[1])) / scale
    least = far.min(axis=1, keepdims=True)
    # Relative to the nearest degree, so that not all underflow.
    likely = np.log(np.maximum(np.exp(least - far) @ chances.T, LEAST)).sum(axis=0)
    updated: np.ndarray = evidence * FORGETTING**steps + likely
    updated -= updated.max()
    return updated


def ranked(evidence: np.ndarray, mean: float, nodes: int) -> np.ndarray:
    """List degrees of that mean in descending order, float64 (nodes,): quantiles of the likely laws."""
    if mean <= 0:
        return np.zeros(nodes)
    weight = np.exp(evidence - evidence.max())
    law = weight / weight.sum() @ laws(mean, nodes)
    at = np.searchsorted(np.cumsum(law), (np.arange(nodes) + 0.5) / nodes)
    found: np.ndarray = np.minimum(at, len(law) - 1)[::-1].astype(np.float64)
    return found
