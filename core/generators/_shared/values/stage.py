"""The stage that gives what edges carry to the edges of a method: any method that can draw a graph.

It has a share of the job's epsilon, which the method does without. It draws one graph from the fitted model
(free: the model is paid for), reads the attributes' tables by the degrees of that graph, and gives values to
the edges of every graph that is drawn later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from core.generators._shared.frame.stages import Share, Stage, Staged
from core.generators._shared.values import share as value_share

if TYPE_CHECKING:
    from core.generators._shared.frame.columns import Columns
    from core.generators._shared.frame.model import StoredCells
    from core.generators.base import FittedModel, Progress
    from core.graphs.graph import Graph
    from core.graphs.schema import GraphSchema
    from core.graphs.tables import EdgeTable
    from core.privacy.edge_values import EdgeValueReads
    from core.privacy.entropy import Generator as Rng
    from core.privacy.plan import PlannedRead, PrivacyPlan
    from core.privacy.private_graph import PrivateGraph
    from core.privacy.units import Unit


class EdgeValueStage(Stage):
    """What edges carry, by tables that are paid for beside the edges themselves."""

    share: ClassVar[Share] = value_share
    folder = "values"
    subject = "what edges carry is"

    def planned_reads(self, plan: PrivacyPlan, schema: GraphSchema) -> Sequence[PlannedRead]:
        """List what each attribute of a relation pays for its margins, and for its values between classes.

        Counts of values by node are left out: which of two reads they are follows from a paid histogram.
        """
        return _value_reads(value_share.granted(plan), schema, plan.unit)

    def paid(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
    ) -> ValuedModel:
        from core.generators._shared.values.fit import paid

        def pay(reads: EdgeValueReads, drawn: EdgeTable, key: tuple[str, int], cost: int) -> Columns:
            return paid(reads, drawn, len(graph.schema.steps_of(key[0])), cost)

        granted = value_share.granted(plan)
        return ValuedModel(model, _paid(method, model, graph, granted, params, progress, pay))

    def stepped(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        state: Path | None,
        progress: Progress,
    ) -> tuple[ValuedModel, StoredCells]:
        """Pay for one snapshot's tables, and add to them what earlier ones have told.

        Every step is charged its own reads, which see its edges alone. What the next one may know are noisy
        tables added up, and degrees of graphs that paid models drew: post-processing.
        """
        from core.generators._shared.frame.model import load_stored
        from core.generators._shared.values.fit import paid_step
        from core.generators._shared.values.memory import remembered

        earlier = {} if state is None else load_stored(state, method, type(params)).cells
        left: dict[tuple[str, int | None], Any] = {}

        def pay(reads: EdgeValueReads, drawn: EdgeTable, key: tuple[str, int], cost: int) -> Columns:
            before = remembered(earlier[key]) if key in earlier else None
            columns, kept = paid_step(reads, drawn, cost, before, plan.first_step)
            left[key] = kept.columns()
            return columns

        tables = _paid(method, model, graph, value_share.granted(plan), params, progress, pay)
        return ValuedModel(model, tables), replace(tables, cells=left)

    def restored(self, model: Any, stored: StoredCells) -> ValuedModel:
        return ValuedModel(model, stored)


VALUES = EdgeValueStage()


class CarriesValues(Staged):
    """Stands before a method's own class, whose ``Params`` are :class:`value_share.ValueParameters` too;
    its ``stages`` name :data:`VALUES`."""

    stages: ClassVar[tuple[Stage, ...]] = (VALUES,)

    def carries(self, params: Any) -> bool:
        """Tell whether the edges of a release carry what the schema declares."""
        return VALUES.asked(params)

    def values_plan(self, plan: PrivacyPlan) -> PrivacyPlan:
        """Return the part of the plan that reads what edges carry."""
        return plan.only(VALUES.purpose)


@dataclass(frozen=True)
class ValuedModel:
    """A fitted model, and the paid tables of what edges carry: a cell for each attribute of a relation,
    (relation, its place among the declared ones), and after them one for the number of an edge's records,
    where each is kept."""

    structure: FittedModel
    tables: StoredCells

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw a graph, and values for its edges."""
        from core.generators._shared.values.draw import dressed

        return dressed(self.structure.sample(rng, progress), self.tables, rng)

    def save(self, folder: Path) -> None:
        """Write both, the tables below ``folder``."""
        self.structure.save(folder)
        self.tables.save(folder / VALUES.folder)


def _value_reads(granted: Mapping[str, int], schema: GraphSchema, unit: Unit) -> list[PlannedRead]:
    """List what each attribute of a relation pays for its margins, and for its values between classes; and
    what the number of an edge's records does, where each is kept."""
    from core.generators._shared.frame.plan import divide
    from core.generators._shared.values.fit import CLASSES, HISTOGRAM, STEPS
    from core.privacy.edge_values import OF_NUMBERS
    from core.privacy.plan import PlannedRead
    from core.privacy.units import charged_together

    reads = []
    for name, nano_epsilon in granted.items():
        relation, steps = schema.edge_type(name), schema.steps_of(name)
        cells = len(charged_together(unit, steps))
        queries = ["value_histogram", "values_by_classes", *(["values_by_step"] if len(steps) > 1 else [])]
        shares = [HISTOGRAM, CLASSES, *([STEPS] if len(steps) > 1 else [])]
        numbers, each = value_share.divided(relation, nano_epsilon)
        asked = dict(zip(queries, divide(each, *shares), strict=False))
        if numbers:
            costs = divide(numbers, *shares)
            asked |= {OF_NUMBERS[query]: cost for query, cost in zip(queries, costs, strict=False)}
        reads += [PlannedRead(name, query, (cost,), cells) for query, cost in asked.items()]
    return reads


def _paid(
    method: str,
    model: FittedModel,
    graph: PrivateGraph,
    granted: Mapping[str, int],
    params: Any,
    progress: Progress,
    pay: Callable[[EdgeValueReads, EdgeTable, tuple[str, int], int], Columns],
) -> StoredCells:
    """Pay for every attribute of every relation: ``pay(reads, drawn edges, cell, nano-epsilon)``."""
    from core.generators._shared.frame.model import StoredCells
    from core.generators._shared.values.draw import drawn_numbers
    from core.generators.base import no_progress
    from core.graphs.records import with_numbers
    from core.privacy.entropy import noise_generator

    rng = noise_generator()
    drawn = model.sample(rng, no_progress)
    cells: dict[tuple[str, int | None], Any] = {}
    asked = sum(len(graph.schema.edge_type(name).attributes) for name in granted)
    for name, nano_epsilon in granted.items():
        relation, table = graph.schema.edge_type(name), drawn.edges[name].bare()
        numbers, each = value_share.divided(relation, nano_epsilon)
        last: Any = None
        if numbers:
            reads = graph.edge_records(name)
            last = pay(reads, reads.counted(table), (name, len(relation.attributes)), numbers)
            number = drawn_numbers(last, table, relation, reads.shape.undirected, rng)
            table = with_numbers(table, number)[0]
        for place, attribute in enumerate(relation.attributes):
            progress("values", len(cells), asked)
            reads = graph.edge_values(name, attribute.name)
            cells[name, place] = pay(reads, reads.counted(table), (name, place), each)
        if numbers:
            cells[name, len(relation.attributes)] = last
    progress("values", asked, asked)
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    return StoredCells(method, graph.schema, counts, params, cells)
