"""Degree-corrected block model, rewired to noisy numbers of triangles and clustering.

It reads the number of edges, degrees, degree tails, labels, edges between labels, triangles, clustering and
degree products, each within its share of a cell's epsilon; ``page.md`` has each with its sensitivity.

Guarantee: pure epsilon. Proof of the total: which reads are made and what each costs are functions of earlier
noisy outputs and public facts, and the costs add up to epsilon: adaptive reads of one cell under a fixed sum.
All else is post-processing. Sources: Zhang et al., SIGMOD 2015 (ladder); Karrer and Newman, Phys. Rev. E 83
(2011).
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
    from core.methods._shared.shards.cells import CellLaws
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


def shard_law(
    model: CellsModel, orders: Mapping[str, np.ndarray], rng: Rng, shard_edges: int = 2**24
) -> CellLaws:
    """Make the law of each cell of a model. See :func:`core.methods.dcsbm.shards.law_of`."""
    from core.methods._shared.shards.cells import CellLaws
    from core.methods.dcsbm.shards import law_of

    kinds = {each.name: each.source for each in model.schema.edge_types}
    laws = [law_of(columns, orders[kinds[key[0]]], rng, shard_edges) for key, columns in model.cells.items()]
    return CellLaws(tuple(model.cells), tuple(laws))


def draw_shard(law: Path, number: int, shards: int, folder: Path) -> Part:
    """Sample one of so many shards, and write it to ``folder``. It is of the law that ``law`` holds."""
    from core.methods._shared.shards.cells import write_shard_of

    return write_shard_of(law, number, shards, folder)


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
