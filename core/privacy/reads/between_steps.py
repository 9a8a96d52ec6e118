"""Reads of two consecutive steps of a relation together: what stays from the one to the other.

Units W_EVENT, EVENT and PAIR. A read of steps t - 1 and t is paid by both, half
each: that half of epsilon is charged to step t when the read is made, and was set aside by step t - 1, which
was charged for it by the clock, whether the read followed or not.

Proof. Let neighbours differ in c_s edges of the relation at step s (1 at most in each step of a window under
W_EVENT, 0 outside; 1 in a single step under EVENT), and let one edge of one step move the answer by at most S
in L1. The answers are joined by c_(t-1) + c_t such moves, so they differ by S (c_(t-1) + c_t) at
most. Discrete Laplace noise of scale S / e bounds the log ratio of any output by (c_(t-1) + c_t) e. What step
s is charged for the read that it begins and the one that it ends, e each, times c_s, adds up to the same: so
the sum over a window of what its steps are charged bounds the window's loss, whatever reads reach over its
ends, and under EVENT the charge of the one step does, whose pure events are added before they are converted.
A read that is not made (a missing step, the end of a grid) leaves a charge that bought nothing. Composition
is adaptive, as every read is pure given what was put out before; which steps were published is among that.

PAIR: all of a pair's edges in both steps, k in each at most, come or go together. Kept edges are then k more
or less at most, and kept nodes 2, as the pair decides of its own two ends alone: k S at most, where the sum
above says 2 k S. Noise of scale k S / e makes the read e-DP, and e is charged in each of two cells. That
matters where curves are added up cell by cell: those of two halves come to half the curve of the one event of
2 e that the sum would ask for, and to twice that of the e it is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from core.errors import NotAccepted, PlanExceeded
from core.graphs.graph import Cell
from core.privacy.accounting.events import NANO, Pure, check_nano_epsilon
from core.privacy.accounting.meter import Meter
from core.privacy.accounting.plan import CellKey
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.queries import Shape

EDGES, NODES = 1, 2
"""How far an edge of one step moves the number of kept edges, and of kept nodes."""


class SetAside:
    """What steps were charged ahead of the reads that their next steps make.

    ``left``: nano-epsilon by relation that the step before the session's first one set aside.
    """

    def __init__(self, meter: Meter, left: dict[str, int] | None = None) -> None:
        self._meter = meter
        self._left: dict[CellKey, int] = {(name, -1): nano for name, nano in (left or {}).items()}

    def pay(self, edge_type: str, step: int, *, nano_epsilon: int, purpose: str) -> None:
        """Charge a step for its half of a read that the next step may make. Reads nothing."""
        check_nano_epsilon(nano_epsilon)
        self._meter.charge(edge_type, step, Pure(nano_epsilon, "set aside"), purpose)
        self._left[edge_type, step] = self._left.get((edge_type, step), 0) + nano_epsilon

    def take(self, edge_type: str, step: int, nano_epsilon: int) -> None:
        """Use what the step has set aside, once. PlanExceeded where that is less."""
        held = self._left.get((edge_type, step), 0)
        if nano_epsilon > held:
            raise PlanExceeded(
                f"step {step} of {edge_type!r} set too little aside for a read with its next one",
                edge_type=edge_type,
                step=step,
            )
        self._left[edge_type, step] = held - nano_epsilon

    def left(self, step: int) -> dict[str, int]:
        """Return what a step has set aside and no read has used, in nano-epsilon by relation."""
        return {name: nano for (name, at), nano in self._left.items() if at == step and nano}


class BetweenSteps:
    """The reads of a relation's step together with the one before it. Relations inside one node type."""

    def __init__(
        self,
        shape: Shape,
        step: int,
        multiplicity: int,
        meter: Meter,
        aside: SetAside,
        cells: Callable[[], tuple[Cell, Cell]],
    ) -> None:
        if not shape.edge_type.homogeneous:
            raise NotAccepted("what stays is read of relations inside one node type", field="edge_type")
        self._shape, self._step, self._multiplicity = shape, step, multiplicity
        self._meter, self._aside, self._cells = meter, aside, cells

    def kept_edges(self, *, nano_epsilon: int, purpose: str) -> int:
        """Measure how many edges both steps have. ``nano_epsilon`` is either step's half; any integer.

        Sensitivity: 1 to an edge of one step. Unit, proof: this module's. An edge that is added to, or taken
        from, one step joins or leaves both steps' common edges, or neither. O(m log m).
        """
        return self._noisy(EDGES, nano_epsilon, "kept_edges", purpose, kept_edges)

    def kept_nodes(self, *, nano_epsilon: int, purpose: str) -> int:
        """Measure how many nodes have an edge in both steps. ``nano_epsilon`` is either step's half; any
        integer.

        Sensitivity: 2 to an edge of one step. Unit, proof: this module's. An edge of one step decides at its
        two ends alone whether a node has an edge there. O(n + m).
        """
        nodes = self._shape.source_count
        return self._noisy(NODES, nano_epsilon, "kept_nodes", purpose, partial(kept_nodes, nodes=nodes))

    def _noisy(
        self,
        sensitivity: int,
        nano_epsilon: int,
        name: str,
        purpose: str,
        count: Callable[[Cell, Cell], int],
    ) -> int:
        check_nano_epsilon(nano_epsilon)
        relation = self._shape.edge_type.name
        # First what was set aside: a read that lacks it must not be charged to this step.
        self._aside.take(relation, self._step - 1, nano_epsilon)
        self._meter.charge(relation, self._step, Pure(nano_epsilon, f"discrete_laplace/{name}"), purpose)
        value = np.array([count(*self._cells())], dtype=np.int64)
        moves = sensitivity * self._multiplicity
        noisy, scale = (
            mechanisms.discrete_laplace(value, moves, nano_epsilon),
            Fraction(moves * NANO, nano_epsilon),
        )
        self._meter.measurements.keep((relation, self._step), name, {}, (), scale, noisy, purpose)
        return int(noisy[0])


def kept_edges(before: Cell, now: Cell) -> int:
    """Count the edges that both cells have."""
    width = max(int(each.target.max(initial=0)) for each in (before, now)) + 1
    one, other = (each.source.astype(np.int64) * width + each.target for each in (before, now))
    # Canonical cells have each edge once.
    return len(np.intersect1d(one, other, assume_unique=True))


def kept_nodes(before: Cell, now: Cell, nodes: int) -> int:
    """Count the nodes that have an edge in both cells."""
    active = np.ones(nodes, dtype=bool)
    for cell in (before, now):
        here = np.zeros(nodes, dtype=bool)
        here[cell.source] = here[cell.target] = True
        active &= here
    return int(active.sum())
