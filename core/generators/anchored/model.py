"""The fitted model of ``anchored``: the columns of every cell, and graphs drawn from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.generators._shared.frame.declared import drawn_graph
from core.generators._shared.frame.model import StoredCells, edge_table, load_stored
from core.generators._shared.relations.draw import Relation
from core.generators._shared.relations.params import AnchoredParams
from core.generators.base import Progress
from core.graphs.graph import Graph
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape


@dataclass(frozen=True)
class AnchoredModel(StoredCells):
    """Paid-for output only, but for lazy evidence, which holds a cell's edges and is private content."""

    params: AnchoredParams

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """One synthetic graph over the same universe, nodes aligned by index and without ids.

        The same ``rng`` state gives the same graph. The steps of a relation are drawn one after another.
        """
        drawn: dict[str, list[tuple[int | None, np.ndarray]]] = {}
        relations: dict[str, Relation] = {}
        for done, ((name, step), columns) in enumerate(self.cells.items()):
            progress("sample", done, len(self.cells))
            if name not in relations:
                relations[name] = Relation(self.shape(name), self.params)
            drawn.setdefault(name, []).append((step, relations[name].draw(columns, rng)))
        progress("sample", len(self.cells), len(self.cells))
        edges = {name: edge_table(cells, self.shape(name).target_count) for name, cells in drawn.items()}
        return drawn_graph(self.schema, self.nodes, edges, rng)

    def shape(self, edge_type: str) -> Shape:
        """The public shape of a relation's cells."""
        relation = self.schema.edge_type(edge_type)
        return Shape(relation, self.nodes[relation.source], self.nodes[relation.target])


def load(folder: Path, method: str) -> AnchoredModel:
    """The model that its ``save`` wrote; ValueError where its files contradict one another."""
    stored = load_stored(folder, method, AnchoredParams)
    assert isinstance(stored.params, AnchoredParams)
    return AnchoredModel(method, stored.schema, stored.nodes, stored.params, stored.cells)
