"""The interface of ``hetesdg`` and ``hetedp``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.methods._shared.frame.heeded import require_heeded
from core.methods._shared.frame.stages import staged
from core.methods._shared.values.stage import VALUES
from core.methods.base import (
    Accelerator,
    Claimed,
    GraphKinds,
    Method,
    Parameters,
    Progress,
    PublicFacts,
    require_accepted,
)
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from papers._shared.unprotected import unprotected_plan
from papers.hetesdg.budget import make_plan, require_room
from papers.hetesdg.idle import idle
from papers.hetesdg.params import HeteParams
from papers.hetesdg.published import paper
from papers.hetesdg.sides import require_closed

if TYPE_CHECKING:
    from core.graphs.schema import GraphSchema
    from core.privacy.session.private_graph import PrivateGraph
    from papers.hetesdg.model import HeteModel

USEFUL_NODES = 1_000
"""A GPU is useful to the link predictor from here on: 11,605 nodes (IMDB) took 49 CPU seconds."""


@dataclass(frozen=True)
class HeteMethod:
    """``hetesdg`` and ``hetedp``, by their differences.

    See the package for what they read and why that is sound.
    """

    module: str
    name: str
    title: str
    summary: str
    Params: type[Parameters] = HeteParams

    def method(self) -> Method:
        """Make the method: its edges, and what they carry."""
        return staged(self.edges, VALUES)

    @cached_property
    def edges(self) -> Method:
        """The method of bare edges."""
        return Method(
            module=self.module,
            name=self.name,
            title=self.title,
            summary=self.summary,
            needs=("sklearn", "torch"),
            assurance="experimental",
            Params=self.Params,
            accepts=GraphKinds(
                static=True, heterogeneous=True, attributed=True, directed=True, bipartite=True
            ),
            units=frozenset({Unit.EDGE}),
            kinds=frozenset({GuaranteeKind.PURE, GuaranteeKind.APPROXIMATE, GuaranteeKind.NONE}),
            plan=self.plan,
            fit=self.fit,
            load=self.load,
            claim=self.claim,
            require_room=self.require_room,
            accelerator=self.accelerator,
        )

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Divide epsilon by :mod:`papers.hetesdg.budget`; variant paper is one unprotected access.

        A parameter that could change nothing beside the others, or at this epsilon, is refused.
        """
        require_accepted(self.edges, public)
        require_heeded(params, idle(params, public))
        if params.variant == "paper":
            require_closed(public.schema, public.edge_types, params.meta_paths)
            return unprotected_plan(self.name, public, paper.REASON)
        return make_plan(self.name, params, public)

    def require_room(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> None:
        """Check tables, sums and noisy rows at their largest.

        The tables are of neighbours; see :class:`Method`.
        """
        if params.variant != "paper":
            require_room(params, plan, schema, nodes)

    def accelerator(self, params: Any, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
        """Useful where a link predictor is trained, from 1,000 nodes on."""
        trains = params.variant == "paper" or params.learn == "link-sgd"
        return Accelerator.USEFUL if trains and sum(nodes.values()) >= USEFUL_NODES else Accelerator.NONE

    def claim(self, params: Any, public: PublicFacts) -> Claimed | None:
        """Return what the paper claims for its own form. None for ours, and for its ablations."""
        if params.variant != "paper" or params.noise != "both":
            return None
        return paper.claim_of(self.name, params.claimed_epsilon)

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> HeteModel:
        """Fit the model, at the plan's cost at most."""
        if params.variant == "paper":
            from papers.hetesdg.published.fit import fit_paper

            return fit_paper(self.name, graph, params, progress)
        from papers.hetesdg.sound.fit import fit_sound

        return fit_sound(self.name, graph, plan, params, progress)

    def load(self, folder: Path) -> HeteModel:
        """Read the model that its ``save`` wrote."""
        from papers.hetesdg.model import load

        return load(folder, self.name, self.Params)
