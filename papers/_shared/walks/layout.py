"""The public half of a typed graph with time.

Global node numbers over all types, and its relations. A *learned* relation has its edges made by walks: those
with time, or all of them where none has time. A graph without time has one step, number 0 here and None in
its cells' names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core.graphs.graph import Graph
from core.graphs.schema import EdgeType, GraphSchema
from core.privacy.accounting.plan import CellKey
from core.privacy.queries import Shape


@dataclass(frozen=True)
class Relation:
    """One protected relation. Its declaration, and its ends as numbers of node types."""

    declared: EdgeType
    source: int
    target: int
    learned: bool

    @property
    def name(self) -> str:
        """The relation's name."""
        return self.declared.name


@dataclass(frozen=True)
class Layout:
    """The public half of a typed graph.

    Node ``offset[type] + index`` stands for a type's node of that index.

    ``types`` in the schema's order, ``offsets`` (types + 1,) int64, ``steps`` at least 1.
    """

    schema: GraphSchema
    types: tuple[str, ...]
    offsets: np.ndarray
    relations: tuple[Relation, ...]
    steps: int

    @classmethod
    def of(cls, schema: GraphSchema, counts: Mapping[str, int], edge_types: tuple[str, ...]) -> Layout:
        """Lay out the protected relations ``edge_types``. They lie over universes of the sizes ``counts``."""
        types = tuple(kind.name for kind in schema.node_types)
        offsets = np.concatenate([[0], np.cumsum([counts[name] for name in types])]).astype(np.int64)
        declared = [schema.edge_type(name) for name in edge_types]
        timed = any(relation.temporal for relation in declared)
        relations = tuple(
            Relation(each, types.index(each.source), types.index(each.target), each.temporal or not timed)
            for each in declared
        )
        return cls(schema, types, offsets, relations, schema.steps if timed else 1)

    @property
    def nodes(self) -> int:
        """The number of nodes of all types."""
        return int(self.offsets[-1])

    @property
    def counts(self) -> dict[str, int]:
        """The size of every node universe."""
        return {name: int(size) for name, size in zip(self.types, np.diff(self.offsets), strict=True)}

    @property
    def edge_types(self) -> tuple[str, ...]:
        """The names of the relations."""
        return tuple(relation.name for relation in self.relations)

    @cached_property
    def allowed(self) -> np.ndarray:
        """Return which types may be neighbours in a walk. The result is (types, types) bool, symmetric."""
        mask = np.zeros((len(self.types), len(self.types)), dtype=bool)
        for relation in self.relations:
            mask[relation.source, relation.target] = mask[relation.target, relation.source] = True
        return mask

    def type_of(self, nodes: np.ndarray) -> np.ndarray:
        """Find the type numbers of global nodes; int64. O(nodes log types)."""
        return np.searchsorted(self.offsets, nodes, side="right") - 1

    def shape(self, relation: Relation) -> Shape:
        """Return the public shape of a relation's cells."""
        sizes = np.diff(self.offsets)
        return Shape(relation.declared, int(sizes[relation.source]), int(sizes[relation.target]))

    def cells(self, learned: bool | None = None) -> list[tuple[CellKey, Relation]]:
        """List cells in declared order.

        They are all, or those of learned relations, or those of the others.
        """
        return [
            ((relation.name, step), relation)
            for relation in self.relations
            if learned is None or relation.learned == learned
            for step in self.schema.steps_of(relation.name)
        ]

    def ends(self, relation: Relation, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both global end nodes of a cell's keys; int64."""
        source, target = np.divmod(keys, self.shape(relation).target_count)
        return source + self.offsets[relation.source], target + self.offsets[relation.target]

    def to_json(self) -> dict[str, Any]:
        """Return the layout as JSON-able values."""
        return {
            "schema": self.schema.model_dump(mode="json"),
            "nodes": self.counts,
            "edge_types": list(self.edge_types),
        }


def keys_of(graph: Graph, layout: Layout) -> dict[CellKey, np.ndarray]:
    """List the sorted keys of every cell of a graph.

    This is for public graphs, and variants without a guarantee.
    """
    found = {}
    for (name, step), _ in layout.cells():
        cell = graph.cell(name, step)
        found[name, step] = cell.source.astype(np.int64) * cell.target_count + cell.target
    return found
