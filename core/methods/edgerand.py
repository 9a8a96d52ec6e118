"""EdgeRand: every possible edge is flipped or kept at random, independently of all others.

Randomised response on all pairs of nodes. The symmetric form flips present and absent edges with the same
probability 1 / (1 + e^epsilon), as published; at small epsilon almost every edge of its output is false, and
it has as many as that share of all pairs. The balanced form first pays for a noisy number of edges, and then
lets about as many edges appear as vanish, so that the density is kept.

What is read: the number of edges (balanced form), sensitivity 1; every pair once, by a coin.
Proof: slots are flipped independently and neighbours differ in one slot, so the cost of the flips is
max(ln((1 - p_drop) / p_add), ln((1 - p_add) / p_drop)), computed from the probabilities that are used. In the
balanced form these depend on the noisy number of edges, which is paid for: both costs add up. Guarantee: pure
epsilon, unit: one edge of one cell; a stream or a pair divides epsilon over its steps.

Differs from published programs: the flips are drawn by their number and their places, so that no pair is
walked which does not appear; the density that balances them is noisy, never the exact one; the number of
edges is held within 1 and the number of pairs, and above half of the pairs the symmetric form is used.
Source: Wu et al., "LinkTeller" (IEEE S&P 2022), EdgeRand; balanced flips: THEPUFF (Eq. 4).

What to expect: below an epsilon of about ln(pairs / edges) a nearly random graph with the right number of
edges. At epsilon 1, on Facebook (4,039 nodes, 88,234 edges) degrees are off by a total variation of .77,
transitivity by 98 %, modularity by 84 %; on Chameleon (2,277 nodes, 31,371 edges) by .77, 96 % and 75 %.
Above it nearly all edges are kept. Plan and report print the share of true edges to expect, a public function
of epsilon and sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from core import errors
from core.graphs.schema import GraphSchema
from core.late import late
from core.methods._shared.flips.true_edges import kept_shares
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.heeded import Idle
from core.methods._shared.frame.percell import Parts, PerCell, drawn_edges, same_edges
from core.methods._shared.frame.plan import divide
from core.methods._shared.values.share import ValueParameters
from core.methods.base import FittedModel, GraphKinds, Progress, PublicFacts, checked
from core.privacy.accounting.events import NANO, pure_nano_epsilon
from core.privacy.accounting.flips import Flips
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape
from core.privacy.units import edges_of_unit

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateCell, PrivateGraph

MOST_EDGES = 50_000_000
"""Most edges that the symmetric form is expected to add, over all cells; 800 MB of ends."""


class EdgeRandParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("count", "flips")

    form: Literal["balanced", "symmetric"] = Field(
        default="balanced",
        description=(
            "As many edges appear as vanish, about a noisy number of edges; or one probability for both, as "
            "published, which gives very dense graphs at small epsilon."
        ),
    )
    count_share: float = Field(
        default=0.1,
        gt=0,
        le=0.5,
        description="Share of epsilon for the number of edges; the balanced form alone spends it.",
    )


def require_few(params: EdgeRandParams, public: PublicFacts, plan: PrivacyPlan) -> None:
    """Refuse the symmetric form where it would add more than 50 million edges; how many it adds is public."""
    if params.form == "symmetric":
        declared = {kind.name: kind.count for kind in public.schema.node_types}
        _require_affordable(plan, public.schema, declared)


def fit(graph: PrivateGraph, plan: PrivacyPlan, params: EdgeRandParams, progress: Progress) -> FittedModel:
    """Perturb the graph, at the plan's cost at most. O(edges in and out)."""
    if params.form == "symmetric":
        # A universe whose size the schema leaves open is public all the same; nothing has been read yet.
        counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
        _require_affordable(plan, graph.schema, counts)
    return CELLS.fit(graph, plan, params, progress)


def require_room(
    params: EdgeRandParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> None:
    """Check the symmetric form by the sizes left open. The schema leaves them open; see :class:`Method`."""
    CELLS.require_room(params, plan, schema, nodes)
    if params.form == "symmetric":
        _require_affordable(plan, schema, nodes)


def cell_reads(params: EdgeRandParams, nano_epsilon: int) -> dict[str, int]:
    """Return the cost of every cell's edge count. The balanced form only asks for it."""
    if params.form == "symmetric":
        return {}
    return {"edge_count": divide(nano_epsilon, params.count_share)[0]}


def true_shares(
    params: EdgeRandParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Mapping[str, tuple[float, float]]:
    """Compute the expected share of true edges. It is of those kept, among them and those that appear."""

    def flips_for(nano: int, multiplicity: int, edges: int, slots: int) -> Flips:
        if params.form == "symmetric":
            return Flips.symmetric(nano // multiplicity)
        return Flips.balanced(divide(nano, params.count_share)[1] // multiplicity, edges, slots)

    return kept_shares(plan, schema, nodes, flips_for)


def idle(params: EdgeRandParams) -> Iterable[Idle]:
    """Name the parameters that the others leave without effect."""
    if params.form == "symmetric":
        yield Idle(("count_share",), "the symmetric form asks for no number of edges; form=balanced does")


_balanced = late("core.methods._shared.flips.balanced:balanced")


def _flipped(cell: PrivateCell, nodes: int, nano_epsilon: int, params: EdgeRandParams, rng: Rng) -> Columns:
    """Flip the cell: ``key`` int64, its sorted edges. Costs ``nano_epsilon`` at most."""
    if params.form == "symmetric":
        ends = cell.randomised_response(nano_epsilon=nano_epsilon, purpose="symmetric flips")
        return drawn_edges(cell, ends)
    return drawn_edges(cell, _balanced(cell, nano_epsilon, params.count_share).ends)


def _require_affordable(plan: PrivacyPlan, schema: GraphSchema, counts: Mapping[str, int | None]) -> None:
    """Raise NotAccepted when symmetric flips would add more than MOST_EDGES. Public facts only.

    ``counts``: sizes of the node universes; relations over one of unknown size are not counted.
    """
    expected = 0.0
    for allotment in plan.allotments:
        relation = schema.edge_type(allotment.edge_type)
        sources, targets = counts[relation.source], counts[relation.target]
        if sources is not None and targets is not None:
            each = (pure_nano_epsilon(allotment.event) or 0) // edges_of_unit(plan.unit, relation)
            slots = Shape(relation, sources, targets).slots
            # Beyond 700 exp overflows, and nothing is added anyway.
            expected += slots / (1 + math.exp(min(each / NANO, 700)))
    if expected > MOST_EDGES:
        raise errors.NotAccepted(
            f"the symmetric form would add about {expected:.3g} edges at this epsilon, and at most "
            f"{MOST_EDGES} are made; form=balanced keeps the number of edges",
            field="form",
        )


CELLS = PerCell(
    module=__name__,
    name="edgerand",
    title="EdgeRand",
    summary=(
        "Randomised response on every possible edge, balanced about a noisy number of edges or symmetric as "
        "published. Pure epsilon under every unit but node."
    ),
    mechanism="laplace and randomised response",
    Params=EdgeRandParams,
    accepts=GraphKinds(static=True, temporal=True, heterogeneous=True, directed=True, bipartite=True),
    cell_reads=cell_reads,
    idle=idle,
    parts=Parts(_flipped, same_edges),
)
GENERATOR = CELLS.method(
    plan=checked(CELLS.plan, require_few), fit=fit, require_room=require_room, true_shares=true_shares
)
