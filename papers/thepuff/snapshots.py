"""The graph as THEPUFF's networks see it.

Global node numbers, and one undirected typed adjacency a step. Everything here is made of public facts and of
keys that were handed in: in the sound variant, keys of the perturbed graph, paid counts and paid degrees.

Learned relations have their edges made by the generator; the others (untimed relations of a temporal graph)
are seen by walks of every step and are made in another way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.privacy.accounting.plan import CellKey
from papers._shared.walks.layout import Layout


@dataclass(frozen=True)
class Snapshots:
    """A typed graph, step by step. All of it was handed in; nothing here reads a private graph.

    ``start`` (steps, nodes + 1) int64 and ``others`` integers: the neighbours of node v at step t, over the
    learned cells of the step and all other relations, are ``others[start[t, v] : start[t, v + 1]]``, in
    ascending order, hence type by type. Several edges between two nodes are several entries.
    ``anchors`` (m, 2) integers: the edges of learned cells as global (source, target), step by step; those of
    step t are rows ``anchor_start[t]`` to ``anchor_start[t + 1]``. ``counts``: the number of edges to be made
    in each learned cell. ``degrees``: paid degrees of both sides of a cell (twice the same vector where it is
    undirected), for the cells that have them.
    """

    layout: Layout
    start: np.ndarray
    others: np.ndarray
    anchors: np.ndarray
    anchor_start: np.ndarray
    counts: Mapping[CellKey, int]
    degrees: Mapping[CellKey, tuple[np.ndarray, np.ndarray]]

    @classmethod
    def of(
        cls,
        layout: Layout,
        keys: Mapping[CellKey, np.ndarray],
        counts: Mapping[CellKey, int],
        degrees: Mapping[CellKey, tuple[np.ndarray, np.ndarray]] | None = None,
    ) -> Snapshots:
        """Build the snapshots of the cells' ``keys``. O((m + steps * untimed edges) log + steps * nodes)."""
        kind = np.int32 if layout.nodes < 2**31 else np.int64
        still = _joined([layout.ends(each, keys[cell]) for cell, each in layout.cells(learned=False)])
        timed: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in range(layout.steps)]
        for cell, relation in layout.cells(learned=True):
            timed[cell[1] or 0].append(layout.ends(relation, keys[cell]))
        anchors = [_joined(parts) for parts in timed]
        start = np.empty((layout.steps, layout.nodes + 1), dtype=np.int64)
        others, begin = [], 0
        for step, ends in enumerate(anchors):
            both = np.concatenate([ends, still])
            row, other = np.concatenate([both, both[:, ::-1]]).T
            others.append(other[np.lexsort((other, row))].astype(kind))
            start[step] = begin + np.concatenate([[0], np.cumsum(np.bincount(row, minlength=layout.nodes))])
            begin += len(row)
        return cls(
            layout,
            start,
            np.concatenate(others),
            np.concatenate(anchors).astype(kind),
            np.concatenate([[0], np.cumsum([len(part) for part in anchors])]).astype(np.int64),
            dict(counts),
            dict(degrees or {}),
        )

    @cached_property
    def step_counts(self) -> np.ndarray:
        """Count the edges to be made at each step. They are over the learned cells; (steps,) int64."""
        total = np.zeros(self.layout.steps, dtype=np.int64)
        for (_, step), count in self.counts.items():
            total[step or 0] += count
        return total

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all columns, counts and the layout. O(m + steps * nodes)."""
        facts = [self.layout.to_json(), [[*cell, count] for cell, count in self.counts.items()]]
        found = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
        sides = [side for cell in self.counts for side in self.degrees.get(cell, ())]
        for column in (self.start, self.others, self.anchors, self.anchor_start, *sides):
            found.update(f"{column.dtype}{column.shape}".encode())
            found.update(np.ascontiguousarray(column).data)
        return found.hexdigest()

    def node_degrees(self, step: int) -> np.ndarray:
        """Compute each node's degree at a step.

        It is paid where there are paid degrees; (nodes,) float64. Over the learned cells of the step and all
        other relations; what is not paid for is counted in the adjacency that was handed in. O(nodes + m of
        the step).
        """
        found: np.ndarray = np.diff(self.start[step]).astype(np.float64)
        rows = self.anchors[self.anchor_start[step] : self.anchor_start[step + 1]]
        paid = {cell: sides for cell, sides in self.degrees.items() if (cell[1] or 0) == step}
        if not paid:
            return found
        # Paid degrees take the place of the learned cells' edges: all cells of a step have paid, or none.
        found -= np.bincount(rows.ravel(), minlength=self.layout.nodes)
        for (name, _), (source, target) in paid.items():
            relation = next(each for each in self.layout.relations if each.name == name)
            first = int(self.layout.offsets[relation.source])
            found[first : first + len(source)] += source
            if not self.layout.shape(relation).undirected:
                first = int(self.layout.offsets[relation.target])
                found[first : first + len(target)] += target
        return found


def _joined(parts: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Join many (source, target) columns into (m, 2) int64 rows."""
    if not parts:
        return np.empty((0, 2), dtype=np.int64)
    return np.concatenate([np.stack(ends, axis=1) for ends in parts])
