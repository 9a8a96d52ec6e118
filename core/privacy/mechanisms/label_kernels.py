"""The compiled pass behind :mod:`core.privacy.mechanisms.label_stream`. It says who reads which edge, and has
the rule of labels.

Noise is an argument, drawn before the pass begins: given it, everything here is a function of the graph. The
only lines that look at edges are those that call ``_read``.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel

UNSEEN = -1  # label of a node that the one at hand must not look at
FLOOR = 1e-6  # least expected share of a node's edges towards a label


@kernel
def neighbours(source: np.ndarray, target: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """List neighbours of every node. Returned are (start (n + 1,), others (2m,)), v's
    ``others[start[v]:start[v + 1]]``. O(n + m)."""
    start = np.zeros(nodes + 1, np.int64)
    for i in range(source.size):
        start[source[i] + 1] += 1
        start[target[i] + 1] += 1
    start = np.cumsum(start)
    free = start[:-1].copy()
    others = np.empty(2 * source.size, np.int32)
    for i in range(source.size):
        u, v = source[i], target[i]
        others[free[u]] = v
        free[u] += 1
        others[free[v]] = u
        free[v] += 1
    return start, others


@kernel
def run(
    start: np.ndarray,
    others: np.ndarray,
    order: np.ndarray,
    weights: np.ndarray,
    core: int,
    groups: int,
    resolution: float,
    rounds: int,
    variance: float,
    noise: np.ndarray,
    back_noise: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Visit all nodes for labels and noisy rows. Returned are (labels (n,), forward rows (n, groups),
    backward rows (core, groups)); int64.

    ``order``: nodes, earliest first; the first ``core`` are read twice. ``noise`` (n, groups) and
    ``back_noise`` (core, groups) belong to the nodes in that order, and so do the rows. ``variance``: of one
    entry of a core node's two rows together. O(m + n groups + rounds core groups^2).
    """
    n = order.size
    labels = np.full(n, UNSEEN, np.int32)
    forward, backward = noise.copy(), back_noise.copy()
    volume = np.zeros(groups)
    total = weights.sum()
    for i in range(core):
        v = order[i]
        _read(start, others, v, labels, forward[i])
        labels[v] = _best(forward[i], volume, resolution * weights[v] / total)
        volume[labels[v]] += weights[v]
    later = labels.copy()  # of core nodes whose turn in the second reading is still to come
    for i in range(core):
        later[order[i]] = UNSEEN
        _read(start, others, order[i], later, backward[i])
    labels = _refined(order[:core], labels, forward, backward, weights, volume, resolution, rounds, variance)
    volume[:] = 0
    for i in range(core):
        volume[labels[order[i]]] += weights[order[i]]
    for i in range(core, n):
        v = order[i]
        _read(start, others, v, labels, forward[i])
        labels[v] = _best(forward[i], volume, resolution * weights[v] / total)
        volume[labels[v]] += weights[v]
    return labels.astype(np.int64), forward, backward


@kernel
def _read(start: np.ndarray, others: np.ndarray, v: int, labels: np.ndarray, row: np.ndarray) -> None:
    """Add to ``row`` the neighbours of ``v`` of each label; those UNSEEN do not count."""
    for position in range(start[v], start[v + 1]):
        c = labels[others[position]]
        if c >= 0:
            row[c] += 1


@kernel
def _best(row: np.ndarray, volume: np.ndarray, rate: float) -> int:
    """Return the label of most noisy neighbours beyond those that its volume lets expect."""
    best, most = 0, -np.inf
    for c in range(row.size):
        score = row[c] - rate * volume[c]
        if score > most:
            best, most = c, score
    return best


@kernel
def _refined(
    members: np.ndarray,
    labels: np.ndarray,
    forward: np.ndarray,
    backward: np.ndarray,
    weights: np.ndarray,
    volume: np.ndarray,
    resolution: float,
    rounds: int,
    variance: float,
) -> np.ndarray:
    """Relabel the core from its noisy rows, whose columns are the labels that the core had so far.

    First by the score of :func:`_best`; then ``rounds`` times by the likelihood of a row under each label's
    mean profile (Gaussian, variance: mean + noise) and the label's share of the nodes.
    """
    groups = volume.size
    fresh = labels.copy()
    if members.size == 0:
        return fresh
    inside = volume.sum() / weights.sum()  # of an edge's ends, those in the core
    rows = forward[: members.size] + backward
    total = weights.sum()
    for i in range(members.size):
        v = members[i]
        fresh[v] = _best(rows[i], volume, resolution * weights[v] / total)
    for _ in range(rounds):
        profile = np.zeros((groups, groups))
        mass = np.zeros(groups)
        count = np.zeros(groups)
        for i in range(members.size):
            v = members[i]
            c = fresh[v]
            mass[c] += inside * weights[v]
            count[c] += 1
            for g in range(groups):
                profile[c, g] += rows[i, g]
        for c in range(groups):
            for g in range(groups):
                profile[c, g] = max(profile[c, g] / max(mass[c], FLOOR), FLOOR)
        for i in range(members.size):
            v = members[i]
            best, most = 0, -np.inf
            for c in range(groups):
                if count[c] == 0:
                    continue
                score = np.log(count[c])
                for g in range(groups):
                    mean = inside * weights[v] * profile[c, g]
                    gap = rows[i, g] - mean
                    score -= gap * gap / (2 * (mean + variance)) + np.log(mean + variance) / 2
                if score > most:
                    best, most = c, score
            fresh[v] = best
    return fresh
