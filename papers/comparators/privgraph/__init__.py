"""PrivGraph: differentially private graph data publication by exploiting community information (2023).

Nodes are merged at random into super-nodes, the noisy super-graph is clustered with Louvain, and one pass of
the exponential mechanism reassigns every node. What remains buys each node's degree inside its community and
the number of edges between every two communities. A graph is rebuilt from these noisy values alone: inside a
community by Chung-Lu weights, between two communities by uniform ends. A third of epsilon each.

What is read, for one undirected edge more or less: the super-graph's weights (L1 1, epsilon_1); the pass
(each edge is seen by the picks of its two ends, epsilon_2); the degrees inside communities (L1 2, epsilon_3)
and the edge counts between them (L1 1, epsilon_3). Proof of the total: the first two and the last step are
adaptive reads of one cell, so their costs add up. In the last step the partition is an earlier output, the
same for both neighbours, and an edge lies inside a community or between two, never both: the two queries
compose in parallel and cost epsilon_3 together. All else is post-processing over the public universe.

Guarantee: pure epsilon. Unit: an edge of a static graph, an event of a temporal one, or a window of a stream;
each snapshot is then released anew, which is how papers on streams use this method as their baseline. The
unit pair is not offered: the parallel step is argued for single edges.

Beside PSGraph, which shares the partition: no edge count is paid for, no degrees outside the community, so
that edges between communities fall on their nodes evenly, and nothing is carried from step to step.

Where it departs from the paper: noise is integer; a super-node's inner edges are counted once, not twice,
which is the same ratio of signal to noise; the pass weighs a score by exp(epsilon_2/2), not exp(epsilon_2/4),
at the same cost, because scores only grow with edges; negative degrees and counts are evened out by NormSub,
which keeps their sums; super-nodes grow where their number would pass a public bound. From the published
program: there every edge between communities ends in the last one (a loop variable is reused) and pairs are
drawn with repeats, here every pair of communities receives its own number of distinct pairs; there nodes come
from the edges, here the universe is declared; there a graph without edges takes a path of its own, here no
path depends on the graph. Source: Yuan, Zhang, Du, Chen, Cheng, Sun, USENIX Security 2023 (arXiv 2304.02401).

What to expect at epsilon 1: on Facebook (4,039 nodes, mean degree 44) degrees within a total variation of
.30, .60 of the most central 1 % of nodes, modularity off by 46 %, transitivity by 64 %; on Chameleon (2,277
nodes, mean degree 28) .41, .77, 38 % and 26 %. Assortativity is not kept (off by several times its value),
and communities hardly are (NMI .18 and .16): ``psgraph`` is ahead on all of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from core.late import late
from core.methods._shared.frame.percell import Parts, PerCell
from core.methods.room import require_nodes
from core.privacy.units import Unit
from papers.comparators.privgraph.params import PrivGraphParams

if TYPE_CHECKING:
    from core.graphs.schema import GraphSchema
    from core.privacy.accounting.plan import PrivacyPlan


def require_room(
    params: PrivGraphParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> None:
    """Check the degrees inside communities; see :class:`Method`."""
    CELLS.require_room(params, plan, schema, nodes)
    for name in {each.edge_type for each in plan.allotments}:
        require_nodes(schema, name, nodes)


def most_groups(params: PrivGraphParams, nodes: int) -> int:
    """Return the number of super-nodes, which communities do not exceed."""
    return min(-(-nodes // params.super_node_size), params.max_super_nodes)


CELLS = PerCell(
    module=__name__,
    name="privgraph",
    title="PrivGraph",
    summary=(
        "A private partition into communities, degrees inside them and edge counts between them; every "
        "snapshot on its own. Pure epsilon under edge, event or w-event privacy."
    ),
    mechanism="laplace and exponential",
    Params=PrivGraphParams,
    units=frozenset({Unit.EDGE, Unit.EVENT, Unit.W_EVENT}),
    most_groups=most_groups,
    parts=Parts(
        late("papers.comparators.privgraph.snapshot:fit"), late("papers.comparators.privgraph.snapshot:draw")
    ),
)
GENERATOR = CELLS.method(require_room=require_room)
