"""The denoiser of edges.

It predicts which node the other end of a removed edge is, from the edges that are left. A graph network of
two layers reads the partial graph; a pair's score is a product of both nodes' rows, plus what the paths of
two and three edges between them are worth to the first node. Without training the score is the log of how
many edges the second node still lacks: a configuration model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from core.learning.sparse import Sparse

BETWEEN = 6
"""What is looked at between two nodes: whether they share a community, and :func:`paths`."""
FACTS = 4
"""Of every node: its degree, how much of it is there and is missing, and how much of the graph is there."""
EXACT_COLUMNS = 4096
"""Up to so many nodes all are candidates; beyond, as many random ones and all at a distance of two."""
BARRED = -1e9


@dataclass(frozen=True)
class Partial:
    """A graph some of whose edges are removed.

    ``degrees`` (n,): of the whole graph; ``matrix``: the (n, n) symmetric 0/1 matrix of what is left;
    ``inputs`` (n, d) float32: what else is known of nodes; ``groups`` (n,): their communities, each its own
    where none are given.
    """

    degrees: np.ndarray
    matrix: sp.csr_array
    inputs: torch.Tensor
    groups: np.ndarray

    @property
    def missing(self) -> np.ndarray:
        """How many edges each node lacks; int64 (n,)."""
        lacking: np.ndarray = self.degrees - np.diff(self.matrix.indptr)
        return lacking


def adjacency(low: np.ndarray, high: np.ndarray, nodes: int) -> sp.csr_array:
    """The symmetric 0/1 matrix of distinct pairs; float32."""
    ends = np.concatenate([low, high]), np.concatenate([high, low])
    return sp.csr_array((np.ones(2 * len(low), np.float32), ends), shape=(nodes, nodes))


class Denoiser(nn.Module):
    """``inputs``: columns that are known of nodes in addition to FACTS."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(FACTS + inputs, width)
        self.layers = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(2))
        known = FACTS + inputs + width
        self.query, self.key = nn.Linear(known, width), nn.Linear(known, width)
        self.bias, self.between = nn.Linear(known, 1), nn.Linear(known, BETWEEN)
        for each in (self.query, self.bias, self.between):
            nn.init.zeros_(each.weight)
            nn.init.zeros_(each.bias)

    def rows(self, partial: Partial, place: torch.device) -> tuple[torch.Tensor, ...]:
        """Compute queries, keys, biases and BETWEEN's worth by node.

        They are (n, width), (n, width), (n,) and (n, 6).
        """
        there = np.diff(partial.matrix.indptr)
        share = np.full(len(there), there.sum() / max(partial.degrees.sum(), 1))
        logs = np.log1p(np.stack([partial.degrees, there, partial.missing], 1))
        facts = torch.from_numpy(np.column_stack([logs, share])).to(place, torch.float32)
        mean = Sparse(
            sp.csr_array(sp.diags_array(1 / np.maximum(there, 1).astype(np.float32)) @ partial.matrix), place
        )
        told = torch.cat([facts, partial.inputs], 1)
        hidden = torch.relu(self.first(told))
        for layer in self.layers:
            hidden = torch.relu(layer(torch.cat([hidden, mean @ hidden], 1)))
        known = torch.cat([told, hidden], 1)
        return self.query(known), self.key(known), self.bias(known)[:, 0], self.between(known)

    @staticmethod
    def scores(
        rows: tuple[torch.Tensor, ...],
        partial: Partial,
        source: np.ndarray,
        columns: np.ndarray,
        missing: np.ndarray,
    ) -> torch.Tensor:
        """Compute log odds of removed edges between sources and columns.

        They are (sources, columns), that an edge of a source leads to a column.

        ``missing``: how many edges the nodes lack besides. A node is barred to itself, to those it is linked
        with, and where it lacks none. Columns that no path of two reaches stand for all that were not looked
        at.
        """
        query, key, bias, worth = rows
        place, nodes = query.device, len(partial.degrees)
        linked, two, features = paths(partial.matrix, source, columns)
        offset = np.log(np.maximum(missing[columns], 1e-30))[None, :] + np.where(
            two > 0, 0.0, np.log(max(nodes / len(columns), 1.0))
        )
        offset[(linked > 0) | (source[:, None] == columns[None, :]) | (missing[columns] <= 0)[None, :]] = (
            BARRED
        )
        at, to = (torch.from_numpy(each).to(place) for each in (source, columns))
        found = query[at] @ key[to].T + bias[to] + torch.from_numpy(offset.astype(np.float32)).to(place)
        same = (partial.groups[source][:, None] == partial.groups[columns][None, :]).astype(np.float32)
        for number, feature in enumerate([same, *features]):
            found = found + worth[at, number, None] * torch.from_numpy(feature).to(place)
        return found


def paths(
    matrix: sp.csr_array, source: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Score the paths from each source to each column.

    They are float32 (sources, columns) each. Returned are the edges, the paths of two edges, and five
    features: whether there are paths of two, the log of their number, their number weighted by the middle's
    degree (resource allocation), whether there are paths of three where there are none of two, and the log of
    their number. Sparse products: linear in paths.
    """
    own = sp.csr_array(matrix[source])
    step = sp.csr_array(own @ matrix)
    to: Callable[[sp.csr_array], np.ndarray] = (
        (lambda part: part.toarray())
        if len(columns) == matrix.shape[1]
        else (lambda part: part.tocsc()[:, columns].toarray())
    )
    degree = np.maximum(np.diff(matrix.indptr), 1).astype(np.float32)
    two, three = to(step), to(step @ matrix)
    shared = to(sp.csr_array(own @ sp.diags_array(1 / degree)) @ matrix)
    near = (two > 0).astype(np.float32)
    return to(own), two, [near, np.log1p(two), shared, (three > 0) * (1 - near), np.log1p(three)]


def candidates(partial: Partial, source: np.ndarray, drawn: np.ndarray, also: np.ndarray) -> np.ndarray:
    """Choose the columns to look at.

    They are all nodes where they are few, else ``drawn``, ``also`` and those at two steps of a source;
    sorted, int64.
    """
    nodes = len(partial.degrees)
    if nodes <= EXACT_COLUMNS:
        return np.arange(nodes)
    reached = (sp.csr_array(partial.matrix[source]) @ partial.matrix).indices
    return np.unique(np.concatenate([drawn, also, reached])).astype(np.int64)
