"""The Markov chain over dendrograms, on noisy counts.

Counts are between leaves. Source: Clauset, Moore, Newman 2008. A dendrogram over k leaves has nodes 0..k-1
(leaves) and k..2k-2 (internal, the last one being the root of the start; the root keeps its number).
``children`` is int64 (2k-1, 2), -1 for leaves.
"""

from __future__ import annotations

import math

import numpy as np

from core.kernels.decorator import kernel
from core.privacy.entropy import Generator as Rng

HOTTEST = 1e-5  # inverse temperature of the first step; the last one's is 1


def balanced(leaves: int) -> np.ndarray:
    """Build the balanced start dendrogram.

    Neighbours in leaf order are joined, level by level; the last node is the root.
    """
    children = np.full((2 * leaves - 1, 2), -1, dtype=np.int64)
    level, fresh = list(range(leaves)), leaves
    while len(level) > 1:
        joined = []
        for place in range(0, len(level) - 1, 2):
            children[fresh] = level[place], level[place + 1]
            joined.append(fresh)
            fresh += 1
        level = joined + level[len(level) - len(level) % 2 :]
    return children


def fitted(weights: np.ndarray, sizes: np.ndarray, steps: int, rng: Rng) -> np.ndarray:
    """Run ``steps`` Metropolis steps, and return ``children``.

    They end at the likelihood of ``weights``. The chain cools by a geometric rule, as at full likelihood it
    would stay near its start for good. ``weights``: symmetric float64 (k, k), edges between leaves;
    ``sizes``: nodes of each leaf. Reads noisy counts only. Each step takes time in the product of two
    subtrees' leaves; a few times k on average.
    """
    children = balanced(len(sizes))
    if len(sizes) > 2:
        _walk(children, weights, sizes.astype(np.float64), steps, rng)
    return children


@kernel
def _walk(children: np.ndarray, weights: np.ndarray, sizes: np.ndarray, steps: int, rng: Rng) -> None:
    leaves = len(sizes)
    total = 2 * leaves - 1
    parent = np.full(total, -1, dtype=np.int64)
    mass = np.zeros(total)
    mass[:leaves] = sizes
    for node in range(leaves, total):
        for side in range(2):
            parent[children[node, side]] = node
            mass[node] += mass[children[node, side]]
    first, second = np.empty(leaves, dtype=np.int64), np.empty(leaves, dtype=np.int64)
    third = np.empty(leaves, dtype=np.int64)
    stack = np.empty(total, dtype=np.int64)
    for step in range(steps):
        beta = HOTTEST ** (1.0 - step / steps)
        low = leaves + np.int64(rng.random() * (leaves - 1))
        top = parent[low]
        if top < 0:
            continue
        pick = np.int64(rng.random() * 2)
        stay, move = children[low, pick], children[low, 1 - pick]
        side = 0 if children[top, 1] == low else 1
        other = children[top, side]
        a = _leaves(children, stay, leaves, first, stack)
        b = _leaves(children, move, leaves, second, stack)
        c = _leaves(children, other, leaves, third, stack)
        ab = _between(weights, first, a, second, b)
        ac = _between(weights, first, a, third, c)
        bc = _between(weights, second, b, third, c)
        x, y, z = mass[stay], mass[move], mass[other]
        now = _likelihood(ab, x * y) + _likelihood(ac + bc, (x + y) * z)
        then = _likelihood(ac, x * z) + _likelihood(ab + bc, (x + z) * y)
        if math.log(1.0 - rng.random()) < beta * (then - now):
            children[low, 1 - pick], children[top, side] = other, move
            parent[other], parent[move] = low, top
            mass[low] = x + z


@kernel
def _leaves(children: np.ndarray, node: int, leaves: int, found: np.ndarray, stack: np.ndarray) -> int:
    count, depth = 0, 1
    stack[0] = node
    while depth > 0:
        depth -= 1
        at = stack[depth]
        if at < leaves:
            found[count] = at
            count += 1
        else:
            stack[depth] = children[at, 0]
            stack[depth + 1] = children[at, 1]
            depth += 2
    return count


@kernel
def _between(weights: np.ndarray, first: np.ndarray, a: int, second: np.ndarray, b: int) -> float:
    total = 0.0
    for i in range(a):
        for j in range(b):
            total += weights[first[i], second[j]]
    return total


@kernel
def _likelihood(edges: float, pairs: float) -> float:
    """Compute ln of p^edges (1 - p)^(pairs - edges) at its best p."""
    if edges <= 0 or edges >= pairs:
        return 0.0
    p = edges / pairs
    return edges * math.log(p) + (pairs - edges) * math.log1p(-p)
