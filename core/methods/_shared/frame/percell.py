"""The frame of a generator that treats every cell (relation and step) alike and by itself.

A method names two functions: one that pays for a cell's noisy columns, and one that draws a cell's edges from
them. Plan, loop, model and files are the same for all such methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from core.methods._shared.frame.heeded import Idle, require_heeded
from core.methods._shared.frame.plan import cell_plan
from core.methods._shared.frame.stages import StagedStream
from core.methods._shared.values.stage import CarriesValues
from core.methods.base import (
    Assurance,
    GraphKinds,
    Parameters,
    Progress,
    PublicFacts,
    require_accepted,
)
from core.methods.room import require_groups
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.plan import GuaranteeKind, PlannedRead, PrivacyPlan
from core.privacy.units import EDGE_WISE

if TYPE_CHECKING:
    import numpy as np

    from core.graphs.schema import GraphSchema
    from core.methods._shared.frame.columns import Columns, Draw
    from core.methods._shared.frame.model import CellsModel
    from core.methods.base import FittedModel
    from core.privacy.accounting.plan import CellKey
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.counted import CountedSession
    from core.privacy.session.private_graph import PrivateCell, PrivateGraph

    Fit = Callable[[PrivateCell, int, int, Any, Rng], Columns]
    Pay = Callable[[CellKey, int, Rng], Columns]


@dataclass(frozen=True)
class Parts:
    """``fit(cell, nodes, nano_epsilon, params, rng)`` gives noisy columns at that cost at most;
    ``draw(columns, nodes, params, rng)`` gives sorted keys ``source * targets + target`` of a simple graph,
    ``low * nodes + high`` where the relation is undirected. ``nodes``: the size of the source universe."""

    fit: Fit
    draw: Draw


def drawn_edges(cell: PrivateCell, ends: tuple[np.ndarray, np.ndarray]) -> Columns:
    """Make the columns of a method whose fit draws the edges themselves: their sorted keys, int64."""
    source, target = ends
    key = source * cell.shape.target_count
    key += target
    return {"key": key}


def same_edges(columns: Columns, nodes: int, params: Any, rng: Rng) -> np.ndarray:
    """Return the keys of :func:`drawn_edges`: randomness was spent at fit, so all draws are the same."""
    return columns["key"]


def reads_of_cells(
    plan: PrivacyPlan, reads: Callable[[int], Mapping[str, int | tuple[int, ...]]]
) -> list[PlannedRead]:
    """List what ``reads`` names of each cell's nano-epsilon, where a plan has one allotment for each cell."""
    cells = Counter((each.edge_type, pure_nano_epsilon(each.event) or 0) for each in plan.allotments)
    return [
        PlannedRead(name, query, costs if isinstance(costs, tuple) else (costs,), count)
        for (name, nano_epsilon), count in cells.items()
        for query, costs in reads(nano_epsilon).items()
    ]


class CellStructure(ABC):
    """The edges of such a method; for undirected relations inside one node type, unless it says otherwise."""

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    mechanism: ClassVar[str]
    Params: ClassVar[type[Parameters]]
    assurance: Assurance = "proven"
    accepts = GraphKinds(static=True, temporal=True, heterogeneous=True)
    units = EDGE_WISE
    kinds = frozenset({GuaranteeKind.PURE})

    @abstractmethod
    def parts(self) -> Parts:
        """Return the method's two functions; imports what they need."""

    def idle(self, params: Any) -> Iterable[Idle]:
        """Name the parameters that the others leave without effect."""
        return ()

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Grant every cell (relation and step) the same epsilon; nothing else is read of edges.

        EDGE and EVENT: cells hold disjoint edges, each may spend everything. W_EVENT: epsilon/w per step.
        PAIR: epsilon divided by the number of cells. Rounded down to nano-epsilon.
        A parameter that could change nothing is refused.
        """
        require_accepted(self, public)
        require_heeded(params, self.idle(params))
        return cell_plan(self.name, public, self.mechanism, f"{self.name} step")

    def cell_reads(self, params: Any, nano_epsilon: int) -> Mapping[str, int]:
        """Return what every cell of that epsilon pays for a query at least, by its name, in nano-epsilon."""
        return {}

    def most_groups(self, params: Any, nodes: int) -> int:
        """Return between how many groups of nodes edges are counted at most, as parameters and sizes say."""
        return 1

    def require_room(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> None:
        """Check the counts between groups of every relation; see the protocol."""
        for name in {each.edge_type for each in plan.allotments}:
            require_groups(name, self.most_groups(params, nodes[schema.edge_type(name).source]))

    def planned_reads(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Sequence[PlannedRead]:
        """Return the reads of :meth:`cell_reads`, a line for each relation; see the protocol."""
        return reads_of_cells(plan, lambda nano_epsilon: self.cell_reads(params, nano_epsilon))

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> FittedModel:
        """Fit the model, at the plan's cost at most; every cell by itself."""

        def pay(key: CellKey, nano_epsilon: int, rng: Rng) -> Columns:
            return self.paid(graph, key, nano_epsilon, params, rng)

        return self.fitted(graph, plan, params, progress, pay)

    def fitted(
        self, graph: CountedSession, plan: PrivacyPlan, params: Any, progress: Progress, pay: Pay
    ) -> CellsModel:
        """Pay for every cell of the plan, and make the model of what that told."""
        from core.methods._shared.frame.model import CellsModel
        from core.privacy.entropy import noise_generator

        rng = noise_generator()
        cells: dict[tuple[str, int | None], Columns] = {}
        for done, allotment in enumerate(plan.allotments):
            progress("fit", done, len(plan.allotments))
            key = allotment.edge_type, allotment.step
            cells[key] = pay(key, pure_nano_epsilon(allotment.event) or 0, rng)
        progress("fit", len(plan.allotments), len(plan.allotments))
        counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
        return CellsModel(self.name, graph.schema, counts, params, cells, self.parts().draw)

    def paid(self, graph: PrivateGraph, key: CellKey, nano_epsilon: int, params: Any, rng: Rng) -> Columns:
        """Pay for the columns of one cell; a method that looks at public columns too does so here."""
        nodes = graph.node_count(graph.schema.edge_type(key[0]).source)
        return self.parts().fit(graph.cell(*key), nodes, nano_epsilon, params, rng)

    def step(
        self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, state: Path | None, progress: Progress
    ) -> tuple[FittedModel, None]:
        """Fit one snapshot of a live stream; nothing is carried from one to the next."""
        return self.fit(graph, plan, params, progress), None

    def load(self, folder: Path) -> FittedModel:
        """Read the model that its ``save`` wrote."""
        from core.methods._shared.frame.model import load_cells

        return load_cells(folder, self.name, self.Params, self.parts().draw)


class PerCell(StagedStream, CarriesValues, CellStructure):
    """Base of such generators: their edges, and what edges carry where a share is set aside for it."""
