"""The interface of ``dpggan``, ``dpgvae`` and their backbones.

The first two are with and without a discriminator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import errors
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
from core.methods.room import require_nodes
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from papers._shared.unprotected import unprotected_plan
from papers.dpggan import paper
from papers.dpggan.budget import composition, make_plan, shares_of_hat
from papers.dpggan.idle import idle
from papers.dpggan.params import BackboneParams, LinkParams

if TYPE_CHECKING:
    from core.graphs.schema import GraphSchema
    from core.privacy.session.private_graph import PrivateGraph
    from papers.dpggan.model import LinkModel

USEFUL_NODES = 1_000
"""A GPU is useful to networks of so many nodes, all graphs of a collection together; smaller ones are some
hundred operations, whose number is what costs. It is needed by no size: the steps are bounded."""


def of_networks(trains: bool, nodes: Mapping[str, int]) -> Accelerator:
    """A GPU is useful where networks are trained, from USEFUL_NODES nodes on."""
    return Accelerator.USEFUL if trains and sum(nodes.values()) >= USEFUL_NODES else Accelerator.NONE


@dataclass(frozen=True)
class LinkMethod:
    """``dpggan`` and ``dpgvae``, by their differences.

    See the package for what they read and why that is sound.
    """

    module: str
    name: str
    title: str
    summary: str
    Params: type[Parameters] = LinkParams

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
            needs=("torch",),
            assurance="experimental",
            Params=self.Params,
            accepts=GraphKinds(static=True, heterogeneous=True),
            units=frozenset({Unit.EDGE}),
            kinds=frozenset({GuaranteeKind.PURE, GuaranteeKind.APPROXIMATE, GuaranteeKind.NONE}),
            plan=self.plan,
            fit=self.fit,
            load=self.load,
            claim=self.claim,
            require_room=self.require_room,
            true_shares=self.true_shares,
            accelerator=self.accelerator,
            resume=self.resume,
        )

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Divide epsilon by :mod:`papers.dpggan.budget`; variant paper is one unprotected access.

        A parameter that could change nothing beside the others, or at this size and epsilon, is refused.
        """
        require_accepted(self.edges, public)
        require_heeded(params, idle(params, public))
        if params.variant == "paper":
            return unprotected_plan(self.name, public, paper.REASON)
        return make_plan(self.name, params, public)

    def require_room(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> None:
        """Check the degrees that a frame reads of every relation. See :class:`Method`."""
        if params.variant != "paper" and params.frame:
            for name in {each.edge_type for each in plan.allotments}:
                require_nodes(schema, name, nodes)

    def accelerator(self, params: Any, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
        """Useful to variant paper, and to link-sgd with networks or the mlp decoder, from 1,000 nodes on."""
        trains = params.variant == "paper"
        if not trains and (params.inputs == "networks" or params.decoder == "mlp"):
            trains = bool(composition(params, public).links)
        return of_networks(trains, nodes)

    def claim(self, params: Any, public: PublicFacts) -> Claimed | None:
        """Return what the paper claims for its own form. None for ours, and for steps of no epsilon."""
        claims = params.variant == "paper" and params.way.calibrated
        return paper.claim_of(params.claimed_epsilon) if claims else None

    def true_shares(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Mapping[str, tuple[float, float]]:
        """Compute shares of true edges where noisy graphs are followed. See ``budget.shares_of_hat``."""
        return {} if params.variant == "paper" else shares_of_hat(params, plan, schema, nodes)

    def fit(
        self,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
        checkpoint: Path | None = None,
    ) -> LinkModel:
        """Fit the model, at the plan's cost.

        With ``checkpoint``, an empty folder, :meth:`resume` can go on with a sound fit that was cut short
        after its last read.
        """
        if params.variant == "paper":
            from papers.dpggan.raw import fit_paper

            return fit_paper(self.name, graph, params, progress)
        from papers.dpggan.fit import fit_sound

        if checkpoint is not None and checkpoint.exists() and any(checkpoint.iterdir()):
            raise errors.InvalidInput("a checkpoint begins in an empty folder", field="checkpoint")
        return fit_sound(self.name, graph, plan, params, progress, checkpoint)

    def resume(self, checkpoint: Path, progress: Progress) -> LinkModel:
        """Resume a fit from the state in ``checkpoint``.

        All that it reads had been read. It takes no graph. Raises InvalidInput where there is no such state.
        On a CPU the weights are those of a fit that was not cut short, bit for bit.
        """
        from papers.dpggan.model import WEIGHTS, facts_of, load
        from papers.dpggan.training import finished

        if not (checkpoint / WEIGHTS).exists():
            raise errors.InvalidInput("the folder holds no training that can go on", field="checkpoint")
        facts = facts_of(checkpoint)
        if "seed" not in facts:
            raise errors.InvalidInput("the folder holds a model, which is complete", field="checkpoint")
        begun = load(checkpoint, self.name, self.Params)
        return finished(begun, facts["seed"], facts["deviation"], progress)

    def load(self, folder: Path) -> LinkModel:
        """Read the model that its ``save`` wrote."""
        from papers.dpggan.model import load

        return load(folder, self.name, self.Params)


@dataclass(frozen=True)
class BackboneMethod:
    """``gvae`` and ``ggan``. They are the networks on the raw graph, under no guarantee."""

    module: str
    name: str
    title: str
    summary: str
    Params: type[BackboneParams] = BackboneParams

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
            accepts=GraphKinds(static=True, heterogeneous=True),
            units=frozenset({Unit.EDGE}),
            kinds=frozenset({GuaranteeKind.NONE}),
            plan=self.plan,
            fit=self.fit,
            load=self.load,
            accelerator=self.accelerator,
        )

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Plan one unprotected access to the whole graph."""
        require_accepted(self.method(), public)
        return unprotected_plan(self.name, public, paper.BACKBONE_REASON)

    def accelerator(self, params: Any, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
        """Useful from 1,000 nodes on."""
        return of_networks(True, nodes)

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> LinkModel:
        """Fit the model; the raw graph's edges go into it."""
        from papers.dpggan.raw import fit_backbone

        return fit_backbone(self.name, graph, params, progress)

    def load(self, folder: Path) -> LinkModel:
        """Read the model that its ``save`` wrote."""
        from papers.dpggan.model import load

        return load(folder, self.name, self.Params)
