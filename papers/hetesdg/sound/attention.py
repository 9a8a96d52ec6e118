"""Attention over neighbours and meta-paths: post-processing.

It is from noisy tables only. A table knows a node's neighbours by cluster, so a neighbour's vector is its
cluster's centre, and the softmax of Eq. 8 over neighbours is one over clusters in which each counts as often
as the table says. Heads look at parts of the coordinates (Eq. 9). The paper learns its weights from links;
here a head's score is the scaled product of the node's own mean neighbour with the centre, which needs none.
A meta-path weighs what its table holds besides noise (Eq. 12), and, with the debias weight C (Eq. 6, 13),
less where it reaches more neighbours.
"""

from __future__ import annotations

import numpy as np


def neighbour_attention(counts: np.ndarray, centre: np.ndarray, heads: int) -> np.ndarray:
    """Combine every node's neighbours by multi-head attention.

    The result is (n, d), zeros where nobody is expected.

    ``counts`` (n, k): expected neighbours by cluster, not negative; ``centre`` (k, d). O(n k d).
    """
    counts = np.maximum(counts, 0.0)
    total = counts.sum(axis=1, keepdims=True)
    mean = counts @ centre / np.maximum(total, 1e-9)
    parts = []
    for columns in np.array_split(np.arange(centre.shape[1]), min(heads, max(centre.shape[1], 1))):
        if not len(columns):
            continue
        score = mean[:, columns] @ centre[:, columns].T / np.sqrt(len(columns))
        weight = counts * np.exp(score - score.max(axis=1, keepdims=True))
        weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)
        parts.append(weight @ centre[:, columns])
    found = np.concatenate(parts, axis=1) if parts else np.empty((len(counts), 0))
    return np.asarray(found * (total > 0))


def semantic_weights(gates: list[float], reach: list[float], debias: bool) -> np.ndarray:
    """Compute the meta-paths' weights, summing to 1 (Eq. 13).

    ``gates``: what part of each table is not noise; ``reach``: expected neighbours of a node along each path.
    C is minus the logarithm of the reach: a path to everybody tells little of anybody.
    """
    if not gates:
        return np.empty(0)
    weight = np.log(np.maximum(np.array(gates), 1e-6))
    if debias:
        weight = weight - np.log1p(np.maximum(np.array(reach), 0.0))
    weight = np.exp(weight - weight.max())
    return np.asarray(weight / weight.sum())


def standardised(columns: np.ndarray) -> np.ndarray:
    """Standardise columns to mean 0 and variance 1. Constant ones are 0."""
    spread = columns.std(axis=0)
    return np.asarray((columns - columns.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0))
