"""The parameters of ``der``. Public facts only."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from core.methods._shared.values.share import ValueParameters


class DERParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("count", "order", "tree")

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
    max_depth: int = Field(
        default=9, ge=0, le=12, description="Most levels of the quadtree: up to 4^depth / 2 regions."
    )
    smallest_side: int = Field(
        default=4, ge=1, le=10_000, description="Nodes on the side of the smallest regions, at least."
    )
    split_factor: float = Field(
        default=2.0,
        ge=0,
        le=1e6,
        description="A region is cut when its noisy count exceeds this many deviations of a quarter's noise.",
    )

    @model_validator(mode="after")
    def _leaves_a_rest(self) -> DERParams:
        if self.count_share + self.order_share > 0.95:
            raise ValueError("count_share + order_share must leave at least 0.05 for the tree")
        return self
