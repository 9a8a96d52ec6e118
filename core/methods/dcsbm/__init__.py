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
from typing import TYPE_CHECKING

from core.graphs.schema import GraphSchema
from core.late import late
from core.methods._shared.frame.heeded import Idle
from core.methods._shared.frame.percell import Parts, PerCell
from core.methods._shared.node_values.stage import NodeValueStage
from core.methods.base import Progress, PublicFacts, Sharding, checked
from core.methods.dcsbm.budget import cell_reads, shares
from core.methods.dcsbm.counts import COUNTED, require_counts
from core.methods.dcsbm.params import DCSBMParams
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.reads.public_groups import group_attribute

if TYPE_CHECKING:
    from core.methods._shared.frame.model import CellsModel
    from core.privacy.session.counted import PrivateParts

_damping_for = late("core.methods._shared.rewiring.clustering:damping_for")
_damping_of = late("core.privacy.mechanisms.clustering:damping_of")


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
    for each in plan.allotments:
        count = nodes[schema.edge_type(each.edge_type).source]
        cost = shares(params, pure_nano_epsilon(each.event) or 0)["clustering"]
        _damping_of(count, _damping_for(count, cost))


def fit_parts(graph: PrivateParts, plan: PrivacyPlan, params: DCSBMParams, progress: Progress) -> CellsModel:
    """Fit a graph in parts. The plan, reads and noise are the same as of the same graph in memory."""
    return CELLS.fitted(graph, plan, params, progress, PAID)


PAID = late("core.methods.dcsbm.fit:paid")
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
    pay=PAID,
    idle=idle,
    cell_reads=cell_reads,
    parts=Parts(late("core.methods.dcsbm.fit:fit"), late("core.methods.dcsbm.draw:draw")),
    law=late("core.methods.dcsbm.draw:resized"),
)
GENERATOR = CELLS.method(
    NodeValueStage(late("core.methods.dcsbm.labels:CrossedLabels")),
    plan=checked(CELLS.plan, require_groups),
    require_room=require_room,
    sharding=Sharding(
        COUNTED,
        require_counts,
        fit_parts,
        late("core.methods.dcsbm.shards:laws_of_model"),
        late("core.methods._shared.shards.cells:draw_shard"),
        late("core.methods.dcsbm.shards:degrees_of_model"),
    ),
)
