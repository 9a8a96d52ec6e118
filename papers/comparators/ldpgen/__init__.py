"""LDPGen: a synthetic graph from reports that every user randomises, in the local model of privacy (2017).

Users are put into random groups and each reports how many edges it has to every group, with noise. k-means on
these vectors makes new groups, towards which all report again. The last reports give each node's share of the
edges between its group and every other, and the number of those edges; a graph is drawn from them by
Chung-Lu weights, group pair by group pair, as BTER does beyond its blocks.

What is read, once per report: the vectors of all nodes (L1 2: an edge adds 1 to one entry of each end's
vector), with discrete Laplace noise of scale 2/epsilon_i on every entry, drawn apart for every node. Proof of
the total: groups are random or made of earlier reports, hence the same for both neighbours once those are
given; the reports are adaptive reads of one cell, so their costs add up to epsilon. k-means, consistency and
drawing read reports only: post-processing.

Trust model: both ends of an edge report it, so the unit edge pays for two vectors. One user's own vector
changes by 1 with one entry of its own neighbour list: towards that user alone the reports are
(epsilon/2)-edge-local private, which is what the paper calls epsilon. The law of the release is the one that
it would have if every user had randomised its own list before sending it, and nobody had seen the graph. That
is what the local model adds; here the service holds the graph, so what a release promises is the unit that
its guarantee names and no more.

Where it departs from the paper: noise is integer; the numbers of reports and of groups are public parameters,
where the paper derives the latter from first reports; reports share epsilon equally; the two ends' counts of
one group pair are averaged by their precision; negative entries are evened out by NormSub, which keeps sums;
pairs are distinct and their number is fixed per group pair. Source: Qin, Yu, Yang, Khalil, Xiao, Ren,
Generating Synthetic Decentralized Social Graphs with Local Differential Privacy, CCS 2017; no program of its
authors was found.

What to expect at epsilon 1: on Facebook (4,039 nodes, mean degree 44) degrees within a total variation of .14
and .63 of the most central 1 % of nodes; on Chameleon (2,277 nodes, mean degree 28) .29 and .70. Modularity
and transitivity are off by 53 % and 68 %, and by 45 % and 51 %, the number of edges by up to 1 %. On
Facebook, four times the epsilon changes neither.
"""

from __future__ import annotations

from core.late import late
from core.methods._shared.frame.percell import Parts, PerCell
from core.methods._shared.frame.plan import divide
from papers.comparators.ldpgen.params import LDPGenParams


def cell_reads(params: LDPGenParams, nano_epsilon: int) -> dict[str, int]:
    """Return the least cost of every report. Reports are of a cell's nodes."""
    return {"group_degrees": min(divide(nano_epsilon, *[1 / params.reports] * (params.reports - 1)))}


GENERATOR = PerCell(
    module=__name__,
    name="ldpgen",
    title="LDPGen",
    summary=(
        "Every node reports noisy edge counts towards groups, twice or more, as in the local model; groups "
        "by k-means. Pure epsilon under every unit but node."
    ),
    mechanism="laplace",
    Params=LDPGenParams,
    cell_reads=cell_reads,
    parts=Parts(
        late("papers.comparators.ldpgen.reports:fit"), late("papers.comparators.ldpgen.reports:draw")
    ),
).method(needs=("sklearn",))
