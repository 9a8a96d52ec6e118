"""What a generator gets instead of the graph. It has the public schema, and operations that pay before they
read.

Every operation checks its public arguments, charges the meter (check, record durably), and only then
touches the data. No operation returns, logs or raises anything that depends on the data except its noisy
result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InvalidInput, MeterClosed, NotAccepted, UnmeteredFit
from core.graphs.graph import Cell, Graph
from core.graphs.schema import EVERY
from core.graphs.views.sensitive import SensitiveLinks
from core.late import late
from core.privacy import queries
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.accounting.events import (
    LAZY_RESPONSE,
    Event,
    GaussianEvent,
    Pure,
    Unprotected,
    check_nano_epsilon,
    positive_fraction,
)
from core.privacy.accounting.flips import Flips, check_size
from core.privacy.accounting.measurements import Part
from core.privacy.accounting.meter import Meter
from core.privacy.accounting.plan import WHOLE_GRAPH, CellKey
from core.privacy.mechanisms import (
    aggregation,
    communities,
    label_stream,
    largest_slots,
    lazy_response,
    randomised_response,
)
from core.privacy.mechanisms.label_stream import LabelRule, LabelStream
from core.privacy.mechanisms.lazy_response import LazyResponse
from core.privacy.reads.between_steps import BetweenSteps, SetAside
from core.privacy.reads.edge_values import EdgeValueReads
from core.privacy.reads.mixing_between import MixingBetween
from core.privacy.reads.node_values import NodeValueReads
from core.privacy.reads.people_things import PeopleAndThings
from core.privacy.reads.undirected import UndirectedReads
from core.privacy.session.counted import CountedCell, CountedSession
from core.privacy.units import Unit, edges_of_unit

if TYPE_CHECKING:
    import torch

    from core.privacy.mechanisms.gradients import DpSgdSession

_training = late("core.privacy.mechanisms.gradients:DpSgdSession")


@dataclass(frozen=True)
class Before:
    """The step before a live stream's snapshot: its graph, of the same nodes, and what it has set aside.

    ``aside``: nano-epsilon by relation that its plan was charged and no read has used.
    """

    graph: Graph
    aside: dict[str, int]


class PrivateGraph(CountedSession):
    """A metered session over one graph. The graph itself is not reachable through the public interface."""

    _graph: Graph

    def __init__(
        self,
        graph: Graph,
        meter: Meter,
        sensitive: Callable[[], SensitiveLinks | None] = lambda: None,
        before: Before | None = None,
    ) -> None:
        super().__init__(graph, meter)
        self._sensitive = sensitive
        self._before = before
        self.aside = SetAside(meter, None if before is None else before.aside)

    def node_values_together(self, edge_types: Sequence[str]) -> NodeValueReads:
        """Open the reads of collected graphs' node values. Some graphs of a collection are read, all of them
        as one graph. Free, as :meth:`node_values`.
        """
        self._require_graphs(edge_types)
        return NodeValueReads(self._graph, self._meter, EVERY, edge_types)

    def mixing_between(self, edge_type: str) -> MixingBetween:
        """Open the read of a relation between two node types. It is by what both ends carry. Free, as
        :meth:`node_values`.
        """
        return MixingBetween(self._graph, self._meter, edge_type)

    def edge_values(self, edge_type: str, attribute: str) -> EdgeValueReads:
        """Open the reads of what a relation's edges carry. Free: what is declared is public. Not under unit
        node.
        """
        self._require_edges()
        return EdgeValueReads(self._graph, self._meter, edge_type, attribute)

    def edge_records(self, edge_type: str) -> EdgeValueReads:
        """Open the reads of how many records edges have. It is a relation that keeps each of them. Free, as
        :meth:`edge_values`.
        """
        self._require_edges()
        return EdgeValueReads(self._graph, self._meter, edge_type, None)

    def edge_values_together(self, edge_types: Sequence[str], attribute: str | None) -> EdgeValueReads:
        """Open the reads of collected graphs' edge values. Some graphs of a collection are read, all of them
        as one graph; reads are of how many records an edge has where ``attribute`` is None. Free, as
        :meth:`edge_values`.
        """
        self._require_edges()
        self._require_graphs(edge_types)
        return EdgeValueReads(self._graph, self._meter, EVERY, attribute, edge_types)

    def _require_graphs(self, edge_types: Sequence[str]) -> None:
        known = [relation.name for relation in self.schema.edge_types]
        if self.schema.collection is None or [relation for relation in known if relation in edge_types] != [
            *edge_types
        ]:
            raise InvalidInput("graphs of a collection are named in their order", field="edge_types")

    def cell(self, edge_type: str, step: int | None) -> PrivateCell:
        """Open one cell for its operations. Free: which cells exist is public. Not under unit node."""
        shape, charge, graph = *self._opened(edge_type, step), self._graph
        return PrivateCell(shape, step, self._meter, charge, None, lambda: graph.cell(edge_type, step))

    def between(self, edge_type: str, step: int) -> BetweenSteps | None:
        """Open the reads of a step together with the one before it. None where that one is not known, or set
        nothing aside, which is public: of a live stream, whether it was published, and by which plan.

        Free. Not under unit node.
        """
        shape, _ = self._opened(edge_type, step)
        graph, before = self._graph, self._before
        if not step and (before is None or not before.aside.get(edge_type)):
            return None

        def cells() -> tuple[Cell, Cell]:
            if step or before is None:
                return graph.cell(edge_type, step - 1), graph.cell(edge_type, step)
            return before.graph.cell(edge_type, 0), graph.cell(edge_type, step)

        multiplicity = edges_of_unit(self.unit, shape.edge_type)
        return BetweenSteps(shape, step, multiplicity, self._meter, self.aside, cells)

    def dp_sgd(
        self,
        training: DpSgd,
        *,
        cells: Sequence[CellKey],
        module: torch.nn.Module,
        optimiser: torch.optim.Optimizer,
        clip: float,
        divisor: float,
        purpose: str,
    ) -> DpSgdSession:
        """Begin a training over the edges of ``cells``. It charges every cell for all of its steps.

        Every cell pays ``training.event`` once, before an edge is read: an edge lies in one of them.
        Sensitivity, proof: :class:`core.privacy.mechanisms.gradients.DpSgdSession`. Unit: EDGE and EVENT
        only, where one unit is one edge of one cell; the others are refused.
        """
        self._require_edges()
        if self.unit not in (Unit.EDGE, Unit.EVENT):
            raise NotAccepted("DP-SGD over edges protects single edges: unit edge or event", field="unit")
        keys = [(edge_type, step) for edge_type, step in cells]
        if not keys or len(set(keys)) != len(keys):
            raise InvalidInput("cells are named once each, and there is at least one", field="cells")
        shapes = [self._shape(edge_type, step) for edge_type, step in keys]
        # Made before anything is charged, as it may refuse the module or the optimiser.
        session: DpSgdSession = _training(training, module, optimiser, clip=clip, divisor=divisor)
        for edge_type, step in keys:
            self._meter.charge(edge_type, step, training.event, purpose)
        session._open([self._graph.cell(edge_type, step) for edge_type, step in keys], shapes)
        return session

    def aggregate(
        self,
        features: np.ndarray,
        *,
        cells: Sequence[CellKey],
        side: str,
        noise_multiplier: Fraction | float,
        purpose: str,
    ) -> np.ndarray:
        """Sum features of every node's neighbours, with noise. They are summed over cells of one relation; a
        row for each of ``side``.

        ``features``: public or already paid for, a row of L2 norm at most 1 for each node of the other side.
        Every cell pays one Gaussian event. Sensitivity, proof:
        :func:`core.privacy.mechanisms.aggregation.noisy_sums`. Unit: of several cells EDGE and EVENT only,
        where a unit is one edge of one of them; of one cell any.
        """
        self._require_edges()
        keys = [(edge_type, step) for edge_type, step in cells]
        if not keys or len(set(keys)) != len(keys) or len({edge_type for edge_type, _ in keys}) != 1:
            raise InvalidInput("cells of one relation, once each, at least one", field="cells")
        if len(keys) > 1 and self.unit not in (Unit.EDGE, Unit.EVENT):
            raise NotAccepted("a unit may have edges in several of the cells", field="unit")
        shape = [self._shape(*key) for key in keys][-1]  # every one of them is looked up
        multiplicity = edges_of_unit(self.unit, shape.edge_type)
        question = aggregation.question_of(shape, features, side, noise_multiplier, multiplicity)
        event = GaussianEvent(positive_fraction(noise_multiplier, "noise_multiplier"))
        for edge_type, step in keys:
            self._meter.charge(edge_type, step, event, purpose)
        return aggregation.noisy_sums([self._graph.cell(*key) for key in keys], question)

    def people_and_things(self) -> PeopleAndThings:
        """Open the reads of persons and things, under unit node only. Free: every read is charged by
        itself."""
        return PeopleAndThings(self._graph, self._meter)

    def unprotected(self, reason: str) -> Graph:
        """Record Unprotected(reason), and hand out the raw graph. The release's guarantee becomes ``none``.

        Raises PlanExceeded unless the plan allots an unprotected access to the whole graph.
        """
        # Recorded before the graph is handed out: nothing that is done with it can be metered.
        self._meter.charge(WHOLE_GRAPH, None, Unprotected(reason), "unprotected access")
        return self._graph

    def sensitive_links(self) -> SensitiveLinks | None:
        """Return the links that the curator named sensitive; None where nobody named any.

        Only after :meth:`unprotected`, of which they are a part; nothing opens the list before. Raises
        UnmeteredFit then.
        """
        if not any(isinstance(entry.event, Unprotected) for entry in self._meter.transcript):
            raise UnmeteredFit("sensitive links are read after an unprotected access only")
        return self._sensitive()


class PrivateCell(CountedCell, UndirectedReads):
    """The operations of one cell, or of one branch of a parallel group inside it."""

    _read: Callable[[], Cell]

    def __init__(
        self,
        shape: queries.Shape,
        step: int | None,
        meter: Meter,
        charge: Callable[[Event, str], None],
        branch: tuple[int, int] | None,
        read: Callable[[], Cell],
    ) -> None:
        super().__init__(shape, step, meter, charge, read)
        self._branch = branch

    def randomised_response(
        self, *, nano_epsilon: int, purpose: str, flips: Flips | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Flip every slot of the cell at random: (source, target) int64, sorted, canonical.

        ``flips`` are public or already-paid probabilities that cost no more than ``nano_epsilon``; without
        them p_add = p_drop = 1 / (1 + e^eps). What is charged is the epsilon of the actual probabilities.

        Sensitivity, proof: :func:`core.privacy.mechanisms.randomised_response.flip`. Unit: one edge of the
        cell (times the slots that a unit may have in it, each of which then pays its share). Not offered
        inside a parallel group, where most of the cell's slots belong to the other branch.
        """
        if self._branch is not None:
            raise NotAccepted("randomised response runs on a whole cell", field="edge_type")
        check_nano_epsilon(nano_epsilon)
        chosen = flips or Flips.symmetric(check_nano_epsilon(nano_epsilon // self.multiplicity))
        cost = chosen.nano_epsilon * self.multiplicity
        if cost > nano_epsilon:
            raise InvalidInput("the flip probabilities cost more than nano_epsilon", field="flips")
        check_size(self.shape, chosen)
        self._charge(Pure(cost, "randomised_response"), purpose)
        cell = self._read()
        return randomised_response.flip(cell.source, cell.target, self.shape, chosen)

    def lazy_response(self, *, nano_epsilon: int, purpose: str, room: int) -> LazyResponse:
        """Prepare symmetric randomised response on every slot. A slot is worked out when it is requested.

        The object holds the cell's edges and a secret key: private content, see there what may leave it.
        ``room``, how many keys it holds, is public or paid for.

        Sensitivity, proof, computational assurance:
        :class:`core.privacy.mechanisms.lazy_response.LazyResponse`. Unit: one edge of the cell (times the
        slots that a unit may have in it, each of which then pays its share). Not offered inside a parallel
        group.
        """
        if self._branch is not None:
            raise NotAccepted("randomised response runs on a whole cell", field="edge_type")
        flips = Flips.symmetric(check_nano_epsilon(check_nano_epsilon(nano_epsilon) // self.multiplicity))
        self._charge(Pure(flips.nano_epsilon * self.multiplicity, LAZY_RESPONSE), purpose)
        cell = self._read()
        return lazy_response.respond(cell.source, cell.target, self.shape, self.step, flips, room)

    def largest_slots(self, *, keep: int, nano_epsilon: int, purpose: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``keep`` slots of largest noisy value. They are (source, target) int64; sorted,
        canonical.

        ``keep`` is public or already paid for, from 0 to the number of slots.

        Sensitivity, proof: :func:`core.privacy.mechanisms.largest_slots.largest`. Unit: one edge of the cell
        (times the slots that a unit may have in it, each of which then pays its share). Not offered inside a
        parallel group, where most of the cell's slots belong to the other branch.
        """
        if self._branch is not None:
            raise NotAccepted("the largest slots are those of a whole cell", field="edge_type")
        # Each of a unit's slots pays its share of what is charged.
        nano = check_nano_epsilon(nano_epsilon) // self.multiplicity
        largest_slots.check_keep(self.shape, keep, nano)
        self._charge(Pure(nano_epsilon, "discrete_laplace/largest_slots"), purpose)
        cell = self._read()
        return largest_slots.largest(cell.source, cell.target, self.shape, keep, nano)

    def exponential_labels(
        self, *, nano_epsilon: int, labels: np.ndarray, order: np.ndarray, purpose: str
    ) -> np.ndarray:
        """Adjust community labels by the exponential mechanism. It is one pass, with new labels 0..k-1, int64
        (n,).

        Sensitivity, proof: :func:`core.privacy.mechanisms.communities.exponential_pass`. Unit: one undirected
        edge of the cell. Undirected relations inside one node type only. ``labels`` and ``order`` are public
        or already paid for.
        """
        if not self.shape.undirected:
            raise NotAccepted(
                "communities are adjusted on undirected relations inside one node type", field="edge_type"
            )
        checked, _ = queries.check_labels(labels, self.shape.source_count, None, "labels")
        visits = communities.check_order(order, self.shape.source_count)
        self._charge(Pure(nano_epsilon, "exponential/labels"), purpose)
        return communities.exponential_pass(self._read().adjacency, checked, visits, nano_epsilon)

    def label_stream(
        self, *, nano_epsilon: int, order: np.ndarray, weights: np.ndarray, rule: LabelRule, purpose: str
    ) -> LabelStream:
        """Label every node, and count its neighbours by label, with noise; see ``LabelStream``.

        ``order`` and ``weights`` (n,) are public or already paid for.

        Sensitivity, proof: :func:`core.privacy.mechanisms.label_stream.stream`. Unit: one undirected edge of
        the cell, which is all that any unit has in it: EDGE, EVENT, W_EVENT and PAIR alike. Undirected
        relations inside one node type only.
        """
        if not self.shape.undirected:
            raise NotAccepted(
                "labels are streamed over undirected relations inside one node type", field="edge_type"
            )
        visits = communities.check_order(order, self.shape.source_count)
        label_stream.check_rule(rule, self.shape.source_count, nano_epsilon)
        checked = label_stream.check_weights(weights, self.shape.source_count)
        self._charge(Pure(nano_epsilon, "discrete_laplace/label_stream"), purpose)
        return label_stream.stream(self._read(), visits, checked, rule, nano_epsilon)

    @contextmanager
    def parallel(
        self, *, nano_epsilon: int, labels: np.ndarray, purpose: str = "parallel group"
    ) -> Iterator[tuple[PrivateCell, PrivateCell]]:
        """Split edges by labels into inside and between. Yielded are (inside, between): the edges with both
        ends in one label, and those with ends in two.

        Each branch may spend up to ``nano_epsilon``; the group costs ``nano_epsilon`` once, charged on
        entry. After the block the branches are closed.

        Sensitivity: that of each branch's own operations. Unit: EDGE, EVENT, W_EVENT; PAIR is refused.
        Proof: labels are public or already paid for, so they are the same for both neighbours and cut the
        cell's edges into two disjoint sets. EDGE and EVENT: neighbours differ in one edge, hence in one
        branch of one cell; the other branch's outputs have the same law given all outputs before, so the
        joint ratio is at most exp of what that branch spends, at most the cap. W_EVENT: neighbours differ
        in at most one edge per timestamp, and the group stands inside one cell, thus inside one timestamp
        (or among the untimed edges, where the unit is one edge): within it the argument is the same, and
        the caps of a window's steps add up as any other event's. PAIR may hold several edges of a cell;
        rather than argue case by case, it is refused.
        """
        if self._meter.plan.unit is Unit.PAIR:
            raise NotAccepted(
                "a node pair may lie in several branches: no parallel groups under unit pair", field="unit"
            )
        if not self.shape.edge_type.homogeneous:
            raise NotAccepted("a parallel group splits a relation inside one node type", field="edge_type")
        checked, _ = queries.check_labels(labels, self.shape.source_count, None, "labels")
        edge_type, step = self.shape.edge_type.name, self.step
        # Charged before a branch may read: what the branches spend is bounded by the cap that stands in the
        # transcript.
        keys = self._meter.open_group(
            edge_type, step, nano_epsilon, ("inside", "between"), purpose, self._branch
        )
        halves = _halves(self._read, checked)
        cells = [self._branch_cell(key, side, halves) for key, side in zip(keys, (True, False), strict=True)]
        for cell, inside in zip(cells, (True, False), strict=True):
            cell._parts = (*self._parts, Part(checked, inside))
        try:
            yield cells[0], cells[1]
        finally:
            self._meter.close_group(keys)
            # A branch that somebody kept beyond the block can charge, and so read, no more.
            for cell in cells:
                cell._charge = _refuse_closed

    def _branch_cell(
        self, key: tuple[int, int], inside: bool, halves: Callable[[], dict[bool, Cell]]
    ) -> PrivateCell:
        meter, edge_type, step = self._meter, self.shape.edge_type.name, self.step

        def charge(event: Event, purpose: str) -> None:
            meter.charge_branch(key, edge_type, step, event, purpose)

        return PrivateCell(self.shape, step, meter, charge, key, lambda: halves()[inside])


def _halves(read: Callable[[], Cell], labels: np.ndarray) -> Callable[[], dict[bool, Cell]]:
    """Cut a cell in two at the first call, which no branch makes before it has paid. O(m).

    True: the edges with both ends in one label; False: those with ends in two.
    """

    @cache
    def cut() -> dict[bool, Cell]:
        cell = read()
        same = labels[cell.source] == labels[cell.target]
        return {
            inside: replace(cell, source=cell.source[mask], target=cell.target[mask])
            for inside, mask in ((True, same), (False, ~same))
        }

    return cut


def _refuse_closed(event: Event, purpose: str) -> None:
    raise MeterClosed("the parallel group is over")
