"""The parameters of ``dcsbm`` and its presets. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from core.methods._shared.frame.presets import PresetParameters
from core.methods._shared.node_values.share import NodeValueParameters
from core.methods._shared.values.share import ValueParameters


@dataclass(frozen=True)
class Way:
    """How a preset rewires, which nobody sets by itself.

    ``spread``: standard deviation of the assortativity that degrees and labels alone get wrong; more trusts
    the noisy degree products further. ``band``: relative distance from the sum of degree products within
    which rewiring moves freely; None: half the standard deviation of that sum's noise. ``proposals``:
    rewirings tried for each end of an edge, at most.
    """

    spread: float = 0.03
    band: float | None = None
    proposals: float = 60.0


WAYS: Mapping[str, Way] = {"default": Way(), "small": Way(0.05, 0.02, 150.0), "who": Way(), "plane": Way()}
PRESETS: Mapping[str, Mapping[str, float | str]] = {
    "default": {},
    "small": {
        "groups": 1,
        "degree_share": 0.43,
        "tail_share": 0.15,
        "triangle_share": 0.29,
        "clustering_share": 0,
        "transitivity": 0.1,
    },
    "who": {
        "groups": 1,
        "degree_share": 0.73,
        "tail_share": 0.05,
        "block_share": 0.02,
        "triangle_share": 0.06,
        "clustering_share": 0.06,
    },
    "plane": {
        "geometry": "plane",
        "groups": 1,
        "degree_share": 0.3,
        "tail_share": 0.42,
        "triangle_share": 0.2,
        "clustering_share": 0,
        "product_share": 0,
    },
}
"""What a preset sets apart from the parameters' own defaults, which are the preset ``default``."""


class DCSBMParams(PresetParameters, ValueParameters, NodeValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    PRESETS = PRESETS
    WAYS = WAYS
    RETIRED: ClassVar[Mapping[str, float]] = {"core": 0.2, "forward_share": 0.6, "resolution": 1.0}
    READS = ("count", "degree", "tail", "block", "triangle", "clustering", "product", "label")

    preset: Literal["default", "small", "who", "plane"] = Field(
        default="default",
        description=(
            "Values for all that is not set. 'small' is for graphs of few edges: one label, no clustering, "
            "and triangles that lean on a public guess. 'who' is for who has many edges: three quarters of "
            "epsilon for degrees, one label, at the cost of clustering. 'plane' is for roads and grids."
        ),
    )
    degree_share: float = Field(
        default=0.18,
        gt=0,
        lt=1,
        description=(
            "Share of epsilon for noisy degrees. Labels get what all shares leave; where the paid number of "
            "edges says that labels cannot be told, that goes to degrees, tails, triangles and clustering."
        ),
    )
    block_share: float = Field(
        default=0.05, gt=0, lt=1, description="Share of epsilon for edge counts inside and between labels."
    )
    count_share: float = Field(
        default=0.01,
        ge=0,
        lt=1,
        description=(
            "Share of epsilon for the number of edges, read first: it decides whether there are labels. 0: "
            "there are always 2 at least."
        ),
    )
    tail_share: float = Field(
        default=0.06,
        ge=0,
        lt=1,
        description=(
            "Share of epsilon for how many nodes have at least so many edges, which the law of degrees rests "
            "on; 0: on noisy degrees alone."
        ),
    )
    triangle_share: float = Field(
        default=0.06,
        ge=0,
        lt=1,
        description="Share of epsilon for the number of triangles; 0: it is not aimed at.",
    )
    clustering_share: float = Field(
        default=0.06,
        ge=0,
        lt=1,
        description="Share of epsilon for the sum of local clustering coefficients; 0: it is not aimed at.",
    )
    transitivity: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description=(
            "Public guess of the transitivity, which the noisy triangles are drawn towards by the variances "
            "of both; by default they stand alone."
        ),
    )
    product_share: float = Field(
        default=0.05,
        ge=0,
        lt=1,
        description=(
            "Share of epsilon for the sum of degree products over edges, which assortativity rests on; "
            "0: it is not aimed at."
        ),
    )
    groups: Annotated[int, Field(ge=1, le=64)] | Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description=(
            "Number of labels; by default as many as the noisy mean degree can tell apart, up to 16, and 1 "
            "where that is too few. Or the name of a public attribute of categories, whose values are the "
            "labels then: they cost nothing, and edges inside and between them are told best."
        ),
    )
    geometry: Literal["plane"] | None = Field(
        default=None,
        description=(
            "A public hint: 'plane' says that nodes are places and edges join near ones. Places are random."
        ),
    )

    core: ClassVar[float] = RETIRED["core"]
    """Share of the nodes, those of largest noisy degree, whose edges among them are read twice."""
    forward_share: ClassVar[float] = RETIRED["forward_share"]
    """The first reading's share of the labels' epsilon in the core."""
    resolution: ClassVar[float] = RETIRED["resolution"]
    """Weight of the neighbours that a label's size lets expect; more makes labels even."""

    @property
    def way(self) -> Way:
        """How the preset rewires."""
        return self.WAYS[self.preset]

    @model_validator(mode="after")
    def _leaves_the_labels_a_share(self) -> DCSBMParams:
        shares = (
            self.degree_share
            + self.block_share
            + self.triangle_share
            + self.product_share
            + self.count_share
            + self.tail_share
            + self.clustering_share
        )
        if shares > 0.99:
            raise ValueError("the shares must leave at least 0.01 for the labels")
        if self.product_share and not self.triangle_share:
            raise ValueError("product_share goes with triangle_share: both are met by one rewiring")
        if self.clustering_share and not self.triangle_share:
            raise ValueError("clustering_share goes with triangle_share: both are met by one rewiring")
        if self.geometry and (self.groups != 1 or self.clustering_share or self.product_share):
            raise ValueError(
                "geometry leaves groups, clustering and degree products to chance: take the preset plane"
            )
        if self.geometry and self.node_attribute_share:
            raise ValueError("geometry says which nodes are linked, not node_attribute_share: leave one out")
        return self
