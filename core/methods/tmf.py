"""TmF (top-m filter): the cells of a noisy adjacency matrix that exceed a threshold, in linear time.

As published: pay for a noisy number of edges m~; add Laplace noise of scale 1 / epsilon1 to every cell of the
adjacency matrix; keep the cells above a threshold at which m~ of them are expected to pass. With N pairs, a
present cell passes with probability p and an absent one with q, where m~ p + (N - m~) q = m~:

    threshold = ln(N / (2 m~) + (e^epsilon1 - 1) / 2) / epsilon1     where epsilon1 <= ln(N / m~ - 1)
    threshold = 1/2 + ln(N / m~ - 1) / (2 epsilon1)                  otherwise

The noise itself is never made: a cell passes or not, which is randomised response with p_drop = 1 - p and
p_add = q. In the first case that is exactly EdgeRand's balanced form.

What is read: the number of edges, sensitivity 1; every pair once, by a coin.
Proof: a noisy cell costs epsilon1, since neighbours differ in one cell, by 1; whether it passes a threshold
that is already paid for is post-processing. The printed cost is that of the probabilities that are used, both
rounded up. Total: epsilon = count + epsilon1. Guarantee: pure epsilon, unit: one edge of one cell; a stream
or a pair divides epsilon over its steps.

Differs from the published program (PGB): its two threshold formulas stand in each other's branch, and it then
fills up to exactly m~ edges, which its epsilon does not cover (at epsilon 1 the log ratio of a present to an
absent edge was measured at 2 to 4). Here the absent cells that pass are binomial in number, never filled up,
and uniform over absent pairs only. Beyond half of all pairs the formulas are applied to the complement graph.
Source: Nguyen, Imine, Rusinowitch, "Differentially Private Publication of Social Graphs at Linear Cost"
(ASONAM 2015).

What to expect: below an epsilon of about ln(pairs / edges) a nearly random graph with the right number of
edges. At epsilon 1, on Facebook (4,039 nodes, 88,234 edges) degrees are off by a total variation of .77,
transitivity by 98 %, modularity by 84 %; on Chameleon (2,277 nodes, 31,371 edges) by .78, 96 % and 75 %.
Above it nearly all edges are kept. Plan and report print the share of true edges to expect, a public function
of epsilon and sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import Field

from core.graphs.schema import GraphSchema
from core.late import late
from core.methods._shared.flips.thresholds import threshold_flips
from core.methods._shared.flips.true_edges import kept_shares
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.percell import Parts, PerCell, drawn_edges, same_edges
from core.methods._shared.frame.plan import divide
from core.methods._shared.values.share import ValueParameters
from core.methods.base import GraphKinds
from core.privacy.accounting.flips import MOST_ABOUT, Flips
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.entropy import Generator as Rng

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateCell


class TmFParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("count", "cells")

    count_share: float = Field(
        default=0.1,
        gt=0,
        le=0.5,
        description="Share of epsilon for the number of edges (one half in the published program).",
    )


def cell_reads(params: TmFParams, nano_epsilon: int) -> dict[str, int]:
    """Return what the number of edges of every cell costs."""
    return {"edge_count": divide(nano_epsilon, params.count_share)[0]}


def true_shares(
    params: TmFParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Mapping[str, tuple[float, float]]:
    """Compute the expected share of true edges.

    It is the true cells that pass, among all that do. m p / (m p + (N - m) q) with the p and q of the module,
    at the declared bound on edges or a guess.
    """

    def flips_for(nano: int, multiplicity: int, edges: int, slots: int) -> Flips:
        return threshold_flips(divide(nano, params.count_share)[1] // multiplicity, edges, slots)

    return kept_shares(plan, schema, nodes, flips_for)


_noisy_count = late("core.methods._shared.degrees.counts:noisy_count")


def _filtered(cell: PrivateCell, nodes: int, nano_epsilon: int, params: TmFParams, rng: Rng) -> Columns:
    """Filter the cells: ``key`` int64, those that pass, sorted. Costs ``nano_epsilon`` at most."""
    count, rest = divide(nano_epsilon, params.count_share)
    edges = min(_noisy_count(cell, count), MOST_ABOUT)
    flips = threshold_flips(rest // cell.multiplicity, edges, cell.shape.slots)
    ends = cell.randomised_response(nano_epsilon=rest, purpose="cells above threshold", flips=flips)
    return drawn_edges(cell, ends)


GENERATOR = PerCell(
    module=__name__,
    name="tmf",
    title="TmF",
    summary=(
        "Noisy number of edges, then the cells of a noisy adjacency matrix above the threshold that it "
        "sets. Pure epsilon under every unit but node."
    ),
    mechanism="laplace and randomised response",
    Params=TmFParams,
    accepts=GraphKinds(static=True, temporal=True, heterogeneous=True, directed=True, bipartite=True),
    cell_reads=cell_reads,
    parts=Parts(_filtered, same_edges),
).method(true_shares=true_shares)
