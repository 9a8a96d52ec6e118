"""Neighbour counts by cluster, sampled given noisy rows.

They are of every counted node. A draw and not a mean: means are all alike, and a graph made of them has no
clusters. Post-processing.
"""

from __future__ import annotations

import numpy as np

from core.privacy.entropy import Generator as Rng
from papers.hetesdg.sound.tables import Mix, Table

CANDIDATES = 1500
LEAST_WEIGHT, MOST_WEIGHT = 0.02, 50.0
LARGE, TAIL = 10, 0.995
"""Rows whose noisy total is above both LARGE and this quantile of the candidates are taken as they are."""


def drawn_profiles(table: Table, found: Mix, degrees: np.ndarray, rng: Rng) -> np.ndarray:
    """Draw neighbours by cluster, int64 (n, k), no entry negative.

    Candidates: degrees of the paid sequence, shared out by a Dirichlet law whose weight is what the likeness
    of neighbours says. O(n * CANDIDATES * k).
    """
    from papers.hetesdg.sound._kernels import drawn

    if not len(degrees) or not len(table.noisy):
        counted: np.ndarray = np.maximum(table.noisy, 0)
        return counted
    own = held_to(table.noisy, int(degrees[-1]))
    candidates = _candidates(found, degrees, rng)
    total = candidates.sum(axis=1)
    chosen = drawn(table.noisy, candidates, table.scale, rng.random(len(own)))
    large = table.noisy.sum(axis=1) > max(LARGE, float(np.quantile(total, TAIL)))
    return np.where(large[:, None], own, candidates[chosen])


def held_to(noisy: np.ndarray, most: int) -> np.ndarray:
    """Clip rows to be non-negative and of sum ``most``.

    Negative entries are cut, and longer rows shortened to that sum at most; int64.
    """
    own = np.maximum(noisy, 0)
    total = own.sum(axis=1, keepdims=True)
    held: np.ndarray = np.where(total > most, own * most // np.maximum(total, 1), own)
    return held


def with_degrees(profiles: np.ndarray, degrees: np.ndarray, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Resize profiles to the ascending ``degrees``.

    Returned are stubs (node, cluster). The smallest profile gets the smallest degree, ties at random. What is
    cut is cut at random; what is added follows the node's own profile. O(total degree).
    """
    nodes, columns = profiles.shape
    wanted = np.empty(nodes, dtype=np.int64)
    wanted[np.lexsort((rng.random(nodes), profiles.sum(axis=1)))] = degrees
    node = np.repeat(np.arange(nodes), profiles.sum(axis=1))
    cluster = np.repeat(np.tile(np.arange(columns), nodes), profiles.ravel())
    order = rng.permutation(len(node))
    order = order[np.argsort(node[order], kind="stable")]
    node, cluster = node[order], cluster[order]
    kept = ranks(node, nodes) < wanted[node]
    node, cluster = node[kept], cluster[kept]
    lacking = wanted - np.bincount(node, minlength=nodes)
    extra = np.repeat(np.arange(nodes), lacking)
    weight = profiles + profiles.sum(axis=0) / max(profiles.sum(), 1) + 1e-9
    edges = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
    added = np.minimum((rng.random((len(extra), 1)) > edges[extra]).sum(axis=1), columns - 1)
    return np.concatenate([node, extra]), np.concatenate([cluster, added])


def ranks(group: np.ndarray, groups: int) -> np.ndarray:
    """Return the place of each entry within its group. Entries are sorted by group."""
    start = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=groups))])
    return np.asarray(np.arange(len(group)) - start[group])


def _candidates(found: Mix, degrees: np.ndarray, rng: Rng) -> np.ndarray:
    """Draw (CANDIDATES, k) int64."""
    size = degrees[rng.integers(0, len(degrees), CANDIDATES)]
    if len(found.base) == 1:
        return size.reshape(-1, 1)
    weight = np.clip((1 - found.same) / max(found.same - found.chance, 1e-9), LEAST_WEIGHT, MOST_WEIGHT)
    share = rng.gamma(np.broadcast_to(weight * found.base, (CANDIDATES, len(found.base)))) + 1e-12
    return np.asarray(rng.multinomial(size, share / share.sum(axis=1, keepdims=True)))
