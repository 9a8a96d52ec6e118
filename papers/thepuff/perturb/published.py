"""The model of ``thepuff_perturb`` in its published form. A perturbed graph, and what its coins cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.frame.model import CellsModel
from core.methods._shared.frame.percell import same_edges
from core.methods.base import Progress, Training
from papers.thepuff.paper import cost_notes, perturbed

if TYPE_CHECKING:
    from core.graphs.graph import Graph
    from core.methods._shared.frame.columns import Columns
    from core.privacy.accounting.plan import CellKey
    from papers.thepuff.perturb.params import ThepuffPerturbParams


class PublishedModel(CellsModel):
    """Perturbed cells and their probabilities.

    They have the columns ``key`` int64, and ``add`` and ``drop`` uint64 (1,), in units of 2^-64.
    """

    def training(self) -> Training:
        """Note what the fit's probabilities come to. Nothing was learned."""
        coins = {cell: (int(each["add"][0]), int(each["drop"][0])) for cell, each in self.cells.items()}
        return Training(notes=cost_notes(coins, self.params.epsilon_minus))  # type: ignore[attr-defined]


def as_published(model: CellsModel) -> PublishedModel:
    """Return the same cells, telling what they cost."""
    return PublishedModel(**vars(model))


def perturbed_model(
    method: str, graph: Graph, params: ThepuffPerturbParams, progress: Progress
) -> PublishedModel:
    """Perturb every protected relation by Algorithm 1.

    It is one of a raw graph that is not public. O(edges in and out).
    """
    progress("fit", 0, 1)
    names = tuple(each.name for each in graph.schema.edge_types if not each.public)
    cells: dict[CellKey, Columns] = {
        cell: {
            "key": found.keys,
            "add": np.array([found.add], dtype=np.uint64),
            "drop": np.array([found.drop], dtype=np.uint64),
        }
        for cell, found in perturbed(graph, names, params.epsilon_minus).items()
    }
    progress("fit", 1, 1)
    counts = {name: table.count for name, table in graph.nodes.items()}
    return PublishedModel(method, graph.schema, counts, params, cells, same_edges)
