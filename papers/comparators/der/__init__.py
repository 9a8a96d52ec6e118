"""DER: density-based exploration and reconstruction of the adjacency matrix, by a noisy quadtree.

Nodes are put in an order that gathers edges, the upper triangle of the adjacency matrix is cut into quarters
again and again, and regions that hold enough edges are cut further. Inside the regions that are left, edges
are placed at random, about as many as were measured there.

What is read, per cell: the number of edges (L1 sensitivity 1); every node's degree (L1 sensitivity 2), for
the order; on every level of the tree the number of edges in every region of that level (L1 sensitivity 1:
the regions of a level are disjoint, and their borders follow from the order, which is paid for). Proof: these
compose in sequence, count + order + all levels = epsilon. Depth and shares are public, and each level is
measured whole, used or not: where to cut is decided from noisy numbers alone and costs nothing. What was
measured is made consistent up and down the tree (a function of noisy numbers). Pure epsilon per cell.

Differs from the paper: nodes are ordered by noisy degree (or left as they are, ``order: given``), where the
paper swaps node labels in rounds of the exponential mechanism; a level's budget grows by 2^(1/3) from one to
the next (Cormode et al., ICDE 2012) and is not moved from regions that are left whole; the paper's last step,
placing a region's edges by the exponential mechanism with the true region as score, is left out: its budget
buys better counts, where a region of many pairs would keep a true edge e^epsilon times as often as another
at best. No program was published; one that stops cutting on true counts would break the guarantee.
Source: Chen, Fung, Yu, Desai, "Correlated network data publication via differential privacy" (VLDB Journal
23, 2014).

What to expect at epsilon 1: on Facebook (4,039 nodes, mean degree 44) degrees within a total variation of .14
and .40 of the most central 1 % of nodes; on Chameleon (2,277 nodes, mean degree 28) .26 and .61. No
clustering (transitivity off by 73 % and 63 %), no communities (NMI .12 and .07); assortativity within 10 % on
Chameleon and off by five times its value on Facebook.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.late import late
from core.methods._shared.frame.heeded import Idle
from core.methods._shared.frame.percell import Parts, PerCell
from core.methods._shared.frame.plan import divide
from papers.comparators.der.params import DERParams


def idle(params: DERParams) -> Iterable[Idle]:
    """Name the parameters that the others leave without effect."""
    if params.order == "given":
        yield Idle(("order_share",), "order=given pays for no order; order=noisy_degree does")


def most_groups(params: DERParams, nodes: int) -> int:
    """Return how often the finest level cuts either side."""
    from papers.comparators.der.tree import depth_of

    return int(2 ** depth_of(nodes, params))


def cell_reads(params: DERParams, nano_epsilon: int) -> dict[str, int]:
    """Return every cell's least payment for edges and order.

    It is for its number of edges, and for the degrees of its order.
    """
    count, rest = divide(nano_epsilon, params.count_share)
    if params.order == "given":
        return {"edge_count": count}
    return {
        "edge_count": count,
        "degrees": divide(rest, params.order_share / (1 - params.count_share))[0],
    }


GENERATOR = PerCell(
    module=__name__,
    name="der",
    title="DER",
    summary=(
        "A noisy quadtree over the adjacency matrix, nodes in noisy-degree order; dense regions are cut "
        "further, and edges placed at random inside regions. Pure epsilon under every unit but node."
    ),
    mechanism="laplace",
    Params=DERParams,
    idle=idle,
    most_groups=most_groups,
    cell_reads=cell_reads,
    parts=Parts(late("papers.comparators.der.tree:fit"), late("papers.comparators.der.draw:draw")),
).method()
