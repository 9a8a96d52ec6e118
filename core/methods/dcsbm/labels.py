"""Groups of attribute values as labels of ``dcsbm``: crossed with those that were read. Post-processing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from core.methods._shared.frame.model import CellsModel
from core.methods._shared.node_values.blocks import joined
from core.methods._shared.node_values.ends import Ends, over_steps


class CrossedLabels:
    """Every cell has ``labels`` (n,), ``degrees`` (n,) and ``blocks`` (k(k+1)/2,), edges between labels:
    communities that were read, public groups, or one label for all."""

    def ends(self, model: CellsModel) -> Mapping[str, Ends]:
        return over_steps((name, columns["degrees"], None) for (name, _), columns in model.cells.items())

    def communities(self, model: CellsModel, relation: str) -> np.ndarray | None:
        cells = [columns for (name, _), columns in model.cells.items() if name == relation]
        return cells[0]["labels"].astype(np.int64) if len(cells) == 1 else None

    def mixed(
        self, model: CellsModel, groups: Mapping[str, np.ndarray], shares: Mapping[str, np.ndarray]
    ) -> CellsModel:
        cells = dict(model.cells)
        for (relation, step), columns in model.cells.items():
            if relation not in shares:
                continue
            labels, blocks = joined(
                columns["labels"].astype(np.int64),
                columns["blocks"],
                groups[model.schema.edge_type(relation).source],
                shares[relation],
                columns["degrees"].astype(np.float64),
            )
            cells[relation, step] = {**columns, "labels": labels.astype(np.int32), "blocks": blocks}
        return replace(model, cells=cells)
