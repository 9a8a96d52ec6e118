"""Reads of one node type's protected attributes. They are tables of nodes, and of edges by both ends.

An attribute's values fall into public bins (:mod:`core.graphs.schema.value_bins`). A node without a value is
counted nowhere, nor are its edges.

Units: what two neighbours differ in is one unit of edges, present or absent (EDGE, EVENT, W_EVENT or PAIR),
or one node's row of attributes, replaced by any other row. Rows are paid for in a cell of their own,
``rows_of(node type)``: an edge lies in no such cell, and a row in no other. Under EDGE and EVENT a plan costs
what its dearest cell does; under W_EVENT and PAIR it adds up the rows' cells and those of edges with time, so
that it covers both at once.

Proof. A table of nodes is a sum over rows: a row replaced takes one out of a cell and puts one into another,
L1 2; edges do not enter. The mixing matrix counts capped edges, each in the cell of its two ends' groups: of
a relation with time, those of all steps together, of one that is directed, by source and target. Every edge
that there may be, at each step and in each direction, has a priority, drawn uniformly and independently of
the graph; an edge counts where it is among the first ``cap`` edges of both of its ends by priority, whichever
way they point and at whatever step they are (:func:`capped`). Fix all priorities:

* A row is replaced: which edges count is the same, as rows decide nothing there. Those of the node are at
  most ``cap``, and each moves from one cell to another: L1 2 cap.
* An edge between u and v is added: it may count itself, 1. At u it may push one edge, u's cap-th, out of the
  first ``cap``, and the same at v; what else stands at the other ends of those two is not moved, as an edge
  takes its place there whether it counts or not. 1 each, so that L1 is 3.
* Several edges are added or removed, one after another: 3 for each. A unit of edges has at most ``m`` of them
  in one cell (:func:`core.privacy.units.edges_of_unit`), so that one with edges in c cells moves the matrix
  by 3 m c.

Under NODE a person's row is part of the person, and is replaced together with all of its edges: tables of
nodes are offered alone, of the protected type, at L1 2, as edges do not enter them, and are charged to the
whole graph. Mixing is not: which edges count may change far away. What is read instead:
:meth:`core.privacy.reads.people.People.by_rows`.

VECTORS. A vector of d numbers is counted number by number (:meth:`NodeValueReads.vectors`): a node adds one
to the cell of its group, the number's place and the number's bin, but nothing where that is the bin of 0, and
only for the first k of its numbers that are not in it; k is what the schema declares, or d. So a row adds 1
to at most k cells, all of them different, and a row replaced moves at most 2 k cells by 1 each: L1 2 k, L2
sqrt(2 k). An edge moves nothing: groups are of the node's own row, or public. Under Gaussian noise counts
are R grid steps each, and the noise an integer law of a deviation of at least multiplier sqrt(2 k) R steps,
independent in every cell (Canonne, Kamath, Steinke 2020, Theorem 14).

Graphs of a collection are read together as one graph, side by side, for which each one's rows and only cell
are charged: a row is that of a node of one graph, and an edge lies in one, as does what it may push out.

Of a graph in parts the same edges count: the cap's place in each node's order is found in one pass over them,
in files, and the edges before it at both ends are counted in another, under the same priorities, drawn in the
order in which edges are listed (:mod:`core.privacy.reads.capped_parts`). So it is the same function of the
graph and of the priorities, and the proof is the same.

The noise is discrete Laplace of scale b: outcomes change in probability by exp(2 cap / b) at most for a row,
exp(3 m c / b) for a unit of edges. The rows' cell is charged 2 cap / b at least, and every cell of the
relation 3 m / b, so that the unit pays c times that at least: under EDGE and EVENT c is 1; under W_EVENT
there is at most one edge in each step, and a window is charged for all of its steps. Under PAIR, of T steps,
the first one alone is charged, 3 m T / b, in one event (:func:`core.privacy.units.charged_together`). What
holds for fixed priorities holds on average over them. Only those of edges that are there are
drawn: the others are never looked at, so that this is the same law. Groups, classes and caps are public or
already paid for; reads that follow from one another compose by sums in each cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from core.errors import InvalidInput, NotAccepted
from core.graphs.columns.node_places import places_of
from core.graphs.counted.stored import CountedGraph
from core.graphs.graph import Graph
from core.graphs.schema import Attribute, GraphSchema
from core.graphs.schema.node_bins import (
    most_counted,
    moved_by,
    node_bins,
    synthesised,
    vectors,
)
from core.graphs.schema.partable import ELSEWHERE
from core.graphs.schema.value_bins import ValueBins
from core.graphs.stored.parted import PartedGraph
from core.graphs.views.joined import joined
from core.privacy import entropy, limits, queries
from core.privacy.accounting.events import NANO, GaussianEvent, Pure, check_nano_epsilon, positive_fraction
from core.privacy.accounting.measurements import Normal, deviation
from core.privacy.accounting.meter import Meter
from core.privacy.accounting.plan import WHOLE_GRAPH, rows_of
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import samplers
from core.privacy.mechanisms.aggregation import scale_of
from core.privacy.reads import capped_parts
from core.privacy.units import EDGE_WISE, Unit, charged_together, edges_of_unit

MIXING, DIRECTED_MIXING, TWO_SIDED_MIXING = "mixing", "directed_mixing", "two_sided_mixing"
VECTORS = "node_vectors"
"""Name of the read of vectors, as its measurements are kept: one of each group."""
MIXINGS = frozenset({MIXING, DIRECTED_MIXING, TWO_SIDED_MIXING})
"""Names of the reads of edges by the values of both ends, as measurements are kept: inside a type, of either
direction, and between two (:mod:`core.privacy.reads.mixing_between`)."""
MOST_CAP = 2**19
Noise = Fraction | float | Pure
"""A multiplier of Gaussian noise, or what discrete Laplace noise may cost."""
ROW_MOVES = 2
"""L1 of a table of nodes where one row is replaced."""
EDGE_MOVES = 3
"""L1 of the mixing matrix where one edge is added."""


class Counted(NamedTuple):
    """Noisy counts and their noise. Counts are float64, with the standard deviation of the noise in each of
    them."""

    values: np.ndarray
    deviation: float


class NodeValueReads:
    """The reads of one node type's protected attributes. Made by ``PrivateGraph.node_values``."""

    def __init__(
        self,
        graph: Graph | PartedGraph | CountedGraph,
        meter: Meter,
        node_type: str,
        together: Sequence[str] = (),
    ) -> None:
        """``together``: graphs of a collection, which are read as one; each is charged."""
        self._graph = graph
        self._meter = meter
        self._together = tuple(together)
        self._kind = graph.schema.node_type_or_every(node_type)
        # Under NODE a row is part of its person: only rows
        # of the protected type may be read, and those alone.
        if meter.plan.unit not in EDGE_WISE and not (self._kind.protected and not self._together):
            raise NotAccepted(
                f"under unit node rows of the protected type are read alone, not those of {node_type!r}",
                field="unit",
            )
        self._declared = {each.name: each for each in synthesised(self._kind)}

    def bins(self, attribute: str) -> ValueBins:
        """Return the public bins of a protected attribute; InvalidInput where none are declared."""
        if attribute not in self._declared:
            raise InvalidInput(
                f"node type {self._kind.name!r} has no protected attribute {attribute!r} with declared "
                "categories or bounds",
                field="attribute",
            )
        return node_bins(self._declared[attribute])

    def table(
        self, attributes: Sequence[str], *, classes: np.ndarray, nano_epsilon: int, purpose: str
    ) -> np.ndarray:
        """Count the nodes by class and attributes' bins; (classes, bins of each) int64.

        ``classes`` (n,): integers from 0 on, public or paid for. Nodes without one of the values are left
        out.

        Sensitivity: L1 2, of a row replaced. Unit, proof: the module's.
        """
        of_node, count = queries.check_labels(classes, self._count, None, "classes")
        shape = (count, *(self.bins(name).count for name in attributes))
        if not attributes or len(set(attributes)) != len(attributes):
            raise InvalidInput("name each attribute once, and at least one", field="attributes")
        # In floating point: a product of many bins would wrap around in int64.
        limits.check_values(int(np.prod(shape, dtype=np.float64)))
        event = Pure(check_nano_epsilon(nano_epsilon), "discrete_laplace/node_values")
        self._charge_rows(event, purpose)
        places, held = of_node, np.ones(self._count, dtype=bool)
        for name in attributes:
            own = self._places(name)
            # The -1 of a node without a value spoils its place, which ``held`` leaves out.
            places, held = places * self.bins(name).count + own, held & (own >= 0)
        exact = np.bincount(places[held], minlength=int(np.prod(shape)))
        noisy = mechanisms.discrete_laplace(exact, ROW_MOVES, nano_epsilon)
        arguments = {"bins_of": {name: self.bins(name) for name in attributes}, "classes": of_node}
        cell, scale = (rows_of(self._kind.name), None), Fraction(ROW_MOVES * NANO, nano_epsilon)
        self._meter.measurements.keep(cell, "node_values", arguments, (), scale, noisy, purpose)
        return noisy.reshape(shape)

    def vectors(
        self, attribute: str, of: tuple[str, np.ndarray] | None, *, noise: Noise, purpose: str
    ) -> Counted:
        """Count what stands at each place of a vector. Counts are by group of nodes; (groups, length, bins)
        float64.

        ``of``: another attribute and the group of each of its bins (bins,), public or paid for; None: all
        nodes are one group. The bin of 0 is not counted, its cells are 0 without noise. Nodes without the
        vector or a group are left out.

        Sensitivity: a row replaced, L1 2 k, L2 sqrt(2 k), of k numbers that are not 0 at most, as declared.
        Unit, proof: the module's.
        """
        declared = next((each for each in vectors(self._kind) if each.name == attribute), None)
        if declared is None or declared.length is None:
            raise InvalidInput(
                f"node type {self._kind.name!r} has no protected vector {attribute!r} with declared bounds "
                "and length",
                field="attribute",
            )
        name, of_bin = of or (None, np.zeros(1, np.int64))
        expected = 1 if name is None else self.bins(name).count
        of_bin, count = queries.check_labels(of_bin, expected, None, "of")
        bins, rest = node_bins(declared), bin_of_zero(declared)
        shape = count, declared.length, bins.count
        limits.check_values(int(np.prod(shape, dtype=np.float64)))
        moved, event = moved_by(declared), _event(noise)
        limits.check_sensitivity(moved)
        # ``moved`` is 2 k: a row moves 2 k cells by 1 each, so that it is the square of the L2 distance too.
        radius, scale = (1, 0) if isinstance(event, Pure) else scale_of(moved * event.noise_multiplier**2)
        self._charge_rows(event, purpose)
        groups = np.zeros(self._count, np.int64) if name is None else grouped(self._places(name), of_bin)
        counted = np.arange(bins.count) != rest
        counts = np.ascontiguousarray(self._counted(declared, groups, shape)[:, :, counted].ravel())
        estimate = np.zeros(shape)
        law: Fraction | Normal = Normal(Fraction(scale, radius))
        if isinstance(event, Pure):
            noisy = mechanisms.discrete_laplace(counts, moved, event.nano_epsilon)
            law = Fraction(moved * NANO, event.nano_epsilon)
        else:
            noisy = samplers.add_discrete_gaussian_wide(entropy.noise_generator(), counts * radius, scale)
        estimate[:, :, counted] = noisy.reshape(*shape[:2], -1) / radius
        about = {"attribute": attribute, "bins": bins, "bin_of_zero": rest}
        for group, own in enumerate(np.rint(estimate[:, :, counted]).astype(np.int64) if counts.size else ()):
            of_group = {} if name is None else {"of": name, "bin_groups": of_bin, "group": group}
            cell = (rows_of(self._kind.name), None)
            self._meter.measurements.keep(cell, VECTORS, about | of_group, (), law, own.ravel(), purpose)
        return Counted(estimate, float(law.deviation) if isinstance(law, Normal) else deviation(law))

    def _counted(self, declared: Attribute, groups: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
        """Count the numbers that are not in the bin of 0, of each node the first as many as declared."""
        names, exact = self._together or (self._kind.name,), np.zeros(shape, np.int64)
        ends = np.cumsum([self._graph.nodes[each].count for each in names])[:-1]
        for name, own in zip(names, np.split(groups, ends), strict=True):
            column = self._graph.nodes[name].attributes.get(declared.name)
            if column is not None:
                exact += counted_numbers(np.asarray(column), declared, own, shape)
        return exact

    def mixing(
        self,
        relation: str,
        attribute: str,
        *,
        groups: np.ndarray,
        cap: int,
        edge_nano_epsilon: int,
        row_nano_epsilon: int,
        purpose: str,
    ) -> np.ndarray:
        """Count capped edges by the groups of their ends; int64 (groups, groups).

        Of a directed relation by source and target; else zeros below the diagonal. ``groups`` (bins,): the
        group of each bin; ``cap``: both public or paid for. The relation is inside the node type; its steps
        are counted together. Noise is as small as both budgets allow; each cell of the relation and the rows'
        are charged what that noise costs them. ``edge_nano_epsilon``: what every charged cell of the relation
        has.

        Sensitivity: L1 2 cap of a row replaced, 3 of an edge. Unit, proof: the module's.
        """
        if self._meter.plan.unit not in EDGE_WISE:
            raise NotAccepted("mixing is read beside single edges, and not under unit node", field="unit")
        declared = self._graph.schema.edge_type_or_every(relation)
        if (declared.source, declared.target) != (self._kind.name, self._kind.name):
            raise NotAccepted("mixing is read of relations inside the node type", field="relation")
        if declared.public:
            raise NotAccepted("mixing is read of protected relations", field="relation")
        if isinstance(self._graph, CountedGraph):
            raise NotAccepted(ELSEWHERE, field="node_attribute_share")
        check_cap(cap)
        of_bin, count = queries.check_labels(groups, self.bins(attribute).count, None, "groups")
        limits.check_values(count * count)
        edge, row = check_nano_epsilon(edge_nano_epsilon), check_nano_epsilon(row_nano_epsilon)
        noise = mixing_noise(cap, edge, row, self.multiplicity(relation))
        # All cells have paid before an edge or a row is looked at.
        for name in self._together or (relation,):
            for step in charged_together(self._meter.plan.unit, self._graph.schema.steps_of(name)):
                self._meter.charge(name, step, Pure(noise.edge, "discrete_laplace/mixing"), purpose)
        self._charge_rows(Pure(noise.row, "discrete_laplace/mixing"), purpose)
        of_node = grouped(self._places(attribute), of_bin)
        rng = entropy.noise_generator()
        if isinstance(self._graph, PartedGraph):
            square = capped_parts.mixed_in_parts(self._graph, relation, of_node, count, cap, rng)
        else:
            graph = joined(self._graph, self._together) if self._together else self._graph
            table = graph.edges[relation]
            priority = rng.integers(0, capped_parts.PRIORITIES, table.count, dtype=np.int64)
            square = mixed(table.source, table.target, of_node, count, cap, priority, declared.directed)
        # What lies below the diagonal of an undirected relation is always zero, and needs no noise.
        counted = np.ones(square.shape, dtype=bool) if declared.directed else np.triu(square >= 0)
        noisy = np.zeros((count, count), dtype=np.int64)
        measured = mechanisms.discrete_laplace(square[counted], noise.moved, noise.nano_epsilon)
        noisy[counted] = measured
        arguments = {"attribute": attribute, "bins": self.bins(attribute), "bin_groups": of_bin, "cap": cap}
        scale = Fraction(noise.moved * NANO, noise.nano_epsilon)
        query = DIRECTED_MIXING if declared.directed else MIXING
        self._meter.measurements.keep((relation, None), query, arguments, (), scale, measured, purpose)
        return noisy

    def multiplicity(self, relation: str) -> int:
        """Count the edges that a cell is charged for. It is a cell of the relation: those of one unit in it,
        of all steps under PAIR. Public."""
        return edges_of_a_cell(self._meter.plan.unit, self._graph.schema, relation)

    def _charge_rows(self, event: Pure | GaussianEvent, purpose: str) -> None:
        if self._meter.plan.unit is Unit.NODE:
            self._meter.charge(WHOLE_GRAPH, None, event, purpose)
            return
        for name in self._together or (self._kind.name,):
            self._meter.charge(rows_of(name), None, event, purpose)

    @property
    def _count(self) -> int:
        return sum(self._graph.nodes[name].count for name in self._together or (self._kind.name,))

    def _places(self, attribute: str) -> np.ndarray:
        """Find the bin of every node's value; int64, -1 where it has none."""
        declared, names = self._declared[attribute], self._together or (self._kind.name,)
        return np.concatenate([bins_of_nodes(self._graph, name, declared) for name in names])


def counted_numbers(
    rows: np.ndarray, declared: Attribute, groups: np.ndarray, shape: tuple[int, int, int]
) -> np.ndarray:
    """Count a vector's numbers that are not in the bin of 0, by group, place and bin.

    int64 of that ``shape``. Of each node the first as many count as are declared; of one in the group -1 none
    do. Private.
    """
    bins, rest, most = node_bins(declared), bin_of_zero(declared), most_counted(declared)
    exact, used = np.zeros(shape, np.int64), np.zeros(len(groups), np.int64)
    for place in range(min(shape[1], rows.shape[1])):
        numbers = rows[:, place].astype(np.float64)
        bin_of = bins.places(np.nan_to_num(numbers))
        # No more than the first ``most`` numbers that are not 0: what one row can move rests on it.
        away = (groups >= 0) & np.isfinite(numbers) & (bin_of != rest) & (used < most)
        used += away
        cells = groups[away] * bins.count + bin_of[away]
        exact[:, place] = np.bincount(cells, minlength=shape[0] * bins.count).reshape(shape[0], -1)
    return exact


def bins_of_nodes(
    graph: Graph | PartedGraph | CountedGraph, node_type: str, attribute: Attribute
) -> np.ndarray:
    """Find the bin of every node's value. int64 (n,), -1 where it has none. Private."""
    table = graph.nodes[node_type]
    column = table.attributes.get(attribute.name)
    if column is None:
        return np.full(table.count, -1, dtype=np.int64)
    return places_of(attribute, column)


def grouped(places: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Find the group of every node from the bin of its value. -1 where it has none."""
    return np.where(places >= 0, groups[np.maximum(places, 0)], -1)


def edges_of_a_cell(unit: Unit, schema: GraphSchema, relation: str) -> int:
    """Count the edges of one unit in a cell. They are those that a cell of the relation is charged for, of
    all steps under PAIR. Public."""
    cells = schema.steps_of(relation) if unit is Unit.PAIR else (None,)
    return edges_of_unit(unit, schema.edge_type_or_every(relation)) * len(cells)


def check_cap(cap: object) -> None:
    """Raise InvalidInput unless so many edges of a node may count."""
    if type(cap) is not int or not 1 <= cap <= MOST_CAP:
        raise InvalidInput(f"cap is an integer in [1, {MOST_CAP}]", field="cap")


def bin_of_zero(attribute: Attribute) -> int:
    """Find the bin of 0, or of the bound next to it. A vector mostly holds it. Public."""
    return int(node_bins(attribute).places(np.zeros(1))[0])


def _event(noise: Noise) -> Pure | GaussianEvent:
    return noise if isinstance(noise, Pure) else GaussianEvent(positive_fraction(noise, "noise"))


class MixingNoise(NamedTuple):
    """Noise of scale ``moved / epsilon``, and its cost. This is what it costs an edge and a row; all in
    nano-epsilon."""

    moved: int
    nano_epsilon: int
    edge: int
    row: int


def mixing_noise(
    cap: int, edge_nano_epsilon: int, row_nano_epsilon: int, multiplicity: int = 1
) -> MixingNoise:
    """Choose the least noise that fits both budgets. One is spent whole, and of the other what it takes.

    ``multiplicity``: edges that a cell is charged for.
    """
    moved, nano_epsilon, (edge, row) = least_noise(
        (EDGE_MOVES * multiplicity, edge_nano_epsilon), (ROW_MOVES * cap, row_nano_epsilon)
    )
    return MixingNoise(moved, nano_epsilon, edge, row)


def least_noise(*budgets: tuple[int, int]) -> tuple[int, int, tuple[int, ...]]:
    """Choose the least noise that fits all budgets. It is of ``(moved, nano_epsilon)`` the one that asks for
    most.

    Returns its two numbers, whose quotient is the noise's scale, and what each budget pays, rounded up.
    """
    moved, nano_epsilon = max(budgets, key=lambda each: Fraction(*each))
    # At scale b = moved / epsilon a budget whose data move by ``own`` pays own / b, rounded up.
    return moved, nano_epsilon, tuple(-(-own * nano_epsilon // moved) for own, _ in budgets)


def mixed(
    source: np.ndarray,
    target: np.ndarray,
    groups: np.ndarray,
    count: int,
    cap: int,
    priority: np.ndarray,
    directed: bool = False,
) -> np.ndarray:
    """Count the capped edges by the groups of their ends; int64 (count, count).

    ``groups`` (n,): -1 for a node that counts nowhere. ``directed``: the source's comes first, else the
    smaller. O(m log m).
    """
    kept = capped(source, target, cap, priority)
    return capped_parts.by_groups(groups[source[kept]], groups[target[kept]], count, directed)


def capped(source: np.ndarray, target: np.ndarray, cap: int, priority: np.ndarray) -> np.ndarray:
    """Mark the edges among both ends' first ``cap``. They are first by ``priority``; bool (m,).

    Every edge is listed once, at each of its steps. Of equal priorities what is listed first comes first.
    """
    order = np.argsort(priority, kind="stable")
    ends = np.stack([source[order], target[order]], axis=1).ravel()  # of the first edge, the second, ...
    found = np.empty(len(order), dtype=bool)
    found[order] = among_first(ends, cap).reshape(-1, 2).all(axis=1)
    return found


def among_first(nodes: np.ndarray, cap: int) -> np.ndarray:
    """Mark the first ``cap`` entries of each node. They are first in the order of the array; bool (m,)."""
    by_node = np.argsort(nodes, kind="stable")
    ranked, place = nodes[by_node], np.arange(len(nodes))
    # Where each node's run begins, carried along the run: the place less that is the rank in it.
    first = np.maximum.accumulate(np.where(np.diff(ranked, prepend=-1) != 0, place, 0))
    kept = np.empty(len(nodes), dtype=bool)
    kept[by_node] = place - first < cap
    return kept
