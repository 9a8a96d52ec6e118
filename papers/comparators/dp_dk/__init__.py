"""dK-1 and dK-2 under edge privacy: a graph from its degree sequence, or from edges by degree of both ends.

Order 1 reads, per cell, the number of edges (L1 sensitivity 1) and the sorted degree sequence (L1 sensitivity
2). The sequence is as long as the public universe, so that its length says nothing about the largest degree.
Isotonic regression makes it ascending again (Hay et al., VLDB 2010), which removes most of the noise; the
degrees then go to nodes at random, as dK-1 does not know them, and ends are matched at random.

Order 2 reads the number of edges, every node's degree (L1 sensitivity 2), and the number of edges between
every two degree classes. A node's class is that of its noisy degree, between public thresholds in a
geometric row up to n - 1: the classes are an earlier output, the same for both neighbours, so an edge falls
into one pair of classes and the matrix has L1 sensitivity 1, whatever the largest degree. The exact joint
degree matrix does not: one edge moves both of its ends to other rows, with all their edges, which is a
sensitivity of 4 d_max + 1 (Sala et al., IMC 2011), and neither a d_max nor a local or smooth bound computed
from the data is used here. Drawn graphs meet degrees and class totals together, and nodes keep their degrees.

Proof: the reads of a cell compose in sequence and their shares sum to the cell's epsilon; everything else is
a function of noisy numbers, the public universe and parameters. Pure epsilon per cell; how cells add up under
each unit is said below.

Sources: Mahadevan et al., SIGCOMM 2006 (dK series); Wang and Wu, Transactions on Data Privacy 6(2), 2013
(private dK-1 and dK-2); Sala et al., IMC 2011. Deviations: the sorted sequence for their degree histogram
(sensitivity 4), classes of noisy degrees for single degrees, which also leaves epsilon pure where a smooth
bound needs a delta. A published program makes its histogram as long as the largest true degree, which gives
that degree away, and counts each of its empty cells as noise to be cut at zero, which adds edges.

What to expect at epsilon 1: assortativity, which no other method keeps as well (off by 7 % on Facebook, 4,039
nodes, mean degree 44; by 3 % on Chameleon, 2,277 nodes, mean degree 28), degrees within a total variation of
.14 and .28. No clustering (transitivity off by 77 % and 67 %) and no communities (NMI .13 and .09).
"""

from __future__ import annotations

from collections.abc import Iterable

from core.late import late
from core.methods._shared.frame.heeded import Idle
from core.methods._shared.frame.percell import Parts, PerCell
from core.methods._shared.frame.plan import divide
from papers.comparators.dp_dk.params import DKParams


def idle(params: DKParams) -> Iterable[Idle]:
    """Name the parameters that the others leave without effect."""
    if params.order == 1:
        yield Idle(("matrix_share",), "order=1 reads no pairs of degrees; order=2 does")


def most_groups(params: DKParams, nodes: int) -> int:
    """Return the number of degree classes; order 1 has none."""
    from papers.comparators.dp_dk.draw import thresholds

    return 1 if params.order == 1 else 1 + len(thresholds(nodes, params.class_ratio))


def cell_reads(params: DKParams, nano_epsilon: int) -> dict[str, int]:
    """Return each cell's cost of counts, degrees and class pairs. These are pairs of degree classes."""
    if params.order == 1:
        count, degrees = divide(nano_epsilon, params.count_share)
        return {"edge_count": count, "sorted_degrees": degrees}
    count, matrix, degrees = divide(nano_epsilon, params.count_share, params.matrix_share)
    return {"edge_count": count, "degrees": degrees, "group_matrix": matrix}


GENERATOR = PerCell(
    module=__name__,
    name="dp_dk",
    title="dK-1 and dK-2",
    summary=(
        "Noisy degree sequence (order 1), or noisy degrees and edge counts between classes of noisy degree "
        "(order 2), per snapshot. Pure epsilon under every unit but node."
    ),
    mechanism="laplace",
    Params=DKParams,
    idle=idle,
    most_groups=most_groups,
    cell_reads=cell_reads,
    parts=Parts(late("papers.comparators.dp_dk.draw:fit"), late("papers.comparators.dp_dk.draw:draw")),
).method()
