"""Sampling of generated pairs towards paid degrees.

Nodes get the degrees that were paid for. A pair that was seen w times would be an edge with probability 1 -
exp(-w f(u) f(v)): the law of Gumbel keys log w + log f(u) + log f(v) + Gumbel above 0. The factors f are
fitted by turns of f <- f sqrt(degree / expected degree), so that each node may expect its degree; chance
would still take from one and give to another, hence pairs are taken in the order of their keys as long as
both ends are short of their degrees. Post-processing of generated pairs and paid degrees.
"""

from __future__ import annotations

import numpy as np

from core.kernels.decorator import kernel
from core.privacy.queries import Shape

ROUNDS = 40
LEAST, MOST = 1e-9, 1e9


def within_degrees(
    keys: np.ndarray,
    times: np.ndarray,
    values: np.ndarray,
    source_degrees: np.ndarray,
    target_degrees: np.ndarray,
    shape: Shape,
) -> np.ndarray:
    """Choose sorted keys within every node's degree.

    Largest weighed values come first.

    ``keys``: those of :class:`papers.thepuff.assembler.Scores`, seen ``times`` each; ``values``: log
    times and Gumbel noise. An undirected relation has source degrees only. A node stays short where its pairs
    end at nodes that have theirs already. O(rounds * pairs + pairs log pairs).
    """
    first, second = np.divmod(keys, shape.target_count)
    degrees = source_degrees.astype(np.int64)
    if not shape.undirected:
        second = second + shape.source_count
        degrees = np.concatenate([degrees, target_degrees.astype(np.int64)])
    order = np.argsort(-(values + degree_logs(first, second, times, degrees)), kind="stable")
    return np.sort(keys[order[_taken(first[order], second[order], degrees.copy())]])


@kernel
def _taken(first: np.ndarray, second: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Take pairs in turn where both ends have some of ``left``, which is used up; bool."""
    taken = np.zeros(first.size, np.bool_)
    for i in range(first.size):
        u, v = first[i], second[i]
        if left[u] > 0 and left[v] > 0:
            taken[i] = True
            left[u] -= 1
            left[v] -= 1
    return taken


def degree_logs(first: np.ndarray, second: np.ndarray, times: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Compute log f(u) + log f(v) of every pair.

    It is float64, -inf where a node's degree is 0. A node that needs more pairs than were seen gets all of
    them. O(rounds * pairs).
    """
    degrees = degrees.astype(np.float64)
    nodes = len(degrees)
    edges = degrees.sum() / 2
    factor = np.where(degrees > 0, np.sqrt(edges / max(times.sum(), 1)), 0.0)
    for _ in range(ROUNDS):
        chance = -np.expm1(-times * factor[first] * factor[second])
        expected = np.bincount(first, chance, nodes) + np.bincount(second, chance, nodes)
        wanted = np.divide(degrees, expected, out=np.ones(nodes), where=expected > 0)
        factor = np.where(degrees > 0, np.clip(factor * np.sqrt(wanted), LEAST, MOST), 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(factor)
    sums: np.ndarray = logs[first] + logs[second]
    return sums
