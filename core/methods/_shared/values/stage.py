"""The stage that gives what edges carry to the edges of a method: any method that can draw a graph.

It has a share of the job's epsilon, which the method does without. It draws one graph from the fitted model
(free: the model is paid for), reads the attributes' tables by the degrees of that graph, and gives values to
the edges of every graph that is drawn later.

Proof, beside any structure: its reads look at edges alone, and those of values follow on its answers. Under
EDGE and EVENT an edge lies in one cell, whose pure epsilons, the values' among them, and Gaussian events,
sampled or not, are composed adaptively and converted once; the structure's noise was solved for so that
this keeps to the job's (epsilon, delta) (:func:`core.methods._shared.frame.plan.besides`). Under other
units structures are pure, and the two costs add up. Where values alone differ, the structure's answers have
one law, and only reads of values tell the graphs apart: at twice their share, without delta.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.views.joined import EVERY, joined, relation_of
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.stages import Share, Stage
from core.methods._shared.values import share as value_share
from core.methods._shared.values.bins import SCORE
from core.methods._shared.values.memory import remembered
from core.methods.base import FittedModel, Method, Parameters, Progress, Training, no_progress
from core.methods.room import FEWER
from core.privacy import entropy, limits
from core.privacy.accounting.plan import PlannedRead, PrivacyPlan
from core.privacy.entropy import Generator as Rng
from core.privacy.units import Unit, charged_together, records_of_unit

if TYPE_CHECKING:
    from core.graphs.columns.tables import EdgeTable
    from core.graphs.graph import Graph
    from core.methods._shared.frame.model import StoredCells
    from core.privacy.reads.edge_values import EdgeValueReads
    from core.privacy.session.private_graph import PrivateGraph

M = TypeVar("M", bound="FittedModel")


class EdgeValueStage(Stage):
    """What edges carry, by tables that are paid for beside the edges themselves."""

    share: ClassVar[Share] = value_share
    folder = "values"
    subject = "what edges carry is"
    beside_delta = True

    def described(self, method: Method) -> Method:
        """Let edges of a release carry what the schema declares, where a share is set aside for it."""
        return replace(method, carries=self.asked, values_plan=self.plan_of)

    def planned_reads(self, plan: PrivacyPlan, schema: GraphSchema) -> Sequence[PlannedRead]:
        """List what each attribute of a relation pays for its margins, and for its values between classes.

        Counts of values by node are left out: which of two reads they are follows from a paid histogram.
        """
        return _value_reads(value_share.granted(plan), schema, plan.unit)

    def require_room(self, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]) -> None:
        """Check the reads of nodes, which are the largest and move furthest: by a score for each end."""
        _require_room(value_share.granted(plan), schema, nodes, plan.unit)

    def paid(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
    ) -> ValuedModel:
        from core.methods._shared.values.fit import paid

        def pay(reads: EdgeValueReads, drawn: EdgeTable, key: tuple[str, int], cost: int) -> Columns:
            return paid(reads, drawn, graph.schema.steps if reads.relation.temporal else 1, cost)

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
        from core.methods._shared.frame.model import load_stored
        from core.methods._shared.values.fit import paid_step

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


@dataclass(frozen=True)
class ValuedModel(FittedModel):
    """A fitted model, and the paid tables of what edges carry: a cell for each attribute of a relation,
    (relation, its place among the declared ones), and after them one for the number of an edge's records,
    where each is kept."""

    structure: FittedModel
    tables: StoredCells

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw a graph, and values for its edges."""
        from core.methods._shared.values.draw import dressed

        return dressed(self.structure.sample(rng, progress), self.tables, rng)

    def training(self) -> Training:
        """Tell how the structure was learned; nothing where it was not."""
        return self.structure.training()

    def vectors(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return the structure's vectors of nodes; often none."""
        return self.structure.vectors()

    def save(self, folder: Path) -> None:
        """Write both, the tables below ``folder``."""
        self.structure.save(folder)
        self.tables.save(folder / VALUES.folder)


def with_values(model: M, folder: Path, method: str, params: type[Parameters]) -> M | ValuedModel:
    """Put a structure's model, read from a folder, and the tables of what edges carry together again, where
    it has some."""
    from core.methods._shared.frame.model import load_stored

    held = folder / VALUES.folder
    return ValuedModel(model, load_stored(held, method, params)) if held.exists() else model


def paid_cells(
    relation: EdgeType, drawn: EdgeTable, paid: Callable[[int, EdgeTable], Columns], rng: Rng
) -> dict[tuple[str, int | None], Columns]:
    """Pay for all that a relation's edges carry; its cells of a :class:`ValuedModel`.

    ``paid(place, records)``: the tables of the attribute of that place; the one after the last is the number
    of an edge's records. ``drawn``: the relation's edges in a graph that the structure's model drew, as are
    the records.
    """
    from core.graphs.views.records import with_numbers
    from core.methods._shared.values.draw import drawn_numbers

    table, number, last = drawn.bare(), len(relation.attributes), {}
    if not relation.merged:
        last[relation.name, number] = paid(number, table)
        undirected = relation.homogeneous and not relation.directed
        numbers = drawn_numbers(last[relation.name, number], table, relation, undirected, rng)
        table = with_numbers(table, numbers)[0]
    found: dict[tuple[str, int | None], Columns] = {
        (relation.name, place): paid(place, table) for place in range(number)
    }
    return found | last


def _value_reads(granted: Mapping[str, int], schema: GraphSchema, unit: Unit) -> list[PlannedRead]:
    """List what each attribute of a relation pays for its margins, and for its values between classes; and
    what the number of an edge's records does, where each is kept."""
    from core.methods._shared.values.fit import costs_of
    from core.privacy.reads.edge_values import OF_NUMBERS

    reads = []
    if schema.collection is not None and granted:  # which are read together
        granted = {EVERY: min(granted.values())}
    for name, nano_epsilon in granted.items():
        relation = relation_of(schema, name)
        steps = (None,) if name == EVERY else schema.steps_of(name)
        cells = len(charged_together(unit, steps))
        queries = ["value_histogram", "values_by_classes", *(["values_by_step"] if len(steps) > 1 else [])]
        numbers, each = value_share.divided(relation, nano_epsilon)
        asked = dict(zip(queries, costs_of(each, len(steps)), strict=False))
        if numbers:
            costs = costs_of(numbers, len(steps))
            asked |= {OF_NUMBERS[query]: cost for query, cost in zip(queries, costs, strict=False)}
        reads += [PlannedRead(name, query, (cost,), cells) for query, cost in asked.items()]
    return reads


def _require_room(
    granted: Mapping[str, int], schema: GraphSchema, nodes: Mapping[str, int], unit: Unit
) -> None:
    """Ask the limits for each relation's reads of nodes; graphs of a collection are read as one."""
    together = schema.collection is not None
    for name in list(granted)[:1] if together else granted:
        relation = schema.edge_type(name)
        sides = [
            sum(nodes[each] for each in granted) if together else nodes[end]
            for end in (relation.source, relation.target)
        ]
        what = "what edges carry" if together else f"what edges of {name!r} carry"
        limits.check_values(max(sides), f"a read of {what}", field="schema.node_types", mend=FEWER)
        ends = 2 if relation.homogeneous and not relation.directed else 1
        score = SCORE if any(each.numeric for each in relation.attributes) else 1
        limits.check_sensitivity(
            ends * score * records_of_unit(unit, relation),
            f"a read of {what}",
            field="schema.collection" if together else f"schema.edge_types.{name}",
            mend=f"; declare fewer records_per_slot, or leave {value_share.FIELD} out",
        )


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
    from core.methods._shared.frame.model import StoredCells

    rng = entropy.noise_generator()
    drawn = model.sample(rng, no_progress)
    cells: dict[tuple[str, int | None], Any] = {}
    asked = _asked(graph, granted)
    for done, one in enumerate(asked):
        progress("values", done, len(asked))
        own = joined(drawn, one.graphs) if one.graphs else drawn
        graphs = {"graphs": one.places} if one.graphs else {}
        found = paid_cells(one.relation, own.edges[one.relation.name], partial(_told, one, pay), rng)
        cells |= {cell: {**columns, **graphs} for cell, columns in found.items()}
    progress("values", len(asked), len(asked))
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    return StoredCells(method, graph.schema, counts, params, cells)


@dataclass(frozen=True)
class _Asked:
    """A relation whose values are paid for; of a collection all ``graphs`` that are asked for, as one.

    ``places``: theirs among the declared ones. ``reads(attribute)``: of the number of an edge's records where
    that is None.
    """

    relation: EdgeType
    nano_epsilon: int
    reads: Callable[[str | None], EdgeValueReads]
    graphs: tuple[str, ...] = ()
    places: Any = None


def _told(
    one: _Asked,
    pay: Callable[[EdgeValueReads, EdgeTable, tuple[str, int], int], Columns],
    place: int,
    records: EdgeTable,
) -> Columns:
    """Pay for the attribute of that place; the one after the last is the number of an edge's records."""
    numbers, each = value_share.divided(one.relation, one.nano_epsilon)
    declared = one.relation.attributes
    name, cost = (declared[place].name, each) if place < len(declared) else (None, numbers)
    reads = one.reads(name)
    return pay(reads, reads.counted(records), (one.relation.name, place), cost)


def _asked(graph: PrivateGraph, granted: Mapping[str, int]) -> list[_Asked]:
    if graph.schema.collection is None:
        return [
            _Asked(graph.schema.edge_type(name), nano_epsilon, partial(_reads, graph, name))
            for name, nano_epsilon in granted.items()
        ]
    if not granted:
        return []
    known = [each.name for each in graph.schema.edge_types]
    graphs = tuple(name for name in known if name in granted)
    places = np.array([place for place, name in enumerate(known) if name in granted], dtype=np.int32)
    relation = relation_of(graph.schema, EVERY)

    reads = partial(graph.edge_values_together, graphs)
    return [_Asked(relation, min(granted.values()), reads, graphs, places)]


def _reads(graph: PrivateGraph, name: str, attribute: str | None) -> EdgeValueReads:
    return graph.edge_records(name) if attribute is None else graph.edge_values(name, attribute)
