"""PrivHRG: a hierarchical random graph (dendrogram) under edge privacy, in a form whose guarantee is proven.

Reads, per cell: the leaves, by one pass of the exponential mechanism over random groups of nodes, which pays
for the two picks that see an edge; the edge counts between leaves (L1 sensitivity 1: an edge lies in one pair
of them); and, once a dendrogram over the leaves stands, the number of edges that each of its nodes joins (L1
sensitivity 1: the ends of an edge have one lowest common ancestor, and the dendrogram is an earlier output,
the same for both neighbours). Proof: the three reads compose in sequence and their shares sum to the cell's
epsilon; the random groups are drawn without looking at an edge, and the Markov chain sees the noisy counts
only, so it is post-processing and may run for any number of steps. That number is a public parameter. Pure
epsilon per cell; how cells add up under each unit is said below.

A graph is drawn by placing each dendrogram node's edges uniformly over the pairs that meet there, as
hierarchical random graphs have it: no node has a degree of its own.

Source: Xiao, Chen, Tan, KDD 2014; hierarchical random graphs: Clauset, Moore, Newman, Nature 453, 2008.
Deviations: the paper runs the chain on the private graph itself, as an exponential mechanism whose inverse
temperature is epsilon / (2 sensitivity). That is epsilon-private only when the chain has reached its
stationary law, which nobody can show for a given graph, and the published program decides when to stop by
looking at the private likelihood. Neither is done here, and the paper's form is not offered. Its leaves are
single nodes; here they are groups, as a noisy count for each pair of nodes would drown any graph.

What to expect at epsilon 1: little beside the number of edges. On Facebook (4,039 nodes, mean degree 44)
degrees are off by a total variation of .52, modularity by 59 %, transitivity by 90 %; on Chameleon (2,277
nodes, mean degree 28) by .58, 61 % and 88 %. Modularity improves with epsilon (off by 38 % and 36 % at
epsilon 2).
"""

from __future__ import annotations

from core.late import late
from core.methods._shared.frame.percell import Parts, PerCell
from core.methods._shared.frame.plan import divide
from papers.comparators.privhrg.params import PrivHRGParams


def most_groups(params: PrivHRGParams, nodes: int) -> int:
    """Return the number of leaves."""
    return min(params.leaves, nodes)


def cell_reads(params: PrivHRGParams, nano_epsilon: int) -> dict[str, int]:
    """Return each cell's cost of evidence and counts.

    They are the edges between leaves, and those of dendrogram nodes.
    """
    _, evidence, rest = divide(nano_epsilon, params.adjust_share, params.evidence_share)
    return {"group_matrix": evidence, "pair_classes": rest}


GENERATOR = PerCell(
    module=__name__,
    name="privhrg",
    title="PrivHRG",
    summary=(
        "Hierarchical random graph: a dendrogram over groups fitted to noisy counts, and noisy edge counts "
        "for its nodes, per snapshot. Pure epsilon under every unit but node."
    ),
    mechanism="laplace and exponential",
    Params=PrivHRGParams,
    most_groups=most_groups,
    cell_reads=cell_reads,
    parts=Parts(late("papers.comparators.privhrg.draw:fit"), late("papers.comparators.privhrg.draw:draw")),
).method()
