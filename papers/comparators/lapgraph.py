"""LapGraph: the m~ largest cells of a noisy adjacency matrix, m~ a noisy number of edges.

As published: pay for a noisy number of edges m~; add Laplace noise to every cell of the adjacency matrix; the
m~ cells of largest noisy value become the edges. The matrix is never made: true edges get their noise, and
the absent pairs that reach a threshold are drawn by number (binomial), by place (uniform) and by how far they
reach beyond it (geometric). The threshold is low enough that at least m~ cells reach it.

What is read: the number of edges, sensitivity 1; every cell once, sensitivity 1 in L1.
Proof: the noisy number costs epsilon1; all noisy cells together cost epsilon2, as neighbours differ in one
cell, by 1; which m~ of them are largest is post-processing of both. Total: epsilon = epsilon1 + epsilon2.
Guarantee: pure epsilon, unit: one edge of one cell; a stream or a pair divides epsilon over its steps.

Differs from published programs: noise is an integer multiple of 2^-20 from an exact sampler, and ties fall at
random; the count's share is larger than the published 0.01, whose noise is large on small snapshots; the
number of edges is held within 0 and the number of pairs. With probability below e^-40 a few are missing.
Source: Wu et al., "LinkTeller" (IEEE S&P 2022), LapGraph.

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

from core.methods._shared.flips.thresholds import threshold_flips
from core.methods._shared.frame.percell import Parts, PerCell, drawn_edges, same_edges
from core.methods._shared.frame.plan import divide
from core.methods._shared.values.share import ValueParameters
from core.methods.base import GraphKinds

if TYPE_CHECKING:
    from core.graphs.schema import GraphSchema
    from core.methods._shared.frame.columns import Columns
    from core.privacy.accounting.flips import Flips
    from core.privacy.accounting.plan import PrivacyPlan
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.private_graph import PrivateCell


class LapGraphParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("count", "cells")

    count_share: float = Field(
        default=0.1,
        gt=0,
        le=0.5,
        description="Share of epsilon for the number of edges (0.01 as published).",
    )


def cell_reads(params: LapGraphParams, nano_epsilon: int) -> dict[str, int]:
    """Return what the number of edges of every cell costs."""
    return {"edge_count": divide(nano_epsilon, params.count_share)[0]}


def true_shares(
    params: LapGraphParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Mapping[str, tuple[float, float]]:
    """Compute the expected share of true edges.

    It is of those of m whose noisy value is among the m largest. That is P(1 + Z > t), Z Laplace noise, at
    the t above which m of N cells are expected to lie: TmF's threshold. m is the declared bound on edges or a
    guess.
    """
    from core.methods._shared.flips.true_edges import kept_shares

    def flips_for(nano: int, multiplicity: int, edges: int, slots: int) -> Flips:
        return threshold_flips(divide(nano, params.count_share)[1] // multiplicity, edges, slots)

    return kept_shares(plan, schema, nodes, flips_for)


def _largest(cell: PrivateCell, nodes: int, nano_epsilon: int, params: LapGraphParams, rng: Rng) -> Columns:
    """Choose the cells of largest noisy value: ``key`` int64, sorted. Costs ``nano_epsilon``.

    As many as are told, and MAX_KEEP at most.
    """
    from core.methods._shared.degrees.counts import noisy_count
    from core.privacy.mechanisms.largest_slots import MAX_KEEP

    count, rest = divide(nano_epsilon, params.count_share)
    edges = min(noisy_count(cell, count), MAX_KEEP)
    ends = cell.largest_slots(keep=edges, nano_epsilon=rest, purpose="largest noisy cells")
    return drawn_edges(cell, ends)


GENERATOR = PerCell(
    module=__name__,
    name="lapgraph",
    title="LapGraph",
    summary=(
        "Noisy number of edges, then as many cells of a noisy adjacency matrix, the largest ones. Pure "
        "epsilon under every unit but node."
    ),
    mechanism="laplace",
    Params=LapGraphParams,
    accepts=GraphKinds(static=True, temporal=True, heterogeneous=True, directed=True, bipartite=True),
    cell_reads=cell_reads,
    parts=Parts(_largest, same_edges),
).method(true_shares=true_shares)
