"""The fitted model of ``projection``: paid-for columns of a relation, and how a graph is drawn of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.graphs.graph import Graph
from core.methods._shared.frame.declared import drawn_graph
from core.methods._shared.frame.model import StoredCells, edge_table, load_stored
from core.methods.base import FittedModel, Progress
from core.methods.projection.deal import drawn
from core.methods.projection.draw import draw
from core.methods.projection.params import ProjectionParams, plain
from core.privacy.entropy import Generator as Rng


@dataclass(frozen=True)
class PeopleModel(StoredCells, FittedModel):
    """One cell, that of a relation and of all its steps together."""

    params: ProjectionParams

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw one graph over the universes, without ids. The same ``rng`` state gives the same graph."""
        (((name, _), columns),) = self.cells.items()
        shape, steps = self.shape(name), self.schema.steps_of(name)
        progress("sample", 0, 1)
        if plain(shape.edge_type):
            keys = [draw(columns, shape.source_count, self.params, rng)]
        else:
            keys = drawn(columns, shape, rng)
        progress("sample", 1, 1)
        table = edge_table(list(zip(steps, keys, strict=True)), shape.target_count)
        return drawn_graph(self.schema, self.nodes, {name: table}, rng)


def load(folder: Path, method: str) -> PeopleModel:
    """Read the model that its ``save`` wrote; ValueError where its files contradict one another."""
    return PeopleModel(**vars(load_stored(folder, method, ProjectionParams)))
