"""The frame of defences: methods that publish an altered graph so that named links are hard to infer.

They read the raw graph, so the guarantee is ``none``. The sensitive links come from the curator's list; where
there is none, a share of every relation's links is drawn at random and treated as such, for evaluation (the
service lets that happen on datasets marked public only). The sensitive links are taken out first, in both
directions, and no method puts one back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from core.methods._shared.frame.plan import unprotected_plan
from core.methods.base import (
    Assurance,
    GraphKinds,
    Progress,
    PublicFacts,
    require_accepted,
)
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from papers._shared.defences.visible import REASON, Altered, DefenceParams, Visible

if TYPE_CHECKING:
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.private_graph import PrivateGraph
    from papers._shared.defences.altered import AlteredModel


class Defence(ABC):
    """Base of the defences, for relations without time inside one node type, each by itself.

    A directed relation is treated as the pairs that it joins in either direction. A pair that is kept keeps
    its directions, a pair that is added points either way by a coin.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    Params: ClassVar[type[DefenceParams]]
    assurance: Assurance = "experimental"
    accepts = GraphKinds(static=True, heterogeneous=True, attributed=True, directed=True)
    units = frozenset({Unit.EDGE})
    kinds = frozenset({GuaranteeKind.NONE})
    hides_links: ClassVar[bool] = True

    @abstractmethod
    def altered(self, visible: Visible, params: Any, rng: Rng, progress: Progress) -> Altered:
        """Choose the pairs to publish of one relation. Imports what it needs; steps are fixed in number."""

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Plan one unprotected access to the whole graph; the sensitive links are a part of it."""
        require_accepted(self, public)
        return unprotected_plan(self.name, public, REASON)

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> AlteredModel:
        """Alter every relation that is not public and of this sort, and keep it as pairs with weights."""
        from papers._shared.defences.altered import fit_altered

        return fit_altered(self.name, self.altered, graph, params, progress)

    def load(self, folder: Path) -> AlteredModel:
        """Read the model that its ``save`` wrote."""
        from papers._shared.defences.altered import load_altered

        return load_altered(folder, self.name, self.Params)
