"""PSGraph's parameters, and how it divides epsilon inside one step. Public facts only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from core.methods._shared.frame.heeded import Idle
from core.methods._shared.frame.presets import PresetParameters
from core.methods._shared.values.share import ValueParameters
from core.methods.base import PublicFacts
from core.privacy.accounting.events import NANO

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper": {},
}
"""What a preset sets apart from the parameters' own defaults: nothing, all that differs is its way."""


@dataclass(frozen=True)
class Way:
    """A preset's choices, which nobody sets singly.

    The defaults are the preset ``default``. Where the paper names no value, PrivGraph's is taken: thirds for
    the shares, super-nodes of 20.

    ``count_share``: share of a step's epsilon for its number of edges, before ``count_cap``, the most epsilon
    that it takes.
    ``partition``: how nodes are put into communities. super_graph: clustering of a noisy super-graph, then
    one pass of the exponential mechanism (paper). label_stream: noisy degrees, then one noisy pass in their
    order. single: one community, nothing is spent. auto: label_stream where the noisy mean degree exceeds the
    noise of a degree, else single.
    ``initialise_share``, ``adjust_share``: shares of the rest, after the count, for what a partition starts
    from and for its pass; None: as the partition has them. ``super_node_size``: nodes merged into one
    super-node, more where there would be over ``max_super_nodes``, so that noisy cells stay bounded.
    ``between_share``: share of the perturbation budget for edge counts between communities; the degrees
    towards other communities get the rest.
    ``trigger``: which noisy number of edges a step's is compared with: that of the last partition, which
    notices slow drift, or that of the previous step (paper).
    ``combination``: of degrees with the previous step's result, in proportion to epsilon (two_steps, paper);
    with all steps on one partition, by precision, rescaled to the present number of edges, of which all past
    steps together weigh as ``past_weight`` present ones at most, so that old evidence fades.
    ``degrees``: norm_sub: shifted and cut at zero (paper). deconvolved: quantiles of the law that explains
    them, by rank. heavy_tailed: the same, starting from a heavy-tailed law. auto: the law that explains noisy
    degrees and tail counts together, where those are paid for; else deconvolved where the noisy mean degree
    exceeds the noise of a degree, else heavy_tailed.
    ``reconstruction``: edge ends matched to whole degrees, or pairs drawn by weight (paper).
    ``totals``: rescaled to the noisy number of edges, or drawn as the paper does.
    ``triangle_share``: share of the rest, after the count, for a noisy number of triangles, to which the
    graph is rewired by ``proposals`` for each end of an edge at most.
    """

    count_share: float = 0.3
    count_cap: float = 0.06
    partition: Literal["auto", "super_graph", "label_stream", "single"] = "auto"
    initialise_share: float | None = None
    adjust_share: float | None = None
    super_node_size: int = 15
    max_super_nodes: int = 1024
    between_share: float = 0.05
    trigger: Literal["last_partition", "previous_step"] = "last_partition"
    combination: Literal["two_steps", "all_past"] = "all_past"
    past_weight: float = 4.0
    degrees: Literal["auto", "norm_sub", "deconvolved", "heavy_tailed"] = "auto"
    reconstruction: Literal["matched", "weighted_pairs"] = "matched"
    totals: Literal["noisy_count", "as_published"] = "noisy_count"
    triangle_share: float = 0.0
    proposals: float = 40.0

    @property
    def partition_shares(self) -> tuple[float, float]:
        """Return the partition's shares, for start and pass. They are as set or as the partition has them."""
        first, second = SHARES.get(self.partition, OTHER_SHARES)
        return (
            first if self.initialise_share is None else self.initialise_share,
            second if self.adjust_share is None else self.adjust_share,
        )


WAYS: Mapping[str, Way] = {
    "default": Way(),
    "paper": Way(
        count_share=0.1,
        count_cap=0.01,
        partition="super_graph",
        super_node_size=20,
        initialise_share=1 / 3,
        adjust_share=1 / 3,
        between_share=0.5,
        trigger="previous_step",
        combination="two_steps",
        degrees="norm_sub",
        reconstruction="weighted_pairs",
        totals="as_published",
    ),
}
SHARES = {"super_graph": (0.45, 0.25)}
OTHER_SHARES = (0.15, 0.55)


class PSGraphParams(PresetParameters, ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    PRESETS = PRESETS
    WAYS = WAYS
    RETIRED: ClassVar[Mapping[str, Any]] = {"groups": 6, "threshold_factor": 1.0}
    groups: ClassVar[int] = RETIRED["groups"]
    """Number of communities of the partition by label stream."""
    threshold_factor: ClassVar[float] = RETIRED["threshold_factor"]
    """A step partitions anew when its noisy number of edges differs from that which the trigger names by more
    than this factor times the number of nodes."""

    preset: Literal["default", "paper"] = Field(
        default="default",
        description=(
            "Values for all that is not set: 'default' is what measures best, 'paper' the published method. "
            "Its ablations are 'paper' with combine, post_process or both set to false; its variant that "
            "partitions at every step has reuse_partition false."
        ),
    )
    reuse_partition: bool = Field(
        default=True, description="Keep the partition while the edge count is stable."
    )
    combine: bool = Field(default=True, description="Combine degrees with those of past steps.")
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
    post_process: bool = Field(
        default=True,
        description="Add or remove edges until the noisy number is met; for weighted pairs.",
    )
    norm_sub: Literal["communities", "vector"] = Field(
        default="communities",
        description=(
            "Over what NormSub keeps the sum of noisy degrees: each community, where every negative sum "
            "becomes 0 and edges are too many, or the whole vector, as the paper may be read too."
        ),
    )
    meet_count: bool = Field(
        default=False,
        description=(
            "After post-processing, add or remove edges at random until the noisy number is met; else what "
            "no gap between wanted and drawn degrees holds is left over."
        ),
    )

    @property
    def way(self) -> Way:
        """How the preset goes."""
        return self.WAYS[self.preset]


def idle(params: PSGraphParams, public: PublicFacts) -> Iterator[Idle]:
    """Name the parameters that are left without effect.

    The others, or a graph without a past, leave them so.
    """
    way = params.way
    if way.reconstruction == "matched":
        names = ("post_process", "meet_count")
        yield Idle(names, "matched ends meet their degrees; preset=paper is post-processed")
    elif not params.post_process:
        yield Idle(("meet_count",), "post_process=false adds and removes nothing")
    if way.degrees != "norm_sub":
        yield Idle(("norm_sub",), f"preset={params.preset} fits a law of degrees; preset=paper has NormSub")
    if way.degrees != "auto":
        yield Idle(("tail_share",), f"preset={params.preset} looks at no tails; preset=default does")
    yield from _idle_past(params, public)


def _idle_past(params: PSGraphParams, public: PublicFacts) -> Iterator[Idle]:
    if public.tick is None and all(len(public.schema.steps_of(name)) < 2 for name in public.edge_types):
        names = ("reuse_partition", "combine")
        yield Idle(names, "one step has no past; a relation with several has")
    if not params.reuse_partition:
        why = "reuse_partition=false partitions at every step, and no past step shares its partition"
        yield Idle(("combine",), why)


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
    between = max(1, int(nano_epsilon * params.way.between_share))
    return nano_epsilon - between, between


def step_reads(params: PSGraphParams, total: int) -> dict[str, tuple[int, ...]]:
    """Return each step's least payment for edges and degrees.

    That is what every step of ``total`` pays for its number of edges and its degrees. Of one community
    degrees are read as a whole; of several, those inside and those outside.
    """
    budget = divide(params, total)
    if params.way.partition == "single":
        return {"edge_count": (budget.count,), "degrees": (budget.perturb(False, bool(budget.tail)),)}
    least = budget.perturb(True, bool(budget.tail))
    return {"edge_count": (budget.count,), "degrees": (least, between_communities(params, least)[0])}


def divide(params: PSGraphParams, total: int) -> StepBudget:
    """Divide one step of ``total`` nano-epsilon.

    Parts are rounded down, at least 1 where any is asked for.
    """
    way = params.way
    count = max(1, min(int(way.count_cap * NANO), int(total * way.count_share)))
    tail_share = params.tail_share if way.degrees == "auto" else 0.0
    tail = max(1, int((total - count) * tail_share)) if tail_share else 0
    triangles = max(1, int((total - count) * way.triangle_share)) if way.triangle_share else 0
    rest = total - count - tail - triangles
    initialise, adjust = way.partition_shares
    return StepBudget(
        total=total,
        count=count,
        tail=tail,
        triangles=triangles,
        initialise=max(1, int(rest * initialise)),
        adjust=max(2, int(rest * adjust)),
    )
