"""How degrees and triangles are told and met, and what a caller may set of it. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from pydantic import Field, model_validator

from core.methods._shared.frame.plan import divide
from core.methods.base import Parameters


class Triangled(Protocol):
    """How a cell's epsilon is divided, and how its graph is rewired; see :class:`TriangleParameters`."""

    @property
    def count_share(self) -> float: ...
    @property
    def tail_share(self) -> float: ...
    @property
    def triangle_share(self) -> float: ...
    @property
    def product_share(self) -> float: ...
    @property
    def transitivity(self) -> float: ...
    @property
    def band(self) -> float: ...
    @property
    def proposals(self) -> float: ...


class TriangleParameters(Parameters):
    """Parameters of a method that draws by degrees and triangles. All of it is public and reported."""

    READS: ClassVar[tuple[str, ...]] = ("count", "tail", "triangle", "product", "degree")
    RETIRED: ClassVar[Mapping[str, Any]] = {"band": 0.02, "proposals": 150.0}

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
    band: ClassVar[float] = RETIRED["band"]
    """Relative distance from the sum of degree products within which rewiring moves freely."""
    proposals: ClassVar[float] = RETIRED["proposals"]
    """Rewirings tried for each end of an edge, at most."""

    @model_validator(mode="after")
    def _leaves_the_degrees_a_share(self) -> TriangleParameters:
        if self.count_share + self.tail_share + self.triangle_share + self.product_share > 0.99:
            raise ValueError("the shares must leave at least 0.01 for the degrees")
        return self


def shares(params: Triangled, nano_epsilon: int, products: bool = True) -> dict[str, int]:
    """Divide ``nano_epsilon`` among the reads that are paid for; without ``products`` degrees get theirs."""
    named = {
        "count": params.count_share,
        "tail": params.tail_share,
        "triangle": params.triangle_share,
        "product": params.product_share if products else 0,
    }
    named = {name: share for name, share in named.items() if share}
    return dict(zip((*named, "degree"), divide(nano_epsilon, *named.values()), strict=True))
