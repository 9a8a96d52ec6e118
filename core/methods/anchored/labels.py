"""Groups of attribute values in models of ``anchored``. A node has one for all steps. Post-processing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import same_columns
from core.methods._shared.node_values.ends import Ends, over_steps
from core.methods._shared.relations.affinity import affinity
from core.methods.anchored.model import AnchoredModel


class PairsOfGroups:
    """A model with degrees at every step, mixed by groups.

    Groups gain or lose log odds when its edges exchange their ends.
    """

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
            relation = model.schema.edge_type(name)
            # A pair that occurs once has one edge at most in all steps together.
            steps = 1 if relation.once else len(own)
            met = groups.get(relation.source), groups.get(relation.target)
            if relation.homogeneous:
                columns = _inside(share, ends[name], groups[relation.source], steps)
            else:
                columns = _between(share, ends[name], *met, steps)
            cells[own[0]] = {**model.cells[own[0]], **columns}
        return replace(model, cells=same_columns(cells))


def _inside(share: np.ndarray, ends: Ends, groups: np.ndarray, steps: int) -> Columns:
    return {"group": groups.astype(np.int32), "affinity": affinity(share, ends, groups, steps)}


def _between(
    share: np.ndarray, ends: Ends, sources: np.ndarray | None, targets: np.ndarray | None, steps: int
) -> Columns:
    """Groups of both types, and the odds of those that have nodes; nothing where one type has no values, as
    all its nodes are alike then."""
    if sources is None or targets is None:
        return {}
    odds = affinity(share, ends, sources, steps, targets)
    used = odds[: int(sources.max(initial=0)) + 1, : int(targets.max(initial=0)) + 1]
    return {
        "group": sources.astype(np.int32),
        "target_group": targets.astype(np.int32),
        "affinity": used.ravel(),
    }
