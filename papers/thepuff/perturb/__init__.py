"""THEPUFF's perturbation by itself: in each cell about as many edges appear as vanish.

Variant ``sound`` pays for a noisy number of edges in every cell (relation and step), and then flips every
typed slot independently, balanced about that number, at the epsilon that is left. It is the balanced form of
``edgerand``, and the same code.

What is read: the number of edges, sensitivity 1; every slot once, by a coin. Proof: slots are flipped
independently and neighbours differ in one slot, so the flips cost max(ln((1 - p_drop) / p_add),
ln((1 - p_add) / p_drop)), computed from the probabilities that are used; these depend on the noisy number of
edges, which is paid for, so both costs add up. Guarantee: pure epsilon, unit: one edge of one cell; a window
or a pair divides epsilon over its steps.

Variant ``paper`` is the published form (Algorithm 1, Eq. 2-4): present edges vanish with probability
p_drop = exp(-eps_minus); absent ones appear with p_add = m p_drop / (N - m), for the exact number m of edges
in the cell and its N typed slots over the public universe. It reads the raw graph, so its guarantee is
``none``. What the paper calls its budget is eps_minus; the largest epsilon per slot of the probabilities that
were used is printed beside that claim. The paper's Eq. 4 counts nodes that have an edge at the step; here N
is the whole universe, as the additions range over it: only so do as many appear as vanish.

O(edges in and out) for both: flips are drawn by their number and their places.
Source: He et al., "Temporal Heterogeneous Graph Generation with Privacy, Utility, and Efficiency", ICLR 2025.

What to expect at epsilon 1: the number of edges, and little else of sparse relations. On ACM (papers and
authors, 13,407 links) degrees are off by a total variation of .14 and .46, on IMDB (movies and actors) by .78
and .46; ``hetesdg`` is off by .04 and .03, and by .01 and .06. Plan and report
print the share of true edges to expect, a public function of epsilon and sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from core.methods._shared.frame.heeded import Idle, require_heeded
from core.methods._shared.frame.percell import Parts, PerCell, drawn_edges, same_edges
from core.methods._shared.frame.plan import divide
from core.methods.base import Claimed, GraphKinds, Progress, PublicFacts, require_accepted
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from papers._shared.unprotected import unprotected_plan
from papers.thepuff import paper
from papers.thepuff.perturb.params import ThepuffPerturbParams

if TYPE_CHECKING:
    from core.graphs.schema import GraphSchema
    from core.methods._shared.frame.columns import Columns
    from core.methods.base import FittedModel
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.private_graph import PrivateCell, PrivateGraph

REASON = "THEPUFF's published perturbation takes its probabilities from exact edge counts."
NAME = "thepuff_perturb"


def plan(params: ThepuffPerturbParams, public: PublicFacts) -> PrivacyPlan:
    """Grant every cell (relation and step) the same epsilon; variant paper is one unprotected access.

    EDGE and EVENT: cells hold disjoint edges, each may spend everything. W_EVENT: epsilon/w per step.
    PAIR: epsilon divided by the number of cells. Rounded down to nano-epsilon. A parameter that the other
    variant alone looks at is refused.
    """
    if params.variant == "paper":
        require_accepted(CELLS.edges, public)
        require_heeded(params, idle(params))
        return unprotected_plan(NAME, public, REASON)
    return CELLS.plan(params, public)


def claim(params: ThepuffPerturbParams, public: PublicFacts) -> Claimed | None:
    """Return what the paper claims for its own form. None for ours, whose guarantee is computed."""
    return paper.claim_of(params.epsilon_minus) if params.variant == "paper" else None


def cell_reads(params: ThepuffPerturbParams, nano_epsilon: int) -> dict[str, int]:
    """Return the cost of every cell's edge count. Variant paper pays for nothing."""
    if params.variant == "paper":
        return {}
    return {"edge_count": divide(nano_epsilon, params.count_share)[0]}


def true_shares(
    params: ThepuffPerturbParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Mapping[str, tuple[float, float]]:
    """Compute the expected share of true edges, variant sound.

    It is 1 - p_drop, as about as many come as go. At the declared bound on edges or a guess. Nothing is said
    of variant paper, which has no guarantee and keeps 1 - exp(-eps_minus).
    """
    from core.methods._shared.flips.true_edges import kept_shares
    from core.privacy.accounting.flips import Flips

    def flips_for(nano: int, multiplicity: int, edges: int, slots: int) -> Flips:
        return Flips.balanced(divide(nano, params.count_share)[1] // multiplicity, edges, slots)

    return {} if params.variant == "paper" else kept_shares(plan, schema, nodes, flips_for)


def idle(params: ThepuffPerturbParams) -> Iterable[Idle]:
    """Name the parameters that the others leave without effect."""
    if params.variant == "paper":
        yield Idle(("count_share",), "variant=paper takes exact counts; variant=sound spends it")
        yield Idle(("attribute_share",), "variant=paper releases bare edges; variant=sound spends it")
    else:
        yield Idle(("epsilon_minus",), "it is of variant=paper; the request's epsilon counts here")


def fit(
    graph: PrivateGraph, plan: PrivacyPlan, params: ThepuffPerturbParams, progress: Progress
) -> FittedModel:
    """Perturb the graph, at the plan's cost. O(edges in and out)."""
    if params.variant == "sound":
        return CELLS.fit(graph, plan, params, progress)
    from papers.thepuff.perturb.published import perturbed_model

    return perturbed_model(NAME, graph.unprotected(REASON), params, progress)


def load(folder: Path) -> FittedModel:
    """Read the model that its ``save`` wrote."""
    from core.methods._shared.frame.model import CellsModel
    from papers.thepuff.perturb.published import as_published

    model = CELLS.load(folder)
    if isinstance(model, CellsModel):
        params = model.params
        if isinstance(params, ThepuffPerturbParams) and params.variant == "paper":
            return as_published(model)
    return model


def _flipped(
    cell: PrivateCell, nodes: int, nano_epsilon: int, params: ThepuffPerturbParams, rng: Rng
) -> Columns:
    """Flip the cell: ``key`` int64, its sorted edges. Costs ``nano_epsilon`` at most."""
    from core.methods._shared.flips.balanced import balanced

    return drawn_edges(cell, balanced(cell, nano_epsilon, params.count_share).ends)


CELLS = PerCell(
    module=__name__,
    name=NAME,
    title="THEPUFF's perturbation",
    summary=(
        "Flips every possible edge, balanced so that the density is kept, as THEPUFF perturbs the graph "
        "that it learns from. Pure epsilon under every unit but node; or as published, without a guarantee."
    ),
    mechanism="laplace and randomised response",
    Params=ThepuffPerturbParams,
    accepts=GraphKinds(static=True, temporal=True, heterogeneous=True, directed=True, bipartite=True),
    kinds=frozenset({GuaranteeKind.PURE, GuaranteeKind.NONE}),
    cell_reads=cell_reads,
    idle=idle,
    parts=Parts(_flipped, same_edges),
)
GENERATOR = CELLS.method(plan=plan, claim=claim, true_shares=true_shares, fit=fit, load=load)
