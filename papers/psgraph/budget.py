"""PSGraph's parameters, and how it divides epsilon inside one step. Public facts only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, model_validator

from core.methods._shared.frame.heeded import Idle
from core.methods._shared.frame.presets import PresetParameters
from core.methods._shared.values.share import ValueParameters
from core.methods.base import PublicFacts
from core.privacy.accounting.events import NANO

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper": {
        "count_share": 0.1,
        "count_cap": 0.01,
        "between_share": 0.5,
        "super_node_size": 20,
        "partition": "super_graph",
        "initialise_share": 1 / 3,
        "adjust_share": 1 / 3,
        "trigger": "previous_step",
        "combination": "two_steps",
        "degrees": "norm_sub",
        "reconstruction": "weighted_pairs",
        "totals": "as_published",
    },
}
"""What a preset sets apart from the parameters' own defaults, which are the preset ``default``. Where the
paper names no value, PrivGraph's is taken: thirds for the shares, super-nodes of 20."""

SHARES = {"super_graph": (0.45, 0.25)}
OTHER_SHARES = (0.15, 0.55)


class PSGraphParams(PresetParameters, ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    PRESETS = PRESETS

    preset: Literal["default", "paper"] = Field(
        default="default",
        description=(
            "Values for all that is not set: 'default' is what measures best, 'paper' the published method. "
            "Its ablations are 'paper' with combine, post_process or both set to false; its variant that "
            "partitions at every step has reuse_partition false."
        ),
    )
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
    initialise_share: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description=(
            "Share of the rest, after the count, for what a partition starts from: the noisy super-graph "
            "(0.45 unless set) or the degrees that order the nodes (0.15)."
        ),
    )
    adjust_share: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description=(
            "Share of the rest, after the count, for the pass that gives nodes their communities: 0.25 after "
            "a super-graph, 0.55 for a label stream, unless set."
        ),
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
    partition: Literal["auto", "super_graph", "label_stream", "single"] = Field(
        default="auto",
        description=(
            "How nodes are put into communities. super_graph: clustering of a noisy super-graph, then one "
            "pass of the exponential mechanism (paper). label_stream: noisy degrees, then one noisy pass in "
            "their order. single: one community, nothing is spent. auto: label_stream where the noisy mean "
            "degree exceeds the noise of a degree, else single."
        ),
    )
    groups: int = Field(
        default=6, ge=1, le=64, description="Number of communities of the partition by label stream."
    )
    trigger: Literal["last_partition", "previous_step"] = Field(
        default="last_partition",
        description=(
            "Which noisy number of edges a step's is compared with: that of the last partition, which "
            "notices slow drift, or that of the previous step (paper)."
        ),
    )
    threshold_factor: float = Field(
        default=1.0,
        ge=0,
        le=1e6,
        description=(
            "A step partitions anew when its noisy number of edges differs from that which the trigger names "
            "by more than this factor times the number of nodes."
        ),
    )
    reuse_partition: bool = Field(
        default=True, description="Keep the partition while the edge count is stable."
    )
    combine: bool = Field(default=True, description="Combine degrees with those of past steps.")
    combination: Literal["two_steps", "all_past"] = Field(
        default="all_past",
        description=(
            "two_steps: with the previous step's result, in proportion to epsilon (paper). all_past: with "
            "all steps on one partition, by precision, rescaled to the present number of edges."
        ),
    )
    past_weight: float = Field(
        default=4.0,
        ge=0,
        le=1e6,
        description="Most weight of all past steps together, in present steps, so that old evidence fades.",
    )
    degrees: Literal["auto", "norm_sub", "deconvolved", "heavy_tailed"] = Field(
        default="auto",
        description=(
            "From noisy degrees to degrees. norm_sub: shifted and cut at zero (paper). deconvolved: "
            "quantiles of the law that explains them, by rank. heavy_tailed: the same, starting from a "
            "heavy-tailed law. auto: the law that explains noisy degrees and tail counts together, where "
            "those are paid for; else deconvolved where the noisy mean degree exceeds the noise of a degree, "
            "else heavy_tailed."
        ),
    )
    tail_share: float = Field(
        default=0.1,
        ge=0,
        le=0.5,
        description=(
            "Share of the rest, after the count, for how many nodes have at least so many edges. A step buys "
            "them where their noise is small beside the nodes that may have an edge, else degrees get it; "
            "0: none."
        ),
    )
    reconstruction: Literal["matched", "weighted_pairs"] = Field(
        default="matched",
        description="Edge ends matched to whole degrees, or pairs drawn by weight (paper: expected degrees).",
    )
    post_process: bool = Field(
        default=True,
        description="Add or remove edges until the noisy number is met; for weighted pairs.",
    )
    totals: Literal["noisy_count", "as_published"] = Field(
        default="noisy_count",
        description="Rescale the drawn totals to the noisy number of edges, or draw them as the paper does.",
    )
    triangle_share: float = Field(
        default=0.0,
        ge=0,
        le=0.5,
        description=(
            "Share of the rest, after the count, for a noisy number of triangles, to which the graph is "
            "rewired; 0: none."
        ),
    )
    proposals: float = Field(
        default=40, ge=0, le=1000, description="Rewirings tried for each end of an edge, at most."
    )

    @model_validator(mode="after")
    def _leaves_a_rest(self) -> PSGraphParams:
        if sum(self.partition_shares) > 0.99:
            raise ValueError("initialise_share + adjust_share must leave at least 0.01 for the perturbation")
        if self.tail_share + self.triangle_share > 0.99:
            raise ValueError("tail_share + triangle_share must leave at least 0.01 for degrees")
        return self

    @property
    def partition_shares(self) -> tuple[float, float]:
        """Return the partition's shares, for start and pass. They are as set or as the partition has them."""
        first, second = SHARES.get(self.partition, OTHER_SHARES)
        return (
            first if self.initialise_share is None else self.initialise_share,
            second if self.adjust_share is None else self.adjust_share,
        )


def idle(params: PSGraphParams, public: PublicFacts) -> Iterator[Idle]:
    """Name the parameters that are left without effect.

    The others, or a graph without a past, leave them so.
    """
    if not params.triangle_share:
        yield Idle(("proposals",), "nothing is rewired; a triangle_share above 0 asks for it")
    if params.reconstruction == "matched":
        why = "matched ends meet their degrees; reconstruction=weighted_pairs is post-processed"
        yield Idle(("post_process",), why)
    if params.degrees != "auto":
        yield Idle(("tail_share",), f"degrees={params.degrees} looks at no tails; degrees=auto does")
    if params.partition == "single":
        names = ("initialise_share", "adjust_share", "between_share", "trigger", "threshold_factor")
        yield Idle(names, "partition=single pays for none; the other partitions do")
    if params.partition != "super_graph":
        sizes = ("super_node_size", "max_super_nodes")
        yield Idle(sizes, f"partition={params.partition} has no super-nodes; super_graph has")
    if params.partition in ("super_graph", "single"):
        yield Idle(("groups",), f"partition={params.partition} finds their number; label_stream is told it")
    yield from _idle_past(params, public)


def _idle_past(params: PSGraphParams, public: PublicFacts) -> Iterator[Idle]:
    combining, partitioning = ("combination", "past_weight"), ("trigger", "threshold_factor")
    if public.tick is None and all(len(public.schema.steps_of(name)) < 2 for name in public.edge_types):
        names = ("reuse_partition", "combine", *partitioning, *combining)
        yield Idle(names, "one step has no past; a relation with several has")
    if not params.reuse_partition:
        why = "reuse_partition=false partitions at every step, and no past step shares its partition"
        yield Idle(("combine", *partitioning, *combining), why)
    if not params.combine:
        yield Idle(combining, "combine=false looks at no past; combine=true does")
    if params.combination == "two_steps":
        yield Idle(("past_weight",), "two_steps weighs by epsilon; combination=all_past looks at it")


@dataclass(frozen=True)
class StepBudget:
    """The integer shares of one step, in nano-epsilon.

    All branches sum to ``total`` at most.

    ``tail``: for degree tails, or for degrees in a step that does not buy them.
    """

    total: int
    count: int
    tail: int
    triangles: int
    initialise: int
    adjust: int

    def perturb(self, repartition: bool, tails: bool) -> int:
        """Compute what the perturbation gets. It is for the branch that buys these, and for the others."""
        rest = self.total - self.count - self.triangles - (self.tail if tails else 0)
        return rest - (self.initialise + self.adjust if repartition else 0)

    def usual(self, partition: str) -> int:
        """Compute the mean of what :meth:`perturb` gives.

        It is of its most and its least; 0 where it is one.
        """
        most, least = self.perturb(False, False), self.perturb(partition != "single", bool(self.tail))
        return math.isqrt(most * least) if least < most else 0


def between_communities(params: PSGraphParams, nano_epsilon: int) -> tuple[int, int]:
    """Divide between outside degrees and counts.

    Degrees are those outside the communities, counts between them; at least 1 each.
    """
    between = max(1, int(nano_epsilon * params.between_share))
    return nano_epsilon - between, between


def step_reads(params: PSGraphParams, total: int) -> dict[str, tuple[int, ...]]:
    """Return each step's least payment for edges and degrees.

    That is what every step of ``total`` pays for its number of edges and its degrees. Of one community
    degrees are read as a whole; of several, those inside and those outside.
    """
    budget = divide(params, total)
    if params.partition == "single":
        return {"edge_count": (budget.count,), "degrees": (budget.perturb(False, bool(budget.tail)),)}
    least = budget.perturb(True, bool(budget.tail))
    return {"edge_count": (budget.count,), "degrees": (least, between_communities(params, least)[0])}


def divide(params: PSGraphParams, total: int) -> StepBudget:
    """Divide one step of ``total`` nano-epsilon.

    Parts are rounded down, at least 1 where any is asked for.
    """
    count = max(1, min(int(params.count_cap * NANO), int(total * params.count_share)))
    tail_share = params.tail_share if params.degrees == "auto" else 0.0
    tail = max(1, int((total - count) * tail_share)) if tail_share else 0
    triangles = max(1, int((total - count) * params.triangle_share)) if params.triangle_share else 0
    rest = total - count - tail - triangles
    initialise, adjust = params.partition_shares
    return StepBudget(
        total=total,
        count=count,
        tail=tail,
        triangles=triangles,
        initialise=max(1, int(rest * initialise)),
        adjust=max(2, int(rest * adjust)),
    )
