"""The frame of a generator that treats every cell alike.

A cell is a relation and step, and is treated by itself. A method names two functions: one that pays for a
cell's noisy columns, and one that draws a cell's edges from them. Plan, loop, model and files are the same
for all such methods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.graphs.schema import GraphSchema
from core.late import late
from core.methods._shared.frame.columns import Columns, Draw
from core.methods._shared.frame.heeded import Idle, require_heeded
from core.methods._shared.frame.plan import cell_plan
from core.methods._shared.frame.stages import Stage, staged
from core.methods._shared.values.stage import VALUES
from core.methods.base import (
    Assurance,
    FittedModel,
    GraphKinds,
    Method,
    Parameters,
    Progress,
    PublicFacts,
    require_accepted,
)
from core.methods.room import require_groups
from core.privacy import entropy
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.plan import CellKey, GuaranteeKind, PlannedRead, PrivacyPlan
from core.privacy.entropy import Generator as Rng
from core.privacy.units import EDGE_WISE, Unit

if TYPE_CHECKING:
    from core.methods._shared.frame.model import CellsModel
    from core.methods._shared.frame.resized import Law
    from core.privacy.session.counted import CountedSession
    from core.privacy.session.private_graph import PrivateCell, PrivateGraph

    Fit = Callable[[PrivateCell, int, int, Any, Rng], Columns]
    Pay = Callable[[Any, CellKey, int, Any, Rng], Columns]


_made = late("core.methods._shared.frame.model:CellsModel")
_loaded = late("core.methods._shared.frame.model:load_cells")
_resized = late("core.methods._shared.frame.resized:cells_resized")

UNDIRECTED = GraphKinds(static=True, temporal=True, heterogeneous=True)
"""Undirected relations inside one node type, with time or without."""


@dataclass(frozen=True)
class Parts:
    """The fit and the sampler of a cell's edges.

    ``fit(cell, nodes, nano_epsilon, params, rng)`` gives noisy columns at that cost at most; ``draw(columns,
    nodes, params, rng)`` gives sorted keys ``source * targets + target`` of a simple graph, ``low * nodes +
    high`` where the relation is undirected. ``nodes``: the size of the source universe.
    """

    fit: Fit
    draw: Draw


def drawn_edges(cell: PrivateCell, ends: tuple[np.ndarray, np.ndarray]) -> Columns:
    """Make the columns of a method that samples at fit. They are its edges' sorted keys, int64."""
    source, target = ends
    key = source * cell.shape.target_count
    key += target
    return {"key": key}


def same_edges(columns: Columns, nodes: int, params: Any, rng: Rng) -> np.ndarray:
    """Return the keys of :func:`drawn_edges`. Randomness was spent at fit, so all samples are the same."""
    return columns["key"]


def reads_of_cells(
    plan: PrivacyPlan, reads: Callable[[int], Mapping[str, int | tuple[int, ...]]]
) -> list[PlannedRead]:
    """List each cell's reads, as ``reads`` divides its nano-epsilon.

    The plan has one allotment for each cell.
    """
    cells = Counter(
        (allotment.edge_type, pure_nano_epsilon(allotment.event) or 0) for allotment in plan.allotments
    )
    return [
        PlannedRead(name, query, costs if isinstance(costs, tuple) else (costs,), count)
        for (name, nano_epsilon), count in cells.items()
        for query, costs in reads(nano_epsilon).items()
    ]


def nothing_idle(params: Any) -> Iterable[Idle]:
    """Leave every parameter its effect."""
    return ()


def no_query(params: Any, nano_epsilon: int) -> Mapping[str, int]:
    """Name no query that every cell pays for."""
    return {}


def one_group(params: Any, nodes: int) -> int:
    """Count edges between no groups of nodes."""
    return 1


def each_alone(fit: Callable[..., FittedModel]) -> Callable[..., tuple[FittedModel, None]]:
    """Fit each snapshot of a live stream by ``fit``. Nothing is carried from one to the next."""

    def step(
        graph: PrivateGraph, plan: PrivacyPlan, params: Any, state: Path | None, progress: Progress
    ) -> tuple[FittedModel, None]:
        return fit(graph, plan, params, progress), None

    return step


@dataclass(frozen=True, kw_only=True)
class PerCell:
    """A method that treats every cell by itself.

    It is for undirected relations inside one node type, unless it says otherwise. ``parts``: its two
    functions. ``pay(graph, key, nano_epsilon, params, rng)`` pays for the columns of one cell, of a method
    that looks at public columns too. ``idle(params)``: the parameters that the others leave without effect.
    ``cell_reads(params, nano_epsilon)``: what every cell of that epsilon pays for a query at least, by its
    name, in nano-epsilon. ``most_groups(params, nodes)``: between how many groups of nodes edges are counted
    at most, as parameters and sizes say. ``law``: how a cell's columns go to other nodes; None: they belong
    to the nodes that were fitted.
    """

    module: str
    name: str
    title: str
    summary: str
    mechanism: str
    Params: type[Parameters]
    parts: Parts
    assurance: Assurance = "proven"
    accepts: GraphKinds = UNDIRECTED
    units: frozenset[Unit] = EDGE_WISE
    kinds: frozenset[GuaranteeKind] = frozenset({GuaranteeKind.PURE})
    pay: Pay | None = None
    idle: Callable[[Any], Iterable[Idle]] = nothing_idle
    cell_reads: Callable[[Any, int], Mapping[str, int]] = no_query
    most_groups: Callable[[Any, int], int] = one_group
    law: Law | None = None

    def method(self, *stages: Stage, **answers: Any) -> Method:
        """Make the method. Its edges have other ``answers``, what edges carry, and further stages."""
        edges = replace(self.edges, **answers)
        return staged(replace(edges, step=each_alone(edges.fit)), VALUES, *stages)

    @cached_property
    def edges(self) -> Method:
        """The method of bare edges."""
        return Method(
            module=self.module,
            name=self.name,
            title=self.title,
            summary=self.summary,
            assurance=self.assurance,
            Params=self.Params,
            accepts=self.accepts,
            units=self.units,
            kinds=self.kinds,
            plan=self.plan,
            fit=self.fit,
            load=self.load,
            planned_reads=self.planned_reads,
            require_room=self.require_room,
            step=each_alone(self.fit),
            resize=None if self.law is None else self.resized,
        )

    def resized(self, model: CellsModel, origins: Mapping[str, np.ndarray]) -> CellsModel:
        """Return the model over other nodes; see :class:`Method`."""
        made: CellsModel = _resized(model, origins, self.law)
        return made

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Grant every cell (relation and step) the same epsilon; nothing else is read of edges.

        EDGE and EVENT: cells hold disjoint edges, each may spend everything. W_EVENT: epsilon/w per step.
        PAIR: epsilon divided by the number of cells. Rounded down to nano-epsilon.
        A parameter that could change nothing is refused.
        """
        require_accepted(self.edges, public)
        require_heeded(params, self.idle(params))
        return cell_plan(self.name, public, self.mechanism, f"{self.name} step")

    def require_room(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> None:
        """Check the counts between groups of every relation. See :class:`Method`."""
        for name in {allotment.edge_type for allotment in plan.allotments}:
            require_groups(name, self.most_groups(params, nodes[schema.edge_type(name).source]))

    def planned_reads(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Sequence[PlannedRead]:
        """Return the reads of :meth:`cell_reads`, by relation.

        There is a line for each; see :class:`Method`.
        """
        return reads_of_cells(plan, lambda nano_epsilon: self.cell_reads(params, nano_epsilon))

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> FittedModel:
        """Fit every cell by itself, within the plan's cost."""
        return self.fitted(graph, plan, params, progress, self.pay or self._paid)

    def fitted(
        self, graph: CountedSession, plan: PrivacyPlan, params: Any, progress: Progress, pay: Pay
    ) -> CellsModel:
        """Pay for every cell of the plan and make the model."""
        rng = entropy.noise_generator()
        cells: dict[tuple[str, int | None], Columns] = {}
        for done, allotment in enumerate(plan.allotments):
            progress("fit", done, len(plan.allotments))
            key = allotment.edge_type, allotment.step
            cells[key] = pay(graph, key, pure_nano_epsilon(allotment.event) or 0, params, rng)
        progress("fit", len(plan.allotments), len(plan.allotments))
        counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
        made: CellsModel = _made(self.name, graph.schema, counts, params, cells, self.parts.draw)
        return made

    def _paid(self, graph: Any, key: CellKey, nano_epsilon: int, params: Any, rng: Rng) -> Columns:
        nodes = graph.node_count(graph.schema.edge_type(key[0]).source)
        return self.parts.fit(graph.cell(*key), nodes, nano_epsilon, params, rng)

    def load(self, folder: Path) -> FittedModel:
        """Read the model that its ``save`` wrote."""
        loaded: FittedModel = _loaded(folder, self.name, self.Params, self.parts.draw)
        return loaded
