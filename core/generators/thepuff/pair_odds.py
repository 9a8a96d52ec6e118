"""What nodes' degrees add to the odds of generated pairs: each node's expected degree becomes its paid one.

A pair that was seen w times is an edge with probability 1 - exp(-w f(u) f(v)): the law of Gumbel keys
log w + log f(u) + log f(v) + Gumbel above 0. The factors f are fitted by turns of f <- f sqrt(degree /
expected degree). Post-processing of generated pairs and paid degrees.
"""

from __future__ import annotations

import numpy as np

from core.privacy.queries import Shape

ROUNDS = 40
LEAST, MOST = 1e-9, 1e9


def degree_logs(
    keys: np.ndarray,
    times: np.ndarray,
    source_degrees: np.ndarray,
    target_degrees: np.ndarray,
    shape: Shape,
) -> np.ndarray:
    """Compute log f(u) + log f(v) of every pair; float64, -inf where a node's degree is 0.

    ``keys``: those of :class:`core.generators.thepuff.assembler.Scores`, seen ``times`` each. An undirected
    relation has source degrees only. A node that needs more pairs than were seen gets all of them.
    O(rounds * pairs).
    """
    first, second = np.divmod(keys, shape.target_count)
    degrees = source_degrees
    if not shape.undirected:
        second = second + shape.source_count
        degrees = np.concatenate([source_degrees, target_degrees])
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
    return logs[first] + logs[second]
