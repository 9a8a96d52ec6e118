"""Noisy counts of edges. They are measured on a graph with its edges in memory or in parts on disk.

Of a graph in parts nothing else may be, but its nodes' attributes, and persons' edges in a keyed order:
:class:`PrivateParts` offers the named queries, each of which goes over the edges once, group by group, and no
operation that needs them together.
The query, its sensitivity, what is charged and the noise are those of the same graph in memory, as one
function here measures both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import InvalidInput, NotAccepted
from core.graphs.columns.tables import Edges
from core.graphs.counted.stored import CountedGraph
from core.graphs.graph import Graph
from core.graphs.schema import GraphSchema
from core.graphs.schema.partable import OF_PAIRS
from core.graphs.stored.parted import PartedGraph
from core.late import late
from core.privacy import queries
from core.privacy.accounting.events import NANO, Event, GaussianEvent, Pure, positive_fraction
from core.privacy.accounting.measurements import Part
from core.privacy.accounting.meter import Meter
from core.privacy.accounting.persons import TIMES, require_persons
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.reads.attributes import PrivateAttributes
from core.privacy.reads.edge_values import EdgeValueReads
from core.privacy.reads.node_values import NodeValueReads
from core.privacy.units import EDGE_WISE, Unit, edges_of_unit

if TYPE_CHECKING:
    from core.privacy.reads.people import People

_people = late("core.privacy.reads.people:People")


class CountedSession(ABC):
    """A metered session over one graph, which has cells that are counted."""

    def __init__(self, graph: Graph | PartedGraph | CountedGraph, meter: Meter) -> None:
        self._graph = graph
        self._meter = meter
        self.schema: GraphSchema = graph.schema
        self.unit: Unit = meter.plan.unit
        self.window: int | None = meter.plan.window
        if meter.plan.steps != graph.schema.steps:
            raise InvalidInput("the plan's time grid is not the schema's", field="steps")
        if not self.unit.takes(temporal=graph.schema.temporal):
            raise NotAccepted(TIMES, field="unit")
        require_persons(graph.schema, self.unit)

    def node_count(self, node_type: str) -> int:
        """Return the size of a node type's public universe."""
        return self._graph.nodes[self.schema.node_type(node_type).name].count

    def attributes(self, node_type: str) -> PrivateAttributes:
        """Open the columns of a node type. The public ones are free, rows of the protected ones for a
        price."""
        kind = self.schema.node_type(node_type)
        return PrivateAttributes(kind, self._graph.nodes[kind.name], self._meter)

    def node_values(self, node_type: str) -> NodeValueReads:
        """Open the reads of a node type's protected attributes. Each is charged; under unit node there are
        only tables of persons."""
        return NodeValueReads(self._graph, self._meter, node_type)

    def people(self, edge_type: str) -> People:
        """Open the reads of a relation among people. It is one inside the protected node type, under unit
        node only.

        Free: which relations exist is public. What may be asked, and why: :mod:`core.privacy.reads.people`.
        """
        if self.unit is not Unit.NODE:
            raise NotAccepted("the reads of people hide all edges of one node: unit node", field="unit")
        if isinstance(self._graph, CountedGraph):
            raise NotAccepted(
                "persons' edges are kept in a keyed order, and the edges of this dataset stay elsewhere; "
                "upload them in parts",
                field="edge_type",
            )
        people: People = _people(self._graph, self._meter, edge_type)
        return people

    @abstractmethod
    def cell(self, edge_type: str, step: int | None) -> CountedCell:
        """Open one cell for its operations. Free: which cells exist is public. Not under unit node."""

    def _opened(self, edge_type: str, step: int | None) -> tuple[queries.Shape, Callable[[Event, str], None]]:
        """Return the public shape of a cell, and what charges it for an event."""
        self._require_edges()
        shape, meter = self._shape(edge_type, step), self._meter

        def charge(event: Event, purpose: str) -> None:
            meter.charge(edge_type, step, event, purpose)

        return shape, charge

    def _require_edges(self) -> None:
        """Refuse what adds noise for single edges where all edges of a node are to be hidden."""
        if self.unit not in EDGE_WISE:
            raise NotAccepted(
                "what hides single edges does not hide all edges of a node: under unit node the graph is "
                "read through the queries that are proved for it",
                field="unit",
            )

    def _shape(self, edge_type: str, step: int | None) -> queries.Shape:
        try:
            declared = self.schema.edge_type(edge_type)
        except KeyError:
            raise InvalidInput(f"no edge type {edge_type!r} is declared", field="edge_type") from None
        if step not in self.schema.steps_of(edge_type):
            raise InvalidInput(f"edge type {edge_type!r} has no step {step}", field="step")
        nodes = self._graph.nodes
        return queries.Shape(declared, nodes[declared.source].count, nodes[declared.target].count)


class CountedCell:
    """The named queries of one cell."""

    def __init__(
        self,
        shape: queries.Shape,
        step: int | None,
        meter: Meter,
        charge: Callable[[Event, str], None],
        read: Callable[[], Edges],
    ) -> None:
        self.shape = shape
        self.step = step
        self._meter = meter
        self._charge = charge
        self._read = read
        self._parts: tuple[Part, ...] = ()

    @property
    def multiplicity(self) -> int:
        """Edges that one unit may have in this cell. Public."""
        return edges_of_unit(self._meter.plan.unit, self.shape.edge_type)

    def laplace(
        self, query: str, *, nano_epsilon: int, purpose: str, decides: float | None = None, **public_args: Any
    ) -> np.ndarray:
        """Measure the query with discrete Laplace noise of scale sensitivity / epsilon; int64.

        Sensitivity: the query's declared L1. Unit: one edge of the cell (times the edges that a unit may
        have in it).
        Proof: :func:`core.privacy.mechanisms.noise.discrete_laplace`. ``public_args`` are public or already
        paid for. ``decides``: where later noise follows from this answer, the variance that later answers
        usually leave of the number of edges, by public facts; weights in totals go by that
        (:mod:`core.publishing.totals`).
        """
        # Arguments are checked, then the read is charged, and only then are edges touched.
        question = queries.ask(query, self.shape, public_args)
        self._charge(Pure(nano_epsilon, f"discrete_laplace/{query}"), purpose)
        values = question.measure(self._read()).astype(np.int64)
        sensitivity = question.l1_sensitivity * self.multiplicity
        noisy = mechanisms.discrete_laplace(values, sensitivity, nano_epsilon)
        cell, scale = (self.shape.edge_type.name, self.step), Fraction(sensitivity * NANO, nano_epsilon)
        self._meter.measurements.keep(cell, query, public_args, self._parts, scale, noisy, purpose, decides)
        return noisy

    def gaussian(
        self, query: str, *, noise_multiplier: Fraction | float, purpose: str, **public_args: Any
    ) -> np.ndarray:
        """Measure the query with discrete Gaussian noise. It is of noise_multiplier times the L2 sensitivity;
        int64.

        Sensitivity: the query's declared L2. Unit: one edge of the cell (times the edges that a unit may
        have in it).
        Proof: :func:`core.privacy.mechanisms.noise.discrete_gaussian`. Not offered inside a parallel group.
        """
        question = queries.ask(query, self.shape, public_args)
        sigma = positive_fraction(noise_multiplier, "noise_multiplier")
        squared = question.l2_squared * self.multiplicity**2
        # Before it is charged: what the sampler or the accountant refuses costs nothing.
        mechanisms.check_gaussian(squared, sigma, self._meter.plan.accountant)
        self._charge(GaussianEvent(sigma), purpose)
        values = question.measure(self._read()).astype(np.int64)
        return mechanisms.discrete_gaussian(values, squared, sigma)


class PrivateParts(CountedSession):
    """A metered session over a graph in parts.

    Sensitivity, unit, proof: those of the named queries, of :mod:`core.privacy.reads.node_values` and
    :mod:`core.privacy.reads.edge_values`, which go over edges group by group too, and under unit node of
    :mod:`core.privacy.reads.kept_parts`, as nothing else is offered.
    A query's answer is a sum over edges or a function of one, and the groups in which the edges come hold
    each of them once, because the parts are canonical and no two share a pair, which every read checks as it
    goes (:func:`~core.graphs.stored.parts.canonical_part`): so it is the answer for the graph in memory, for
    this graph and for its neighbours alike. How many groups there are, and how long a read takes, depends on
    the edges and is told to nobody. Of edges that stay elsewhere the answer is what was counted there, before
    any of it was paid for: a function of the same canonical edges, so that the proof is the same.
    """

    _graph: PartedGraph | CountedGraph

    def cell(self, edge_type: str, step: int | None) -> CountedCell:
        """Open one cell for its queries. Free: which cells exist is public. Not under unit node."""
        shape, charge, graph = *self._opened(edge_type, step), self._graph
        return CountedCell(shape, step, self._meter, charge, lambda: graph.cell(edge_type, step))

    def edge_values(self, edge_type: str, attribute: str) -> EdgeValueReads:
        """Open the reads of what a relation's edges carry. Free: what is declared is public. Not under unit
        node, and under unit pair of relations without time alone: which of a pair's steps count is chosen
        among all of them, and each has files of its own."""
        self._require_edges()
        graph = self._graph
        if not isinstance(graph, PartedGraph):
            raise NotAccepted("edges that stay elsewhere are counted by their ends alone", field="edge_type")
        if self.unit is Unit.PAIR and self.schema.edge_type(edge_type).temporal:
            raise NotAccepted(OF_PAIRS, field="unit")
        tables = partial(graph.records, edge_type)
        return EdgeValueReads(graph, self._meter, edge_type, attribute, tables=tables)
