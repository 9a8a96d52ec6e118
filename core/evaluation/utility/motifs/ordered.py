"""A graph renumbered by ascending degree, for the kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.evaluation.view import UndirectedView


@dataclass(frozen=True)
class Ordered:
    """Symmetric CSR and its upper half.

    Node numbers ascend with degree, columns ascend in a row.

    ``indptr``, ``out_ptr`` int64 of n + 1, ``indices`` int32 of 2m, ``out`` int32 of m, ``low`` int32 of m:
    edge e joins ``low[e] < out[e]``. ``edge_id`` gives the edge behind every entry of ``indices``.
    """

    degrees: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    out_ptr: np.ndarray
    out: np.ndarray
    low: np.ndarray

    @classmethod
    def of(cls, view: UndirectedView) -> Ordered:
        """Renumber the view's graph. O(n log n + m log m)."""
        n = view.node_count
        order = np.argsort(view.degrees, kind="stable")
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        u, v = rank[view.u], rank[view.v]
        low, high = np.minimum(u, v), np.maximum(u, v)
        keys = np.sort(low * n + high)
        low, high = keys // max(n, 1), keys % max(n, 1)
        keys = np.sort(np.concatenate([keys, high * n + low]))
        return cls(
            degrees=view.degrees[order].astype(np.int64),
            indptr=_offsets(view.degrees[order]),
            indices=(keys % max(n, 1)).astype(np.int32),
            out_ptr=_offsets(np.bincount(low, minlength=n)),
            out=high.astype(np.int32),
            low=low.astype(np.int32),
        )

    @property
    def edge_id(self) -> np.ndarray:
        """Edge behind every entry of ``indices``, int64. O(m log m)."""
        row = np.repeat(np.arange(len(self.degrees)), self.degrees)
        upper = self.indices > row
        edges = np.empty(len(row), dtype=np.int64)
        edges[upper] = np.arange(len(self.out))
        # Entries below the diagonal run by high end, then low end.
        edges[~upper] = np.lexsort((self.low, self.out))
        return edges

    def cost(self, steps: int) -> float:
        """Price random steps in units of 2 to 4 ns.

        They are up to 9 times dearer where arrays of n outgrow caches.
        """
        return steps * (1 + min(len(self.degrees), 1 << 20) / (1 << 17))

    @property
    def out_degrees(self) -> np.ndarray:
        """Number of higher-numbered neighbours of every node."""
        return np.diff(self.out_ptr)

    def at_ends(self, to_low: np.ndarray, to_high: np.ndarray) -> np.ndarray:
        """Sum edges' int64 values exactly, per node.

        Every edge gives them to its lower and to its higher end.
        """
        sums = np.zeros(len(self.degrees), dtype=np.int64)
        np.add.at(sums, self.low, to_low)
        np.add.at(sums, self.out, to_high)
        return sums


def _offsets(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
