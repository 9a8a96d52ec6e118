"""The frame of defences of named links.

They are methods that publish an altered graph so that named links are hard to infer. They read the raw graph,
so the guarantee is ``none``. The sensitive links come from the curator's list; where there is none, a share
of every relation's links is sampled at random and treated as such, for evaluation (the service lets that
happen on datasets marked public only). The sensitive links are taken out first, in both directions, and no
method puts one back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.methods.base import (
    GraphKinds,
    Method,
    Progress,
    PublicFacts,
    require_accepted,
)
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from papers._shared.defences.visible import REASON, Altered, DefenceParams, Visible
from papers._shared.unprotected import unprotected_plan

if TYPE_CHECKING:
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.private_graph import PrivateGraph
    from papers._shared.defences.altered import AlteredModel


def defence(
    module: str,
    name: str,
    title: str,
    summary: str,
    Params: type[DefenceParams],
    altered: Callable[[Visible, Any, Rng, Progress], Altered],
    **answers: Any,
) -> Method:
    """Make a defence of untimed relations.

    They lie inside one node type, and each is by itself. A directed relation is treated as the pairs that it
    joins in either direction. A pair that is kept keeps its directions, a pair that is added points either
    way by a coin. ``altered(visible, params, rng, progress)`` chooses the pairs to publish of one relation;
    it imports what it needs, and its steps are fixed in number.
    """

    def plan(params: Any, public: PublicFacts) -> PrivacyPlan:
        """Plan one unprotected access to the whole graph; the sensitive links are a part of it."""
        require_accepted(made, public)
        return unprotected_plan(name, public, REASON)

    def fit(graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> AlteredModel:
        """Alter every relation that is not public and of this sort, and keep it as pairs with weights."""
        from papers._shared.defences.altered import fit_altered

        return fit_altered(name, altered, graph, params, progress)

    def load(folder: Path) -> AlteredModel:
        """Read the model that its ``save`` wrote."""
        from papers._shared.defences.altered import load_altered

        return load_altered(folder, name, Params)

    made = Method(
        module=module,
        name=name,
        title=title,
        summary=summary,
        assurance="experimental",
        Params=Params,
        accepts=GraphKinds(static=True, heterogeneous=True, attributed=True, directed=True),
        units=frozenset({Unit.EDGE}),
        kinds=frozenset({GuaranteeKind.NONE}),
        plan=plan,
        fit=fit,
        load=load,
        hides_links=True,
        **answers,
    )
    return made
