"""Parameters of how degrees and triangles are measured and met. Public facts only."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, model_validator

from core.methods._shared.frame.plan import divide
from core.methods.base import Parameters

NO_PRODUCTS = "degree products are not aimed at; a product_share above 0 asks for them"


class TriangleParameters(Parameters):
    """Parameters of a method that draws by degrees and triangles. All of it is public and reported."""

    READS: ClassVar[tuple[str, ...]] = ("count", "tail", "triangle", "product", "degree")

    count_share: float = Field(
        default=0.05, gt=0, lt=1, description="Share of a cell's epsilon for its number of edges."
    )
    tail_share: float = Field(
        default=0.15,
        ge=0,
        lt=1,
        description=(
            "Share of a cell's epsilon for how many nodes have at least so many edges, which the law of "
            "degrees rests on; 0: on noisy degrees alone."
        ),
    )
    triangle_share: float = Field(
        default=0.3,
        ge=0,
        lt=1,
        description="Share of a cell's epsilon for the number of triangles; 0: the public guess alone.",
    )
    product_share: float = Field(
        default=0.05,
        ge=0,
        lt=1,
        description=(
            "Share of a cell's epsilon for the sum of degree products over edges, which assortativity rests "
            "on; 0: it is not aimed at. Degrees get what is left."
        ),
    )
    transitivity: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="Public guess of the transitivity, for when the noisy triangles tell little.",
    )
    band: float = Field(
        default=0.02,
        ge=0,
        le=1,
        description="Relative distance from the sum of degree products within which rewiring moves freely.",
    )
    proposals: float = Field(
        default=150, ge=0, le=1000, description="Rewirings tried for each end of an edge, at most."
    )

    @model_validator(mode="after")
    def _leaves_the_degrees_a_share(self) -> TriangleParameters:
        if self.count_share + self.tail_share + self.triangle_share + self.product_share > 0.99:
            raise ValueError("the shares must leave at least 0.01 for the degrees")
        return self


def shares(params: TriangleParameters, nano_epsilon: int) -> dict[str, int]:
    """Return the nano-epsilon of every paid read. They sum to ``nano_epsilon``."""
    named = {
        "count": params.count_share,
        "tail": params.tail_share,
        "triangle": params.triangle_share,
        "product": params.product_share,
    }
    named = {name: share for name, share in named.items() if share}
    return dict(zip((*named, "degree"), divide(nano_epsilon, *named.values()), strict=True))
