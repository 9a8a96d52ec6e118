"""Groups of attribute values in the model of ``anchored``, a node's for all steps. Post-processing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from core.generators._shared.frame.model import same_columns
from core.generators._shared.node_values.ends import Ends, over_steps
from core.generators._shared.relations.affinity import affinity

if TYPE_CHECKING:
    from core.generators.anchored.model import AnchoredModel


class PairsOfGroups:
    """Every step has degrees; groups gain or lose log odds when its edges exchange their ends."""

    def ends(self, model: AnchoredModel) -> Mapping[str, Ends]:
        return over_steps(
            (
                name,
                columns["source_degrees"],
                None if model.shape(name).undirected else columns["target_degrees"],
            )
            for (name, _), columns in model.cells.items()
        )

    def communities(self, model: AnchoredModel, relation: str) -> np.ndarray | None:
        return None

    def mixed(
        self, model: AnchoredModel, groups: Mapping[str, np.ndarray], shares: Mapping[str, np.ndarray]
    ) -> AnchoredModel:
        ends, cells = self.ends(model), dict(model.cells)
        for name, share in shares.items():
            own = [key for key in model.cells if key[0] == name]
            first = own[0]
            steps = 1 if model.schema.edge_type(name).once else len(own)
            of_node = groups[model.schema.edge_type(name).source]
            odds = affinity(share, ends[name], of_node, steps)
            cells[first] = {**model.cells[first], "group": of_node.astype(np.int32), "affinity": odds}
        return replace(model, cells=same_columns(cells))
