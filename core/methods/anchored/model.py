"""The fitted model of ``anchored``. The columns of every cell, and graphs sampled from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.graphs.graph import Graph
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import StoredCells, drawn_by_cell, load_stored
from core.methods._shared.relations.draw import Relation
from core.methods._shared.relations.params import AnchoredParams
from core.methods.anchored.allotted import NAME
from core.methods.base import FittedModel, Progress
from core.privacy.entropy import Generator as Rng


@dataclass(frozen=True)
class AnchoredModel(StoredCells, FittedModel):
    """Paid-for output only, but for lazy evidence. That holds a cell's edges and is private content."""

    params: AnchoredParams

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Sample one synthetic graph.

        The steps of a relation come one after another; see :func:`drawn_by_cell`.
        """
        names = {name for name, _ in self.cells}
        relations = {name: Relation(self.shape(name), self.params) for name in names}

        def draw(name: str, columns: Columns) -> np.ndarray:
            return relations[name].draw(columns, rng)

        return drawn_by_cell(self.schema, self.nodes, self.cells, draw, rng, progress)


def load(folder: Path) -> AnchoredModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    return AnchoredModel(**vars(load_stored(folder, NAME, AnchoredParams)))
