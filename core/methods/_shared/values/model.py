"""A structure with values on its edges: the tables that are paid for, and the model that has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from core.graphs.columns.tables import EdgeTable
from core.graphs.graph import Graph
from core.graphs.schema import EVERY, EdgeType
from core.graphs.views.joined import joined
from core.graphs.views.records import with_numbers
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import StoredCells, load_stored
from core.methods._shared.values import share as value_share
from core.methods._shared.values.draw import drawn_numbers, dressed
from core.methods._shared.values.fit import paid as paid_tables
from core.methods._shared.values.fit import paid_step
from core.methods._shared.values.memory import remembered
from core.methods.base import FittedModel, Parameters, Progress, Training, no_progress
from core.privacy import entropy
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.entropy import Generator as Rng
from core.privacy.reads.edge_values import EdgeValueReads
from core.privacy.session.counted import PrivateParts
from core.privacy.session.private_graph import PrivateGraph

M = TypeVar("M", bound="FittedModel")


@dataclass(frozen=True)
class ValuedModel(FittedModel):
    """A fitted model with paid tables of edge values.

    There is a cell for each attribute of a relation, (relation, its place among the declared ones), and after
    them one for the number of an edge's records, where each is kept.
    """

    structure: FittedModel
    tables: StoredCells

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw a graph, and values for its edges."""
        return dressed(self.structure.sample(rng, progress), self.tables, rng)

    def valued(self, graph: Graph, rng: Rng) -> Graph:
        """Give a graph's nodes what the structure sampled for them."""
        return self.structure.valued(graph, rng)

    def training(self) -> Training:
        """Report how the structure was learned, if it was."""
        return self.structure.training()

    def vectors(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return the structure's vectors of nodes; often none."""
        return self.structure.vectors()

    def save(self, folder: Path) -> None:
        """Write both, the tables below ``folder``."""
        self.structure.save(folder)
        self.tables.save(folder / value_share.FOLDER)


def with_values(model: M, folder: Path, method: str, params: type[Parameters]) -> M | ValuedModel:
    """Join a structure's model and its tables of edge values.

    The model is read from a folder; the tables may be absent.
    """
    held = folder / value_share.FOLDER
    return ValuedModel(model, load_stored(held, method, params)) if held.exists() else model


def paid_cells(
    relation: EdgeType, drawn: EdgeTable, paid: Callable[[int, EdgeTable], Columns], rng: Rng
) -> dict[tuple[str, int | None], Columns]:
    """Pay for all that a relation's edges carry.

    Returned are its cells of a :class:`ValuedModel`. ``paid(place, records)``: the tables of the attribute of
    that place; the one after the last is the number of an edge's records. ``drawn``: the relation's edges in
    a graph sampled from the structure's model, as are the records.
    """
    table, number, last = drawn.bare(), len(relation.attributes), {}
    # Attributes are of records: their number is sampled first, although its cell stands last.
    if not relation.merged:
        last[relation.name, number] = paid(number, table)
        undirected = relation.homogeneous and not relation.directed
        numbers = drawn_numbers(last[relation.name, number], table, relation, undirected, rng)
        table = with_numbers(table, numbers)[0]
    found: dict[tuple[str, int | None], Columns] = {
        (relation.name, place): paid(place, table) for place in range(number)
    }
    return found | last


def paid(
    method: str, model: Any, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress
) -> ValuedModel:
    """Pay for the tables of all that edges carry; see :class:`core.methods._shared.frame.stages.Stage`."""

    def pay(reads: EdgeValueReads, drawn: EdgeTable, key: tuple[str, int], cost: int) -> Columns:
        return paid_tables(reads, drawn, graph.schema.steps if reads.relation.temporal else 1, cost)

    granted = value_share.granted(plan)
    return ValuedModel(model, _cells(method, model, graph, granted, params, progress, pay))


def paid_in_parts(
    method: str,
    model: Any,
    graph: PrivateParts,
    plan: PrivacyPlan,
    params: Any,
    progress: Progress,
    degrees: Mapping[str, Sequence[np.ndarray]],
) -> ValuedModel:
    """Pay for the same tables of a graph in parts, with the same reads, costs and noise.

    No graph is sampled as a whole there: in place of one's degrees stand the model's own, which are paid for.
    ``degrees``: by relation, of its nodes or of sources and targets, of all steps together.
    """
    granted = value_share.granted(plan)
    cells: dict[tuple[str, int | None], Columns] = {}
    for done, (name, nano_epsilon) in enumerate(granted.items()):
        progress("values", done, len(granted))
        relation = graph.schema.edge_type(name)
        _, cost = value_share.divided(relation, nano_epsilon)
        steps = graph.schema.steps if relation.temporal else 1
        for place, attribute in enumerate(relation.attributes):
            reads = graph.edge_values(name, attribute.name)
            ends = dict(zip(reads.sides, degrees[name], strict=True))
            cells[name, place] = paid_tables(reads, ends, steps, cost)
    progress("values", len(granted), len(granted))
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    return ValuedModel(model, StoredCells(method, graph.schema, counts, params, cells))


def stepped(
    method: str,
    model: Any,
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: Any,
    state: Path | None,
    progress: Progress,
) -> tuple[ValuedModel, StoredCells]:
    """Pay for a live snapshot's tables, added to those of ``state``."""
    earlier = {} if state is None else load_stored(state, method, type(params)).cells
    left: dict[tuple[str, int | None], Any] = {}

    def pay(reads: EdgeValueReads, drawn: EdgeTable, key: tuple[str, int], cost: int) -> Columns:
        before = remembered(earlier[key]) if key in earlier else None
        columns, kept = paid_step(reads, drawn, cost, before, plan.first_step)
        left[key] = kept.columns()
        return columns

    tables = _cells(method, model, graph, value_share.granted(plan), params, progress, pay)
    return ValuedModel(model, tables), replace(tables, cells=left)


def _cells(
    method: str,
    model: FittedModel,
    graph: PrivateGraph,
    granted: Mapping[str, int],
    params: Any,
    progress: Progress,
    pay: Callable[[EdgeValueReads, EdgeTable, tuple[str, int], int], Columns],
) -> StoredCells:
    """Pay for every attribute of every relation: ``pay(reads, drawn edges, cell, nano-epsilon)``."""
    rng = entropy.noise_generator()
    # Free, as the model is paid for: reads of values may look at its degrees.
    drawn = model.sample(rng, no_progress)
    cells: dict[tuple[str, int | None], Any] = {}
    asked = _asked(graph, granted)
    for done, one in enumerate(asked):
        progress("values", done, len(asked))
        own = joined(drawn, one.graphs) if one.graphs else drawn
        graphs = {"graphs": one.places} if one.graphs else {}
        found = paid_cells(
            one.relation, own.edges[one.relation.name], partial(_measured_columns, one, pay), rng
        )
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


def _measured_columns(
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
    relation = graph.schema.edge_type_or_every(EVERY)

    reads = partial(graph.edge_values_together, graphs)
    # One read of all graphs together: none of them may pay more than it is granted.
    return [_Asked(relation, min(granted.values()), reads, graphs, places)]


def _reads(graph: PrivateGraph, name: str, attribute: str | None) -> EdgeValueReads:
    return graph.edge_records(name) if attribute is None else graph.edge_values(name, attribute)
