"""The fitted model of ``projection``.

It is paid-for columns of a relation, and how a graph is sampled from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from core.graphs.graph import Graph
from core.methods._shared.degrees.fitted import DegreeLaw
from core.methods._shared.frame.declared import drawn_graph
from core.methods._shared.frame.model import StoredCells, edge_table, load_stored
from core.methods.base import FittedModel, Progress, Training
from core.methods.projection.deal import drawn
from core.methods.projection.draw import draw
from core.methods.projection.fit import met
from core.methods.projection.params import NAME, ProjectionParams, plain
from core.privacy.entropy import Generator as Rng
from core.privacy.reads.people import People

BETWEEN = (
    "The truth is below the lower end by noise once in 40 times, and above the upper one where few hubs have "
    "most edges: the law of what was cut off knows nothing of them."
)
BEYOND = "How many these have was drawn from a power law, not read: do not rely on the largest hubs."

Met = tuple[np.ndarray, float]
"""Edges inside each group, and across."""


@dataclass(frozen=True)
class PeopleModel(StoredCells, FittedModel):
    """One cell, a relation with all its steps together."""

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

    def known(self) -> tuple[DegreeLaw, float]:
        """Return the law of a person's edges, and the total. They are of all steps and directions."""
        (((name, _), columns),) = self.cells.items()
        shape = self.shape(name)
        law = DegreeLaw(columns["grid"].astype(np.float64), columns["mass"])
        if plain(shape.edge_type):
            return law, float(columns["inside"].sum() + columns["across"].sum())
        sides = 1 if shape.undirected else 2  # of both together, about
        return DegreeLaw(law.grid * sides, law.mass), float(columns["total"][0])

    def totals(self) -> dict[str, tuple[float, float]]:
        """Return where each relation's true number of edges is expected; models of before state none."""
        return {
            name: (float(columns["between"][0]), float(columns["between"][1]))
            for (name, _), columns in self.cells.items()
            if len(columns.get("between", ()))
        }

    def training(self) -> Training:
        """Say how exact the number of edges is, and whether hubs lie beyond what was counted."""
        notes = [
            f"{name}: by the paid numbers there are {low:.0f} to {high:.0f} edges. {BETWEEN}"
            for name, (low, high) in self.totals().items()
        ]
        (((name, _), columns),) = self.cells.items()
        for side, grid, mass in (("", "grid", "mass"), (" coming in", "grid_in", "mass_in")):
            for theta in columns.get("theta", ()):
                law = columns.get(grid, np.empty(0))
                many = self.shape(name).source_count * float(columns.get(mass, law)[law > theta].sum())
                if many >= 1:
                    counted = f"more than {theta} edges{side}, which is as far as a person's were counted"
                    notes.append(f"{name}: about {many:.0f} persons have {counted}. {BEYOND}")
        return Training(notes=tuple(notes))

    def public_labels(self) -> np.ndarray | None:
        """Return the public groups by which edges meet.

        They are int64 (n,); None where they meet by chance.
        """
        (columns,) = self.cells.values()
        return columns["labels"].astype(np.int64) if len(columns["inside"]) > 1 else None

    def meets(self, people: People, attribute: str, labels: np.ndarray, nano_epsilon: int) -> Met:
        """Pay for edges inside and across groups of values.

        They are of a protected attribute.

        ``labels`` (bins,): the group of each bin, public or paid for.
        """
        return met(people, self.known(), attribute, labels, nano_epsilon)

    def grouped(self, labels: np.ndarray, met: Met) -> PeopleModel:
        """Return the model with edges mixed by these groups. They are of persons, (n,), as was paid for."""
        ((cell, columns),) = self.cells.items()
        inside, across = met
        own = {"labels": labels.astype(np.int32), "inside": inside, "across": np.array([across])}
        return replace(self, cells={cell: {**columns, **own}})


def load(folder: Path) -> PeopleModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    return PeopleModel(**vars(load_stored(folder, NAME, ProjectionParams)))
