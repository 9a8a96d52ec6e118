"""The stage that draws protected node attributes together with the edges of a block model.

A method that has it fits cells whose columns are ``labels`` (n,), ``degrees`` (n,) and ``blocks``
(k(k+1)/2,), edges between labels: communities that were read, public groups, or one label for all. The
method spends what the share leaves of an edge's epsilon; the stage then crosses its labels with paid groups
of values, and its blocks with what was read of mixing. The method's own draw does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from core.generators._shared.frame.stages import Stage, Staged
from core.generators._shared.node_values import share
from core.graphs.node_bins import node_bins, synthesised

if TYPE_CHECKING:
    from core.generators._shared.frame.model import CellsModel, StoredCells
    from core.generators.base import FittedModel, Progress, PublicFacts
    from core.graphs.graph import Graph
    from core.graphs.schema import GraphSchema
    from core.privacy.entropy import Generator as Rng
    from core.privacy.plan import Allotment, PlannedRead, PrivacyPlan
    from core.privacy.private_graph import PrivateGraph


class NodeValueStage(Stage):
    """Protected attributes of nodes: labels, and who meets whom, inside the method's own draw."""

    field = share.FIELD
    purpose = share.PURPOSE
    folder = "node_values"
    subject = "protected node attributes are"

    def why_idle(self, public: PublicFacts) -> str | None:
        return share.why_idle(public)

    def require_synthesised(self, public: PublicFacts) -> None:
        share.require_synthesised(public)

    def allotments(self, public: PublicFacts, nano_epsilon: int) -> list[Allotment]:
        return share.allotments(public, nano_epsilon)

    def planned_reads(self, plan: PrivacyPlan, schema: GraphSchema) -> Sequence[PlannedRead]:
        """List what a row of each node type pays for the tables of its attributes, at least.

        Edges by their ends' values are left out: their noise follows from a cap that paid degrees set.
        """
        return _row_reads(plan, schema)

    def paid(
        self,
        method: str,
        model: CellsModel,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
    ) -> LabelledModel:
        return _labelled(method, model, graph, plan, progress)

    def restored(self, model: Any, stored: StoredCells) -> LabelledModel:
        return LabelledModel(model, stored)


NODE_VALUES = NodeValueStage()


class CarriesNodeValues(Staged):
    """Stands before a method's own class, whose ``Params`` are :class:`share.NodeValueParameters` too; its
    ``stages`` name :data:`NODE_VALUES`."""

    stages: ClassVar[tuple[Stage, ...]] = (NODE_VALUES,)

    def carries_nodes(self, params: Any) -> bool:
        """Tell whether nodes of a release carry what protected attributes the schema declares."""
        return NODE_VALUES.asked(params)

    def node_values_plan(self, plan: PrivacyPlan) -> PrivacyPlan:
        """Return the part of the plan that reads node attributes."""
        return plan.only(NODE_VALUES.purpose)


@dataclass(frozen=True)
class LabelledModel:
    """A fitted model whose blocks are labels, and the bin of every node's value: a cell for each attribute,
    (node type, its place among those that are synthesised)."""

    structure: FittedModel
    values: StoredCells

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw a graph; its nodes carry values, those of numbers drawn inside their bins."""
        from core.graphs.graph import Graph, NodeTable

        drawn = self.structure.sample(rng, progress)
        nodes = dict(drawn.nodes)
        for kind in drawn.schema.node_types:
            columns = {
                attribute.name: _column(attribute, self.values.cells[kind.name, place]["bins"], rng)
                for place, attribute in enumerate(synthesised(kind))
                if (kind.name, place) in self.values.cells
            }
            table = nodes[kind.name]
            nodes[kind.name] = NodeTable(table.count, table.ids, {**table.attributes, **columns})
        return Graph.build(drawn.schema, nodes, drawn.edges)

    def save(self, folder: Path) -> None:
        """Write both, the nodes' bins below ``folder``."""
        self.structure.save(folder)
        self.values.save(folder / NODE_VALUES.folder)


def _column(attribute: Any, bins: Any, rng: Rng) -> Any:
    import pyarrow as pa

    if attribute.categories is not None:
        return pa.array(attribute.categories, type=pa.string()).take(pa.array(bins))
    return node_bins(attribute).values(bins.astype("int64"), rng.random(len(bins)))


def _row_reads(plan: PrivacyPlan, schema: GraphSchema) -> list[PlannedRead]:
    """List what a row of each node type pays for the tables of its attributes, at least."""
    from core.generators._shared.frame.plan import divide
    from core.generators._shared.node_values.fit import TABLES, TABLES_OF_SEVERAL
    from core.privacy.plan import PlannedRead, rows_of

    rows, _ = share.granted(plan)
    reads = []
    for name, nano_epsilon in rows.items():
        count = len(synthesised(schema.node_type(name)))
        tables = TABLES if count == 1 else TABLES_OF_SEVERAL
        costs = divide(nano_epsilon, *[tables / count] * count)[:-1]
        reads.append(PlannedRead(rows_of(name), "node_values", (min(costs),)))
    return reads


def _labelled(
    method: str, model: CellsModel, graph: PrivateGraph, plan: PrivacyPlan, progress: Progress
) -> LabelledModel:
    import numpy as np

    from core.generators._shared.frame.model import StoredCells
    from core.generators._shared.node_values.blocks import joined
    from core.generators._shared.node_values.fit import labelled
    from core.privacy.entropy import noise_generator

    rows, edges = share.granted(plan)
    rng, cells = noise_generator(), dict(model.cells)
    values: dict[tuple[str, int | None], Any] = {}
    for done, (name, row_nano_epsilon) in enumerate(rows.items()):
        progress("node attributes", done, len(rows))
        kind = graph.schema.node_type(name)
        relations = share.inside(graph.schema, tuple(edges), kind)
        degrees = {each: cells[each, None]["degrees"].astype(np.float64) for each in relations}
        names = tuple(each.name for each in synthesised(kind))
        communities = {each: cells[each, None]["labels"].astype(np.int64) for each in relations}
        alone = communities[relations[0]] if len(relations) == 1 else np.zeros(model.nodes[name], np.int64)
        found = labelled(graph.node_values(name), names, degrees, alone, row_nano_epsilon, edges, rng)
        for relation, shares in found.blocks.items():
            columns = cells[relation, None]
            held = communities[relation], columns["blocks"]
            labels, blocks = joined(*held, found.groups, shares, degrees[relation])
            cells[relation, None] = {**columns, "labels": labels.astype(np.int32), "blocks": blocks}
        for place, each in enumerate(names):
            values[name, place] = {"bins": found.values[each].astype(np.int32)}
    progress("node attributes", len(rows), len(rows))
    stored = StoredCells(method, model.schema, model.nodes, model.params, values)
    return LabelledModel(replace(model, cells=cells), stored)
