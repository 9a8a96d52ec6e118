"""PSGraph: differentially private streaming graph synthesis by considering temporal dynamics (2024).

Every step pays for its number of edges. While that number is stable, the partition into communities is kept
and the whole budget goes to degrees and edge counts between communities, which are combined with the previous
step's; when it has changed by more than the number of nodes, part of the budget buys a new partition. A graph
is rebuilt from these noisy values alone.

Where the paper leaves room or is unsound: the universe of nodes is public and fixed, and the threshold is its
size (a count of nodes that have an edge would be private); the change is measured against the step of the
last partition, so that slow drift is noticed; edge ends between communities follow the symmetric form of
Eq. 4; drawn totals are rescaled to the noisy number of edges. Source: arXiv 2412.11369; partition: PrivGraph
(Yuan et al., USENIX Security 2023).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.generators._shared.plan import cell_plan
from core.generators.base import Assurance, Generator, GraphKinds, Progress, PublicFacts, require_accepted
from core.generators.psgraph.budget import PSGraphParams, divide
from core.privacy.events import pure_nano_epsilon
from core.privacy.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit

if TYPE_CHECKING:
    from core.generators.psgraph.model import PSGraphModel
    from core.generators.psgraph.step import Memory, StepModel
    from core.privacy.private_graph import PrivateGraph


class PSGraph:
    """The paper's method for streams, and its first step alone for static graphs."""

    name = "psgraph"
    title = "PSGraph"
    summary = (
        "Community-level noisy degrees and edge counts per snapshot; keeps the partition and combines "
        "estimates while a stream is stable. Pure epsilon under edge, event or w-event privacy."
    )
    assurance: Assurance = "proven"
    Params = PSGraphParams
    accepts = GraphKinds(static=True, temporal=True, heterogeneous=True)
    units = frozenset({Unit.EDGE, Unit.EVENT, Unit.W_EVENT})
    kinds = frozenset({GuaranteeKind.PURE})

    def plan(self, params: PSGraphParams, public: PublicFacts) -> PrivacyPlan:
        """Every cell is granted its step's epsilon; how a step divides it depends on noisy counts only.

        EDGE and EVENT: the cells hold disjoint edges, each may spend everything. W_EVENT: epsilon/w per step,
        rounded down to nano-epsilon. Relations run apart: one edge is in one of them.
        """
        require_accepted(self, public)
        return cell_plan(self.name, public, "laplace and exponential", "psgraph step")

    def fit(
        self, graph: PrivateGraph, plan: PrivacyPlan, params: PSGraphParams, progress: Progress
    ) -> PSGraphModel:
        """The fitted model, at the plan's cost at most. O(m + steps * (n + S^2 + k^2))."""
        from core.generators.psgraph.model import PSGraphModel
        from core.generators.psgraph.step import fit_step
        from core.privacy.entropy import noise_generator

        rng = noise_generator()
        cells: dict[tuple[str, int | None], StepModel] = {}
        memory: dict[str, Memory] = {}
        for done, allotment in enumerate(plan.allotments):
            progress("fit", done, len(plan.allotments))
            name, step = allotment.edge_type, allotment.step
            budget = divide(params, pure_nano_epsilon(allotment.event) or 0)
            nodes = graph.node_count(graph.schema.edge_type(name).source)
            cell = graph.cell(name, step)
            cells[name, step], memory[name] = fit_step(cell, nodes, budget, params, memory.get(name), rng)
        progress("fit", len(plan.allotments), len(plan.allotments))
        counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
        return PSGraphModel(graph.schema, counts, params, cells)

    def load(self, folder: Path) -> PSGraphModel:
        """The model that its ``save`` wrote."""
        from core.generators.psgraph.model import load_model

        return load_model(folder)


GENERATOR: Generator = PSGraph()
