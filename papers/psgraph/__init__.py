"""PSGraph (2024) and beyond: private synthesis of streaming graphs by their temporal dynamics.

Every step pays for its number of edges. While that number is stable, the partition into communities is kept
and the whole budget goes to degrees and edge counts between communities, which are combined with those of
past steps; when it has changed by more than the number of nodes, part of the budget buys a new partition. A
graph is rebuilt from these noisy values alone. ``preset: paper`` is the published method; the default
replaces what measured better (:class:`papers.psgraph.budget.Way`):

- partition: where the noisy mean degree is below the noise of a single degree no partition can be found, and
  one community holds all nodes at no cost; elsewhere labels come from one noisy pass in degree order
  (``dcsbm``'s), in place of the clustered super-graph with its exponential mechanism;
- combination: of all past steps, by precision, before the values are made consistent; the paper combines two
  steps in proportion to epsilon, after;
- degrees: from a law that explains the noisy ones, by rank, instead of NormSub, which makes hubs out of
  noise. Sorting alone (isotonic regression) changes nothing: sorted noisy degrees are monotone already. Where
  the nodes that may have an edge, by the noisy count, are ten times the noise of such a number or more, a
  step also buys how many nodes have at least so many edges, and the law explains both (``dcsbm``'s law);
  elsewhere a heavy-tailed curve with two parameters is bent;
- reconstruction: edge ends are matched to whole degrees, where the paper draws pairs by weight;
- a noisy number of triangles could be bought and rewired to; at a stream's budgets it did not pay, and
  neither preset does.

What is read, for each step: the number of edges, sensitivity 1; where a partition is made, the super-graph's
cells (1) and one exponential pass over the nodes, or degrees (2 in L1) and one label stream; degrees inside
communities (2), in parallel with degrees outside (2) and edge counts between communities (1); how many nodes
have at least so many edges (2 in L1 whatever the thresholds, which are public: an edge raises two degrees by
one each, and each passes one threshold at most); triangles by the ladder, where they are bought.
Proof: these compose in sequence, apart from the parallel group, whose branches hold disjoint edges as the
partition is paid for before. Which branch a step takes is a function of noisy counts and of public facts, and
all branches cost the step's share at most. Combination, degrees and graph are post-processing of outputs that
this and earlier steps paid for. Guarantee: pure epsilon; a window of w steps costs w shares of epsilon / w.

Where the paper leaves room or is unsound: the universe of nodes is public and fixed, and the threshold is its
size (a count of nodes that have an edge would be private); the exponential mechanism's weight goes by its
true sensitivity; the change is measured against the step of the last partition, so that slow drift is
noticed; edge ends between communities follow the symmetric form of Eq. 4; drawn totals are rescaled to the
noisy number of edges. Source: arXiv 2412.11369; partition: PrivGraph (Yuan et al., USENIX Security 2023).

What to expect at epsilon 1, untimed: on Facebook (4,039 nodes, mean degree 44) degrees within a total
variation of .11, modularity within 19 %, .68 of the most central 1 % of nodes, communities at an NMI of .37;
on Chameleon (2,277 nodes, mean degree 28) .23, 25 %, .86 and .25. Transitivity is off by 30 % and 17 %, with
the preset ``paper`` by 70 % and 42 %. Streams of sparse steps: degrees are closer with ``keyframe``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from core.methods._shared.frame.heeded import require_heeded
from core.methods._shared.frame.percell import reads_of_cells
from core.methods._shared.frame.plan import cell_plan
from core.methods._shared.frame.stages import staged
from core.methods._shared.values.stage import VALUES
from core.methods.base import (
    GraphKinds,
    Method,
    Progress,
    PublicFacts,
    require_accepted,
)
from core.methods.room import require_groups
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.plan import GuaranteeKind, PlannedRead, PrivacyPlan
from core.privacy.units import Unit
from papers.psgraph.budget import PSGraphParams, divide, idle, step_reads

if TYPE_CHECKING:
    from core.graphs.schema import GraphSchema
    from core.privacy.session.private_graph import PrivateGraph
    from papers.psgraph.model import PSGraphModel
    from papers.psgraph.state import PSGraphState
    from papers.psgraph.step import Memory, StepModel


NAME = "psgraph"


def plan(params: PSGraphParams, public: PublicFacts) -> PrivacyPlan:
    """Grant every cell its step's epsilon; how a step divides it depends on noisy counts only.

    EDGE and EVENT: the cells hold disjoint edges, each may spend everything. W_EVENT: epsilon/w per step,
    rounded down to nano-epsilon. Relations run apart: one edge is in one of them. A
    parameter that could change nothing is refused.
    """
    require_accepted(EDGES, public)
    require_heeded(params, idle(params, public))
    mechanisms = "laplace, exponential and ladder" if params.way.triangle_share else "laplace and exponential"
    return cell_plan(NAME, public, mechanisms, "psgraph step")


def planned_reads(
    params: PSGraphParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Sequence[PlannedRead]:
    """Return each step's reads of edge count and degrees. See :class:`Method`."""
    return reads_of_cells(plan, lambda total: step_reads(params, total))


def require_room(
    params: PSGraphParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> None:
    """Check the counts between super-nodes. Communities do not exceed these; see :class:`Method`."""
    for name in {each.edge_type for each in plan.allotments if params.way.partition == "super_graph"}:
        count = nodes[schema.edge_type(name).source]
        require_groups(name, min(-(-count // params.way.super_node_size), params.way.max_super_nodes))


def fit(graph: PrivateGraph, plan: PrivacyPlan, params: PSGraphParams, progress: Progress) -> PSGraphModel:
    """Fit the model, at the plan's cost at most. O(m + steps * (n + S^2 + k^2))."""
    return _run(graph, plan, params, {}, progress)[0]


def fit_snapshot(
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: PSGraphParams,
    state: Path | None,
    progress: Progress,
) -> tuple[PSGraphModel, PSGraphState]:
    """Fit one snapshot of a live stream.

    Returned too is what the next one may know; the loop is fit's. What is carried on is the last partition
    and, for it, the noisy counts and degrees. After a missing snapshot the one before it counts as the
    previous one. ValueError when ``state`` is not of an earlier step.
    """
    from papers.psgraph.state import PSGraphState, load_state

    last = None if state is None else load_state(state)
    if last is not None and last.step >= plan.first_step:
        raise ValueError("a stream's snapshots come in the order of time")
    model, memory = _run(graph, plan, params, last.relations if last else {}, progress)
    return model, PSGraphState(plan.first_step, memory)


def load(folder: Path) -> PSGraphModel:
    """Read the model that its ``save`` wrote."""
    from papers.psgraph.model import load_model

    return load_model(folder)


def _run(
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: PSGraphParams,
    before: Mapping[str, Memory],
    progress: Progress,
) -> tuple[PSGraphModel, dict[str, Memory]]:
    """Fit every cell of the plan in the order of time; each relation starts from its memory ``before``."""
    from core.privacy.entropy import noise_generator
    from papers.psgraph.model import PSGraphModel
    from papers.psgraph.step import fit_step

    rng = noise_generator()
    cells: dict[tuple[str, int | None], StepModel] = {}
    memory = dict(before)
    for done, allotment in enumerate(plan.allotments):
        progress("fit", done, len(plan.allotments))
        name, step = allotment.edge_type, allotment.step
        budget = divide(params, pure_nano_epsilon(allotment.event) or 0)
        nodes = graph.node_count(graph.schema.edge_type(name).source)
        cells[name, step], memory[name] = fit_step(
            graph.cell(name, step), nodes, budget, params, memory.get(name), rng
        )
    progress("fit", len(plan.allotments), len(plan.allotments))
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    return PSGraphModel(graph.schema, counts, params, cells), memory


EDGES = Method(
    module=__name__,
    name=NAME,
    title="PSGraph",
    summary=(
        "Community-level noisy degrees and edge counts per snapshot; keeps the partition while a stream is "
        "stable, and combines degrees over time. Pure epsilon under edge, event or w-event privacy."
    ),
    assurance="proven",
    Params=PSGraphParams,
    accepts=GraphKinds(static=True, temporal=True, heterogeneous=True),
    units=frozenset({Unit.EDGE, Unit.EVENT, Unit.W_EVENT}),
    kinds=frozenset({GuaranteeKind.PURE}),
    plan=plan,
    planned_reads=planned_reads,
    require_room=require_room,
    fit=fit,
    step=fit_snapshot,
    load=load,
)
GENERATOR = staged(EDGES, VALUES)
