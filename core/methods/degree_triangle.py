"""Degrees and triangles: a graph from noisy degrees, a noisy number of triangles and noisy degree products.

Our own method where a graph is too small, or epsilon too low, for communities to be told: what ``dcsbm``
does in its preset ``small``, under a name of its own, with no label and no block counts. Reads, per cell:
the number of edges (L1 sensitivity 1), every node's degree (L1 sensitivity 2: an edge has two ends), how
many nodes have at least so many edges (L1 sensitivity 2 for any thresholds, which follow from the noisy
degrees), the number of triangles (ladder mechanism: an integer's rung moves by at most 1 with one edge),
and the sum over edges of the noisy degrees' product (the noisy degrees are an earlier output, so one edge
adds one term, at most the product of their two largest). Discrete Laplace noise but for the triangles.
Proof: the five compose in sequence, each at its share of the cell's epsilon, and the shares sum to it; all
that follows is a function of these numbers, of the public universe and of parameters. Pure epsilon per
cell; how cells add up under each unit is said below.

Degrees are deconvolved (the law that explains noisy degrees, tail counts and the number of edges is found,
and its quantiles go to the nodes in the order of their posterior means; nodes that stand alone keep their own
numbers), scaled to the paid-for number of edges and matched at random; then edges are rewired, degrees kept,
until the graph has the degree products and the triangles that were told. Where the ladder tells little, the
triangles lean on a public guess of transitivity, by the two variances; a sum of degree products that is
mostly noise is left aside in the same way. Triangles are closed within circles of nodes drawn at random, or
among hubs, as ``dcsbm`` closes them. ``tail_share=0`` with ``count_share=0.2`` is the method's first
version, which read no tail counts.

Sources: Karrer and Newman, Physical Review E 83, 016107, 2011 (of whose degree-corrected block model this is
the case of one block); Zhang et al., SIGMOD 2015 (ladder). Deviations from published degree models: noise
of scale 2/epsilon, where 1/epsilon is published and costs twice what it states; targets stay with the nodes
that they were measured on; degrees are met exactly, where drawing every pair by itself makes the spread of
degrees too wide; nothing is as long or as large as the true largest degree. The node universe is public and
never derived from the edges.

What to expect at epsilon 1: on Facebook (4,039 nodes, mean degree 44) degrees within a total variation of .09
and transitivity within 1 %; on Chameleon (2,277 nodes, mean degree 28) .22 and 7 %. No communities (NMI .05
and .06), and of the most central 1 % of nodes about half (.46 and .55).
"""

from __future__ import annotations

from core.late import late
from core.methods._shared.frame.percell import Parts, PerCell
from core.methods._shared.triangles.params import TriangleParameters, shares
from core.methods._shared.values.share import ValueParameters


class DegreeTriangleParams(TriangleParameters, ValueParameters):
    """What a caller may set. All of it is public and enters the report."""


def cell_reads(params: DegreeTriangleParams, nano_epsilon: int) -> dict[str, int]:
    """Return the cost of each cell's counts, degrees and tails."""
    budget = shares(params, nano_epsilon)
    spent = {
        "edge_count": "count",
        "degrees": "degree",
        "tail_counts": "tail",
        "triangles": "triangle",
    }
    return {query: budget[share] for query, share in spent.items() if share in budget}


GENERATOR = PerCell(
    module=__name__,
    name="degree_triangle",
    title="Degrees and triangles",
    summary=(
        "Deconvolved noisy degrees, matched exactly and rewired to a noisy number of triangles and a noisy "
        "sum of degree products; for small graphs. Pure epsilon under every unit but node."
    ),
    mechanism="laplace and ladder",
    Params=DegreeTriangleParams,
    cell_reads=cell_reads,
    parts=Parts(
        late("core.methods._shared.triangles.draw:fit"), late("core.methods._shared.triangles.draw:draw")
    ),
    law=late("core.methods._shared.triangles.draw:resized"),
).method()
