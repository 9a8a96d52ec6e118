"""Our own method: a degree-corrected block model, rewired to a noisy number of triangles.

Five reads, each of which may use what was read before:
1. degrees (L1 2), discrete Laplace noise of scale 2/epsilon_1. Their law is deconvolved, free of charge.
2. labels: one visit of the nodes by descending noisy degree, each with a noisy count of its earlier
   neighbours by label; edges inside the core, the fifth of the nodes that comes first, are read twice, at
   shares of the same epsilon_2 (:mod:`core.privacy.label_stream`, with its proof). The rows' sums are a
   second look at the degrees.
3. edges inside and between labels (``group_matrix``, L1 1), which also give the number of edges.
4. triangles, by the ladder mechanism (:mod:`core.privacy.ladder`).
5. the sum over edges of noisy degree times noisy degree (:mod:`core.privacy.product_sum`).
A graph is drawn by matching edge ends label by label, with the deconvolved degrees, and rewired, keeping
degrees and block counts, until triangles and degree products are as read.

Guarantee: pure epsilon. Proof of the total: labels, order, caps and the number of labels are functions of
earlier noisy outputs, hence the same for two neighbours once those are given; the five reads are adaptive
reads of one cell, so their costs add up to epsilon. All else is post-processing. Unit: an edge of a static
graph, an event, a window or a pair of a temporal one; each snapshot is released anew. An undirected cell
holds one edge of any unit, and a unit's cells pay each for itself, so PAIR needs no argument of its own.

Choices that were measured: the labels get the largest share; their number follows from the noisy mean degree;
the aim for degree products is the noisy one averaged, by precision, with what the labels alone imply. Run
times depend on true degrees and are not for publication.

Sources: ladder, Zhang, Cormode, Procopiuc, Srivastava, Xiao, SIGMOD 2015; degree-corrected block models,
Karrer and Newman, Phys. Rev. E 83 (2011). The label stream and the whole are ours.

What to expect at epsilon 1: on Facebook (4,039 nodes, mean degree 44) degrees within a total variation of
.10, transitivity within 2 %, modularity within 11 %, and .74 of the most central 1 % of nodes; on Chameleon
(2,277 nodes, mean degree 28) .25, 6 %, 19 % and .89. Communities come through in part (NMI .36 and .20),
single ties do not. At epsilon .5 assortativity on Facebook is off by 90 %, with the preset ``balanced`` by 48
%.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.generators._shared.frame.heeded import Idle
from core.generators._shared.frame.percell import Parts, PerCell
from core.generators.dcsbm.params import DCSBMParams


class DCSBM(PerCell):
    """The method for static graphs, and the same on each snapshot of a stream."""

    name = "dcsbm"
    title = "Degree-corrected block model with triangle target"
    summary = (
        "Deconvolved degrees, communities from one noisy visit in degree order, block counts, and rewiring "
        "to noisy numbers of triangles and degree products. Pure epsilon under every unit."
    )
    mechanism = "laplace and ladder"
    Params = DCSBMParams

    def idle(self, params: DCSBMParams) -> Iterable[Idle]:
        """The parameters that the others leave without effect."""
        if not params.triangle_share:
            yield Idle(("proposals",), "nothing is rewired; a triangle_share above 0 asks for it")
        if not params.product_share:
            yield Idle(("band",), "degree products are not aimed at; a product_share above 0 asks for them")
        if not params.core:
            yield Idle(("forward_share",), "no edge is read twice at core=0; a core above 0 has some")
        if params.groups == 1:
            yield Idle(("resolution",), "there is one label; more groups are weighed by it")

    def parts(self) -> Parts:
        """Paying for the noisy values, and drawing from them."""
        from core.generators.dcsbm.draw import draw
        from core.generators.dcsbm.fit import fit

        return Parts(fit, draw)


GENERATOR = DCSBM()
