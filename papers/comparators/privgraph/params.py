"""The parameters of ``privgraph``. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field, model_validator

from core.methods._shared.values.share import ValueParameters


class PrivGraphParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("initialise", "adjust", "count")
    RETIRED: ClassVar[Mapping[str, Any]] = {"max_super_nodes": 2048}
    max_super_nodes: ClassVar[int] = RETIRED["max_super_nodes"]
    """Most super-nodes; their size grows beyond it, so that noisy cells stay bounded."""

    initialise_share: float = Field(
        default=1 / 3, gt=0, lt=1, description="Share of epsilon for the noisy super-graph."
    )
    adjust_share: float = Field(
        default=1 / 3,
        gt=0,
        lt=1,
        description="Share of epsilon for reassigning nodes; the rest buys degrees and edge counts.",
    )
    super_node_size: int = Field(
        default=20, ge=1, le=100_000, description="Nodes merged into one super-node."
    )

    @model_validator(mode="after")
    def _leaves_a_rest(self) -> PrivGraphParams:
        if self.initialise_share + self.adjust_share > 0.99:
            raise ValueError("initialise_share + adjust_share must leave at least 0.01 for the counts")
        return self
