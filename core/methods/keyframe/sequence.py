"""Steps that are sampled one after the other: of a step's edges a share stays in the next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.graphs.graph import Graph
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import CellsModel, drawn_by_cell
from core.methods.base import Progress
from core.methods.keyframe.draw import draw
from core.methods.keyframe.state import KeyframeState
from core.methods.keyframe.step import Memory
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import noise_generator


class StreamModel(CellsModel):
    """Paid-for columns of every step, in order. A step is sampled given the sample of the one before."""

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw one synthetic graph, step after step; see :func:`drawn_by_cell`."""
        last: dict[str, np.ndarray] = {}

        def drawn(name: str, columns: Columns) -> np.ndarray:
            last[name] = draw(columns, self.shape(name).source_count, self.params, rng, last.get(name))
            return last[name]

        return drawn_by_cell(self.schema, self.nodes, self.cells, drawn, rng, progress)


def live(
    model: CellsModel, memory: dict[str, Memory], before: dict[str, np.ndarray]
) -> tuple[CellsModel, KeyframeState]:
    """Draw a live snapshot's edges, which the model then holds. The next one may know them.

    What was published of the one before is in ``before``. Post-processing.
    """
    rng = noise_generator()
    cells: dict[tuple[str, int | None], Columns] = {}
    for (name, step), columns in model.cells.items():
        keys = draw(columns, model.shape(name).source_count, model.params, rng, before.get(name))
        cells[name, step] = {**columns, "key": keys}
        memory[name] = replace(memory[name], keys=keys)
    return replace(model, cells=cells), KeyframeState(memory)
