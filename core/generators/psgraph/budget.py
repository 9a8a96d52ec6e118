"""PSGraph's parameters, and how it divides epsilon inside one step. Public facts only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from core.generators.base import Parameters
from core.privacy.events import NANO


class PSGraphParams(Parameters):
    """What a caller may set. All of it is public and enters the report."""

    count_share: float = Field(
        default=0.3,
        gt=0,
        le=0.5,
        description="Share of a step's epsilon for its number of edges, before the cap.",
    )
    count_cap: float = Field(
        default=0.06,
        gt=0,
        le=10,
        description="Most epsilon that a step spends on its number of edges (0.01 in the paper).",
    )
    initialise_share: float = Field(
        default=0.45,
        gt=0,
        lt=1,
        description="Share of the rest, after the count, for the noisy super-graph when partitioning anew.",
    )
    adjust_share: float = Field(
        default=0.25,
        gt=0,
        lt=1,
        description="Share of the rest, after the count, for reassigning nodes when partitioning anew.",
    )
    between_share: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description=(
            "Share of the perturbation budget for edge counts between communities; the degrees towards other "
            "communities get the rest (one half each in the paper)."
        ),
    )
    super_node_size: int = Field(
        default=15, ge=1, le=100_000, description="Nodes merged into one super-node."
    )
    max_super_nodes: int = Field(
        default=1024,
        ge=1,
        le=8192,
        description="Most super-nodes; their size grows beyond it, so that noisy cells stay bounded.",
    )
    threshold_factor: float = Field(
        default=1.0,
        ge=0,
        le=1e6,
        description=(
            "A step partitions anew when its noisy number of edges differs from that of the last partition "
            "by more than this factor times the number of nodes."
        ),
    )
    reuse_partition: bool = Field(
        default=True, description="Keep the partition while the edge count is stable."
    )
    combine: bool = Field(
        default=True, description="Combine degrees with the previous step's on one partition."
    )
    combine_weights: Literal["linear", "inverse_variance"] = Field(
        default="linear",
        description="Weights of the combination: linear in epsilon (paper), or by precision.",
    )
    post_process: bool = Field(default=True, description="Add or remove edges until the noisy number is met.")
    totals: Literal["noisy_count", "as_published"] = Field(
        default="noisy_count",
        description="Rescale the drawn totals to the noisy number of edges, or draw them as the paper does.",
    )

    @model_validator(mode="after")
    def _leaves_a_rest(self) -> PSGraphParams:
        if self.initialise_share + self.adjust_share > 0.99:
            raise ValueError("initialise_share + adjust_share must leave at least 0.01 for the perturbation")
        return self


@dataclass(frozen=True)
class StepBudget:
    """The integer shares of one step, in nano-epsilon; both branches sum to ``total`` at most."""

    total: int
    count: int
    initialise: int
    adjust: int

    @property
    def rest(self) -> int:
        """What the perturbation gets when the partition is kept."""
        return self.total - self.count

    def perturb(self, repartition: bool) -> int:
        """What the perturbation gets in this branch."""
        return self.rest - (self.initialise + self.adjust if repartition else 0)


def divide(params: PSGraphParams, total: int) -> StepBudget:
    """The shares of one step of ``total`` nano-epsilon; each at least 1, rounded down."""
    count = max(1, min(int(params.count_cap * NANO), int(total * params.count_share)))
    rest = total - count
    return StepBudget(
        total=total,
        count=count,
        initialise=max(1, int(rest * params.initialise_share)),
        adjust=max(1, int(rest * params.adjust_share)),
    )
