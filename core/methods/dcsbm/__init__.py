"""Our own method: a degree-corrected block model, rewired to noisy numbers of triangles and clustering.

The reads, each of which may use what was read before:
1. the number of edges (L1 1). It says whether labels can be told; where not, there is one label, and what
   labels would cost goes to the other reads, at fixed shares.
2. degrees (L1 2), discrete Laplace noise of scale 2/epsilon_2.
3. degree tails: how many nodes have at least so many edges (``tail_counts``, L1 2 for any thresholds). The
   degrees' law is the one that explains both and the number of edges
   (:mod:`core.methods._shared.degrees.tails`).
4. labels: one visit of the nodes by descending noisy degree, each with a noisy count of its earlier
   neighbours by label; edges inside the core, the fifth of the nodes that comes first, are read twice, at
   shares of the same epsilon_4 (:mod:`core.privacy.mechanisms.label_stream`, with its proof). The rows' sums
   are a second look at the degrees.
5. edges inside and between labels (``group_matrix``, L1 1).
6. triangles, by the ladder mechanism (:mod:`core.privacy.mechanisms.ladder`).
7. the damped sum of local clustering coefficients, by a ladder too
   (:mod:`core.privacy.mechanisms.clustering`).
8. the sum over edges of noisy degree times noisy degree (:mod:`core.privacy.mechanisms.product_sum`).
A graph is drawn by matching edge ends label by label, with the degrees of that law, and rewired, keeping
degrees and block counts, until degree products, triangles and clustering are near what was read. How near
degree products are brought follows from their noise, and they give way where they make more triangles than
were read; the aim for clustering lies between the noisy sum and what rewiring to triangles alone gives, as
sure as either is. Triangles are closed within circles of nodes drawn at random, which say nothing of the
graph, or among hubs: closed anywhere they leave a graph with fewer communities than real graphs have. What is
in one circle is chance, so that circles are not communities of the original.

Guarantee: pure epsilon. Proof of the total: thresholds, labels, order, caps, the number of labels and what
each read costs are functions of earlier noisy outputs and public facts, hence the same for two neighbours
once those are given; whichever reads are made, their costs add up to epsilon, so that they are adaptive
reads of one cell under a sum that is fixed. All else is post-processing. Unit: an edge of a static graph, an
event, a window or a pair of a temporal one; each snapshot is released anew. An undirected cell holds one
edge of any unit, and a unit's cells pay each for itself, so PAIR needs no argument of its own.

What matters where: below about 19 edges a node at epsilon 1 there is one label, and the method is one of
degrees, triangles and clustering. Above, labels keep communities and central nodes. On a sparse graph nothing
but public groups keeps who is linked with whom. Tails matter on sparse graphs, degree products on graphs with
hubs. On graphs of some hundred edges clustering is mostly noise, and the number of triangles too: the preset
``small`` reads no clustering and leans on a public guess of transitivity, as ``degree_triangle`` does;
``method: auto`` takes it up to a thousand nodes.

With ``groups`` the name of a public attribute of categories (at most 64 groups; those of fewest nodes are
one), its values are the labels: read 4 is not made, and what it would cost goes to the others, most of it to
edges inside and between groups and to triangles. Labels are public then, hence the same for two neighbours.

With ``node_attribute_share``, that share of an edge's epsilon, and the epsilon of a node's row of protected
attributes, pay for synthetic ones (:mod:`core.methods._shared.node_values`, with the reads and proofs of
:mod:`core.privacy.reads.node_values`): every node is dealt values by its label and class of degree, and edges
are drawn by both, so that labels meet as read 5 says, and values as the paid mixing matrix.

The method's first version had neither 1, 3 nor 7, and at least two labels. Run times depend on true degrees
and are not published.

Sources: ladder, Zhang, Cormode, Procopiuc, Srivastava, Xiao, SIGMOD 2015; degree-corrected block models,
Karrer and Newman, Phys. Rev. E 83 (2011). The label stream, the clustering ladder and the whole are ours.

What to expect at epsilon 1: on Facebook (4,039 nodes, mean degree 44) degrees within a total variation of
.09, transitivity within 2 %, mean local clustering within 10 %, modularity within 10 %, assortativity within
.01, and .64 of the most central 1 % of nodes; on Chameleon (2,277 nodes, mean degree 28) .22, 14 %, 28 %,
18 %, .02 and .77. Communities come through in part, single ties do not. On sparse graphs the numbers of
triangles and clustering are noisy: docs/results.md has sixteen graphs, and which of them constants saw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.graphs.schema import GraphSchema
from core.graphs.schema.partable import Part
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.heeded import Idle
from core.methods._shared.frame.percell import Parts, PerCell
from core.methods._shared.node_values.stage import NodeValueStage
from core.methods.base import Mixing, Progress, PublicFacts, Sharding, checked
from core.methods.dcsbm.budget import cell_reads, shares
from core.methods.dcsbm.counts import COUNTED, require_counts
from core.methods.dcsbm.params import DCSBMParams
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.plan import CellKey, PrivacyPlan
from core.privacy.entropy import Generator as Rng
from core.privacy.reads.public_groups import group_attribute

if TYPE_CHECKING:
    from core.methods._shared.frame.model import CellsModel
    from core.methods._shared.frame.resized import Law
    from core.methods._shared.shards.law import StripLaw
    from core.privacy.session.counted import CountedSession, PrivateParts


def mixing() -> Mixing:
    """Cross the labels of every cell with the groups."""
    from core.methods.dcsbm.labels import CrossedLabels

    return CrossedLabels()


def idle(params: DCSBMParams) -> Iterable[Idle]:
    """The parameters that the others leave without effect."""
    if not params.triangle_share:
        yield Idle(("transitivity",), "nothing is rewired; a triangle_share above 0 asks for it")


def require_groups(params: DCSBMParams, public: PublicFacts, plan: PrivacyPlan) -> None:
    """Refuse groups that no public attribute of the node types makes."""
    if isinstance(params.groups, str):
        for name in public.edge_types:
            kind = public.schema.node_type(public.schema.edge_type(name).source)
            group_attribute(kind, params.groups)


def require_room(
    params: DCSBMParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> None:
    """Check that sums of clustering stay within whole numbers. See :class:`Method`."""
    CELLS.require_room(params, plan, schema, nodes)
    if not params.clustering_share:
        return
    from core.methods._shared.rewiring.clustering import damping_for
    from core.privacy.mechanisms.clustering import damping_of

    for each in plan.allotments:
        count = nodes[schema.edge_type(each.edge_type).source]
        cost = shares(params, pure_nano_epsilon(each.event) or 0)["clustering"]
        damping_of(count, damping_for(count, cost))


def fit_parts(graph: PrivateParts, plan: PrivacyPlan, params: DCSBMParams, progress: Progress) -> CellsModel:
    """Fit a graph in parts. The plan, reads and noise are the same as of the same graph in memory."""
    require_counts(params)
    return CELLS.fitted(graph, plan, params, progress, paid)


def shard_law(model: CellsModel, order: np.ndarray, rng: Rng, shard_edges: int = 2**24) -> StripLaw:
    """Make the law of a model of one cell. See :func:`core.methods.dcsbm.shards.law_of`."""
    from core.methods.dcsbm.shards import law_of

    (columns,) = model.cells.values()
    return law_of(columns, order, rng, shard_edges)


def draw_shard(law: Path, number: int, shards: int, folder: Path) -> Part:
    """Sample one of so many shards, and write it to ``folder``. It is of the law that ``law`` holds."""
    from core.methods._shared.shards.draw import write_shard
    from core.methods._shared.shards.law import load_law

    return write_shard(load_law(law), number, shards, folder)


def paid(graph: CountedSession, key: CellKey, nano_epsilon: int, params: DCSBMParams, rng: Rng) -> Columns:
    """Pay for the columns of one cell. Its labels are the public groups where they are named."""
    from core.methods.dcsbm.fit import fit
    from core.privacy.reads.public_groups import MOST_PUBLIC

    kind, told = graph.schema.edge_type(key[0]).source, None
    if isinstance(params.groups, str):
        told = graph.attributes(kind).groups(params.groups, MOST_PUBLIC)
    return fit(graph.cell(*key), graph.node_count(kind), nano_epsilon, params, rng, told)


def parts() -> Parts:
    """Paying for the noisy values, and drawing from them."""
    from core.methods.dcsbm.draw import draw
    from core.methods.dcsbm.fit import fit

    return Parts(fit, draw)


def law() -> Law:
    """Give labels and degrees to repeated nodes, and scale counts.

    These grow with the nodes that repeat others.
    """
    from core.methods.dcsbm.draw import resized

    return resized


CELLS = PerCell(
    module=__name__,
    name="dcsbm",
    title="Degree-corrected block model with triangle target",
    summary=(
        "Deconvolved degrees, communities from one noisy visit in degree order, block counts, and rewiring "
        "to noisy numbers of triangles and degree products. Pure epsilon under every unit but node."
    ),
    mechanism="laplace and ladder",
    Params=DCSBMParams,
    pay=paid,
    idle=idle,
    cell_reads=cell_reads,
    parts=parts,
    law=law,
)
GENERATOR = CELLS.method(
    NodeValueStage(mixing),
    plan=checked(CELLS.plan, require_groups),
    require_room=require_room,
    sharding=Sharding(COUNTED, require_counts, fit_parts, shard_law, draw_shard),
)
