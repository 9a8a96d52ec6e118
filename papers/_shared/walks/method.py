"""The interface of walk generators without a guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import errors
from core.methods.base import (
    Accelerator,
    GraphKinds,
    Method,
    Progress,
    PublicFacts,
    require_accepted,
)
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from papers._shared.unprotected import unprotected_plan
from papers._shared.walks.params import WalkParams

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateGraph
    from papers._shared.walks.model import WalkModel

USEFUL_NODES = 10_000
MOST_CELLS = 1_000
"""Relations and steps: the network keeps a number for each two labels, of which a cell has three."""
REASON = "It learns from random walks of the original graph and keeps its true numbers of edges."


@dataclass(frozen=True)
class WalkMethod:
    """The methods, by what they differ in.

    ``typed``: labels say relation and direction, and cells keep their numbers.
    """

    module: str
    name: str
    title: str
    summary: str
    typed: bool
    Params: type[WalkParams]

    def method(self) -> Method:
        """Make the method."""
        return Method(
            module=self.module,
            name=self.name,
            title=self.title,
            summary=self.summary,
            needs=("torch",),
            assurance="experimental",
            Params=self.Params,
            accepts=GraphKinds(static=True, temporal=True, heterogeneous=True, directed=True, bipartite=True),
            units=frozenset({Unit.EDGE, Unit.EVENT}),
            kinds=frozenset({GuaranteeKind.NONE}),
            plan=self.plan,
            fit=self.fit,
            load=self.load,
            accelerator=self.accelerator,
        )

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Plan one unprotected access to the whole graph; at most 1,000 cells (relations times steps).

        Walks go over every relation that is not public, whichever are asked for: all of them count.
        """
        require_accepted(self.method(), public)
        walked = (relation.name for relation in public.schema.edge_types if not relation.public)
        cells = sum(len(public.schema.steps_of(name)) for name in walked)
        if cells > MOST_CELLS:
            raise errors.NotAccepted(
                f"{self.name} takes {MOST_CELLS:,} cells (relations times steps) at most, not {cells:,}: "
                "declare a coarser time grid",
                field="edge_types",
            )
        return unprotected_plan(self.name, public, REASON)

    def accelerator(self, params: Any, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
        """Useful from 10,000 nodes on, all types together; never needed: the batches are bounded."""
        return Accelerator.USEFUL if sum(nodes.values()) >= USEFUL_NODES else Accelerator.NONE

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> WalkModel:
        """Train the model; the raw graph's edges go into it."""
        from papers._shared.walks.model import fit

        return fit(self.name, graph.unprotected(REASON), params, self.typed, progress)

    def load(self, folder: Path) -> WalkModel:
        """Read the model that its ``save`` wrote."""
        from papers._shared.walks.model import load

        return load(folder, self.name, self.Params, self.typed)
