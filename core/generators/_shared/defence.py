"""The frame of defences: methods that publish an altered graph so that named links are hard to infer.

They read the raw graph, so the guarantee is ``none``. The sensitive links come from the curator's list; where
there is none, a share of every relation's links is drawn at random and treated as such, for evaluation (the
service lets that happen on datasets marked public only). The sensitive links are taken out first, in both
directions, and no method puts one back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from core.generators._shared.plan import unprotected_plan
from core.generators.base import (
    Assurance,
    GraphKinds,
    Parameters,
    Progress,
    PublicFacts,
    Training,
    require_accepted,
)
from core.privacy.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit

if TYPE_CHECKING:
    import numpy as np

    from core.generators._shared.altered import AlteredModel
    from core.graphs.graph import NodeTable
    from core.graphs.schema import NodeType
    from core.privacy.entropy import Generator as Rng
    from core.privacy.private_graph import PrivateGraph

REASON = (
    "A defence reads the raw graph and its sensitive links; it adds no noise that an epsilon could count."
)


class DefenceParams(Parameters):
    """What every defence may be told."""

    sensitive_share: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description=(
            "Share of each relation's links that is drawn at random and taken for sensitive, for evaluation: "
            "on datasets marked public whose curators have named none."
        ),
    )


@dataclass(frozen=True)
class Visible:
    """One relation as pairs of nodes ``low < high``, int64 keys ``low * nodes + high``, sorted.

    ``links``: those that are not sensitive; ``sensitive``: the others. Directions are dropped; they are given
    back to the links that are kept. ``kind`` and ``table``: the nodes, for public attributes.
    """

    nodes: int
    links: np.ndarray
    sensitive: np.ndarray = field(repr=False)
    kind: NodeType
    table: NodeTable


@dataclass(frozen=True)
class Altered:
    """What a defence gives out of one relation: pairs, int64 keys, sorted, and their weights in (0, 1].

    A weight is the probability that the pair is a link of a sample. ``training`` tells how they were learned.
    """

    keys: np.ndarray
    weights: np.ndarray
    training: Training = field(default_factory=Training)


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
        """The pairs to publish of one relation. Imports what it needs; steps are fixed in number."""

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """One unprotected access to the whole graph; the sensitive links are a part of it."""
        require_accepted(self, public)
        return unprotected_plan(self.name, public, REASON)

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> AlteredModel:
        """The altered graph as pairs with weights; every relation that is not public and of this sort."""
        from core.generators._shared.altered import fit_altered

        return fit_altered(self, graph, params, progress)

    def load(self, folder: Path) -> AlteredModel:
        """The model that its ``save`` wrote."""
        from core.generators._shared.altered import load_altered

        return load_altered(folder, self.name, self.Params)


def merged(trainings: Mapping[str, Training]) -> Training:
    """One account of several relations' trainings; curves and notes are named after them."""
    if len(trainings) == 1:
        return next(iter(trainings.values()))
    curves = {
        f"{name}: {key}": values for name, told in trainings.items() for key, values in told.curves.items()
    }
    notes = tuple(f"{name}: {note}" for name, told in trainings.items() for note in told.notes)
    return Training(curves, notes)
