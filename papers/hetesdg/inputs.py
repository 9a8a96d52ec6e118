"""Public columns as coordinates of nodes, and clusters of them. Nothing here looks at an edge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

WIDTH = 16
"""Coordinates of a node, at most: the leading directions of the columns."""
CATEGORIES = 256
"""Values of a category that have a coordinate of their own, the most frequent ones."""
RESTARTS = 4
SHARPNESS = 10.0
"""A node belongs to a cluster by exp(-SHARPNESS * squared distance from its centre), times the cluster's
size; rows have length 1. Of 5, 10 and 20, on ACM, IMDB and Amazon, 10 and 20 scored alike, and 5 less."""


@dataclass(frozen=True)
class Inputs:
    """Coordinates and clusters of nodes.

    ``place`` (n, d) float64: every node's coordinates, rows of length 1 at most. ``label`` (n,) int64: its
    cluster. ``centre`` (k, d): the clusters' means. Without columns d is 0 and all are in one cluster.
    """

    place: np.ndarray
    label: np.ndarray
    centre: np.ndarray

    @property
    def groups(self) -> int:
        return len(self.centre)

    def membership(self) -> np.ndarray:
        """Compute every node's membership in each cluster. Rows sum to 1; float32 (n, k)."""
        far = np.square(self.place).sum(axis=1, keepdims=True) - 2 * self.place @ self.centre.T
        far += np.square(self.centre).sum(axis=1)
        weight = np.exp(SHARPNESS * (far.min(axis=1, keepdims=True) - far))
        weight *= np.bincount(self.label, minlength=self.groups)
        return np.asarray(weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-12), dtype=np.float32)


def grouped(matrix: np.ndarray | None, nodes: int, clusters: int) -> Inputs:
    """Compute coordinates and clusters of ``nodes`` nodes.

    They have the numbers ``matrix`` (n, d). k-means from a fixed start, so that equal columns give equal
    clusters. O(n d) times small constants.
    """
    nothing = Inputs(np.empty((nodes, 0)), np.zeros(nodes, dtype=np.int64), np.empty((1, 0)))
    if matrix is None or not nodes or not matrix.shape[1]:
        return nothing
    from sklearn.cluster import KMeans

    place = leading(matrix)
    distinct = len(np.unique(np.round(place, 9), axis=0))
    if min(clusters, distinct) < 2:
        return Inputs(place, nothing.label, place.mean(axis=0, keepdims=True))
    means = KMeans(min(clusters, distinct), n_init=RESTARTS, random_state=0).fit(place)
    return Inputs(place, means.labels_.astype(np.int64), means.cluster_centers_)


def leading(matrix: np.ndarray) -> np.ndarray:
    """Compute leading coordinates of tf-idf weighted columns.

    Columns are weighted by how few nodes have them (tf-idf, as for words), rows to length 1, centred, at most
    WIDTH directions, to length 1.
    """
    from scipy.sparse.linalg import svds

    rows = matrix * (1 + np.log((1 + len(matrix)) / (1 + np.count_nonzero(matrix, axis=0))))
    rows /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    rows -= rows.mean(axis=0)
    if min(rows.shape) > WIDTH + 1:
        left, size, _ = svds(rows, k=WIDTH, rng=0)
        order = np.argsort(-size)
        rows = left[:, order] * size[order]
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9))


def matrix_of(columns: Mapping[str, np.ndarray | pa.Array]) -> np.ndarray | None:
    """Combine all columns to one matrix, float64 (n, d).

    Vectors stay as they are, numbers are standardised, categories 0 and 1; None without any. What is missing
    or not finite is 0.
    """
    parts = [_numbers(columns[name]) for name in sorted(columns)]
    return np.concatenate(parts, axis=1) if parts else None


def _numbers(column: np.ndarray | pa.Array) -> np.ndarray:
    values = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column
    if values.dtype.kind in "OSU":
        return _one_hot(values)
    numbers = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    if numbers.ndim == 2:
        return numbers
    spread = numbers.std()
    standard: np.ndarray = ((numbers - numbers.mean()) / (spread if spread > 0 else 1.0)).reshape(-1, 1)
    return standard


def _one_hot(values: np.ndarray) -> np.ndarray:
    names, place, often = np.unique(values.astype(str), return_inverse=True, return_counts=True)
    kept = np.argsort(-often, kind="stable")[:CATEGORIES]
    where = np.full(len(names), -1)
    where[kept] = np.arange(len(kept))
    column = where[place]
    found = np.zeros((len(values), len(kept)))
    found[np.flatnonzero(column >= 0), column[column >= 0]] = 1.0
    return found
