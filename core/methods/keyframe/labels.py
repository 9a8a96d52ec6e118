"""Groups of attribute values in models of ``keyframe``. A node has one for all steps. Post-processing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from core.methods._shared.frame.model import CellsModel, same_columns
from core.methods._shared.node_values.ends import Ends, over_steps


class CrossedClasses:
    """A model that crosses degree classes with groups.

    Every step has ``degree`` (n,); groups are crossed with its degree classes when it is sampled.
    """

    def ends(self, model: CellsModel) -> Mapping[str, Ends]:
        return over_steps((name, columns["degree"], None) for (name, _), columns in model.cells.items())

    def communities(self, model: CellsModel, relation: str) -> np.ndarray | None:
        return None

    def mixed(
        self, model: CellsModel, groups: Mapping[str, np.ndarray], shares: Mapping[str, np.ndarray]
    ) -> CellsModel:
        cells = dict(model.cells)
        for (relation, step), columns in model.cells.items():
            if relation in shares:
                of_node = groups[model.schema.edge_type(relation).source].astype(np.int32)
                cells[relation, step] = {**columns, "group": of_node, "mixing": shares[relation]}
        return replace(model, cells=same_columns(cells))
