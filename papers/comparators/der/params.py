"""The parameters of ``der``. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from core.methods._shared.values.share import ValueParameters


class DERParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("count", "order", "tree")
    RETIRED: ClassVar[Mapping[str, Any]] = {"max_depth": 9, "smallest_side": 4, "split_factor": 2.0}
    max_depth: ClassVar[int] = RETIRED["max_depth"]
    """Most levels of the quadtree: up to 4^depth / 2 regions."""
    smallest_side: ClassVar[int] = RETIRED["smallest_side"]
    """Nodes on the side of the smallest regions, at least."""
    split_factor: ClassVar[float] = RETIRED["split_factor"]
    """A region is cut when its noisy count exceeds this many deviations of a quarter's noise."""

    order: Literal["noisy_degree", "given"] = Field(
        default="noisy_degree",
        description="Nodes by falling noisy degree, or in the order of the public node list, which is free.",
    )
    count_share: float = Field(
        default=0.05, gt=0, le=0.5, description="Share of a cell's epsilon for its number of edges."
    )
    order_share: float = Field(
        default=0.4, gt=0, lt=1, description="Share for the degrees that order the nodes; unused if given."
    )

    @model_validator(mode="after")
    def _leaves_a_rest(self) -> DERParams:
        if self.count_share + self.order_share > 0.95:
            raise ValueError("count_share + order_share must leave at least 0.05 for the tree")
        return self
