"""How relations are read and drawn: the parameters of ``anchored``. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from core.methods._shared.node_values.share import NodeValueParameters
from core.methods._shared.values.share import ValueParameters


class AnchoredParams(ValueParameters, NodeValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"proposals_per_edge": 150.0, "deconvolve": True}
    proposals_per_edge: ClassVar[float] = RETIRED["proposals_per_edge"]
    """Swaps tried for each edge to follow the evidence; fewer for large cells."""
    deconvolve: ClassVar[bool] = RETIRED["deconvolve"]
    """Degrees follow the law that explains the noisy ones; else the noisy ones are only cut."""

    degree_share: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description=(
            "Share of a cell's epsilon for its edge count and degrees; evidence on pairs gets the rest. More "
            "copies fewer true edges and keeps degrees closer, less keeps more of who is linked to whom. By "
            "default a public rule of epsilon and of the sizes of the node universes decides."
        ),
    )
    tail_share: float = Field(
        default=0.1,
        ge=0,
        le=0.5,
        description=(
            "Share of an undirected relation's epsilon for degrees that pays for how many nodes have at "
            "least so many edges, which the law of its degrees then rests on too. Bought where their noise "
            "is small beside the nodes that may have an edge, else degrees get it; 0: none."
        ),
    )
    evidence: Literal["auto", "materialised", "lazy", "none"] = Field(
        default="auto",
        description=(
            "How randomised response on pairs is kept: as the pairs that it reports; slot by slot, by a "
            "keyed function, in a model with the true edges (computational assurance); not at all: degrees "
            "get everything, in static relations too; or as the sizes suggest."
        ),
    )
    spectral: bool = Field(
        default=False,
        description=(
            "Pay for a few directions in which sources and targets of timed relations prefer one another, by "
            "Gaussian noise, and draw by them too. Unit event and a delta; the guarantee is approximate."
        ),
    )
