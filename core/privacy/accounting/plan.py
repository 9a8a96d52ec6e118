"""What a job will spend, fixed before any data is read.

A plan is a pure function of a method's parameters and the public schema. It lists allotments over cells
(edge type, step); the meter lets no cell spend more. Its cost under the dataset's privacy unit is what the
ledger reserves, what publication charges and what the release prints.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from core.errors import InvalidInput, NotAccepted
from core.orders import ORDERS
from core.privacy.accounting import accountant
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.events import (
    MAX_TEXT,
    Event,
    Unprotected,
    check_event,
    from_json,
    pure_nano_epsilon,
    sampled,
    to_json,
    unprotected_reasons,
)
from core.privacy.units import RECORD_WISE, Unit
from graphveil.models.reports import ROWS

WHOLE_GRAPH = "*"
"""The cell name of an unprotected access, and of every read under unit NODE: all edge types, all steps."""

COUNTED_ROWS = "protected node attributes"
"""The purpose of counts of rows, which are proved for a row that is replaced by any other."""
DECLARED: Final = "declared"
"""The method of a plan that reads nothing: what it makes follows from declared facts alone."""

MAX_ALLOTMENTS = 1_000_000
MAX_STEPS = 100_000
MAX_DELTA_ATTO = 10**17
ATTO = 10**18
HASHED_ROWS = 4096
_NO_ROWS = '"allotments":[]'
"""How an empty list of allotments stands in canonical JSON; inside a text its quotes would be escaped."""

SET_ASIDE, SINCE_BEFORE = "set aside for the next step", "kept since the step before"
"""Purposes of the two halves of a read of two steps (:mod:`core.privacy.reads.between_steps`)."""

CellKey = tuple[str, int | None]


def rows_of(node_type: str) -> str:
    """Name the cell in which a node type's protected rows are paid for. It has no step."""
    return ROWS + node_type


class GuaranteeKind(StrEnum):
    """PURE: epsilon. APPROXIMATE: epsilon and delta. NONE: no finite guarantee. UNREAD: epsilon 0, as nothing
    of the data is read."""

    PURE = "pure"
    APPROXIMATE = "approximate"
    NONE = "none"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Allotment:
    """One event that a plan grants to one cell. ``step`` is None for an edge type without time.

    Cells that are alike share one event object: a plan looks at each object once, however many cells it has.
    """

    edge_type: str
    step: int | None
    event: Event
    purpose: str

    def __post_init__(self) -> None:
        for text, name in ((self.edge_type, "edge_type"), (self.purpose, "purpose")):
            if not isinstance(text, str) or not 1 <= len(text) <= MAX_TEXT:
                raise InvalidInput(f"{name} is a text of 1 to {MAX_TEXT} characters", field=name)
        if self.step is not None and (type(self.step) is not int or not 0 <= self.step < MAX_STEPS):
            raise InvalidInput("a step is an integer of the time grid, or absent", field="step")
        check_event(self.event)
        if self.edge_type != WHOLE_GRAPH and isinstance(self.event, Unprotected):
            raise InvalidInput("an unprotected access names the whole graph", field="event")
        if self.edge_type == WHOLE_GRAPH and self.step is not None:
            raise InvalidInput("the whole graph has no step", field="step")


@dataclass(frozen=True, slots=True)
class PlannedRead:
    """A read that every fit makes in some cells. It is made in ``cells`` cells of a relation: a query of
    :mod:`core.privacy.queries`.

    ``nano_epsilon``: the least that a cell pays for it; more than one where its answer is the sum of answers
    about disjoint parts of the cell, each of which pays for itself. ``deviation``: the most that the standard
    deviation of its noise can be, of a read of persons under Gaussian noise; it has no costs of its own.
    ``moved``: how far a person moves its answer at most, in L1, of a read of persons under discrete Laplace
    noise; for other units that follows from the query.
    """

    edge_type: str
    query: str
    nano_epsilon: tuple[int, ...]
    cells: int = 1
    deviation: float | None = None
    moved: int | None = None


@dataclass(frozen=True)
class Cost:
    """The cost of a plan to one privacy unit; integers, rounded up.

    ``nano_epsilon`` is None for kind NONE, and for an approximate plan that names no delta.
    ``per_step`` is the nano-epsilon of each step (dearest edge type) of a pure temporal plan, else None.
    ``untimed`` is the nano-epsilon of the dearest edge type without time.
    """

    nano_epsilon: int | None
    delta_atto: int
    kind: GuaranteeKind
    per_step: tuple[int, ...] | None
    untimed: int


@dataclass(frozen=True)
class PrivacyPlan:
    """Everything a job may spend. Immutable; equal plans have equal digests.

    ``window`` is given for unit W_EVENT and for no other. ``steps`` is the length of the public time grid
    (1 without time). ``delta_atto`` (unit 1e-18) is the delta at which an approximate plan is converted; 0
    for pure. ``first_step`` is the account's number of the plan's step 0: a snapshot of a live stream is a
    graph of one step, which the account counts among the stream's. ``accountant`` says how an approximate
    plan is converted and metered; a plan without delta has nothing to convert, and keeps RENYI.
    ``apart`` names the relations of which one record is the unit (``EdgeType.records_apart``), sorted.
    Raises InvalidInput when there is no allotment, or one lies outside the grid or does not fit the unit. Of
    the method DECLARED there is none, and of no other.
    """

    method: str
    unit: Unit
    window: int | None
    steps: int
    allotments: tuple[Allotment, ...]
    delta_atto: int = field(default=0)
    first_step: int = field(default=0)
    accountant: Accountant = field(default=Accountant.RENYI)
    apart: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        # Without delta nothing is converted: equal plans have equal digests, whatever accountant was named.
        object.__setattr__(
            self, "accountant", Accountant(self.accountant) if self.delta_atto else Accountant.RENYI
        )
        object.__setattr__(self, "unit", Unit(self.unit))
        object.__setattr__(self, "allotments", tuple(self.allotments))
        object.__setattr__(self, "apart", tuple(self.apart))
        if self.apart and self.unit not in RECORD_WISE:
            raise InvalidInput("only the units edge and event may be one record", field="apart")
        named = all(isinstance(name, str) for name in self.apart)
        if not named or list(self.apart) != sorted(set(self.apart)):
            raise InvalidInput("relations whose records are apart are named once each, sorted", field="apart")
        if not isinstance(self.method, str) or not 1 <= len(self.method) <= MAX_TEXT:
            raise InvalidInput("a plan names its method", field="method")
        if type(self.steps) is not int or not 1 <= self.steps <= MAX_STEPS:
            raise InvalidInput(f"steps is an integer in [1, {MAX_STEPS}]", field="steps")
        if type(self.delta_atto) is not int or not 0 <= self.delta_atto <= MAX_DELTA_ATTO:
            raise InvalidInput(f"delta is an integer in [0, {MAX_DELTA_ATTO}], in 1e-18", field="delta")
        if type(self.first_step) is not int or not 0 <= self.first_step <= MAX_STEPS - self.steps:
            raise InvalidInput(f"the plan's steps end before {MAX_STEPS}", field="first_step")
        self._check_window()
        if self.method == DECLARED:
            if self.allotments or self.delta_atto:
                raise InvalidInput("what is made from declarations reads nothing", field="allotments")
        elif not 1 <= len(self.allotments) <= MAX_ALLOTMENTS:
            raise InvalidInput(f"a plan has 1 to {MAX_ALLOTMENTS} allotments", field="allotments")
        for allotment in self.allotments:
            self._check_allotment(allotment)
        if self.unit.replaced and any(sampled(event) for event in self._events.values()):
            raise InvalidInput(
                f"unit {self.unit} replaces, and sampling is accounted for adding and removing only",
                field="allotments",
            )

    def _check_window(self) -> None:
        if (self.unit is Unit.W_EVENT) != (self.window is not None):
            raise InvalidInput("a window belongs to unit w-event and to no other", field="window")
        if self.window is not None and (type(self.window) is not int or not 1 <= self.window <= MAX_STEPS):
            raise InvalidInput(f"a window is an integer in [1, {MAX_STEPS}]", field="window")

    def _check_allotment(self, allotment: Allotment) -> None:
        if not isinstance(allotment, Allotment):
            raise InvalidInput("a plan is made of allotments", field="allotments")
        if self.unit is Unit.NODE:
            if allotment.edge_type != WHOLE_GRAPH and not allotment.edge_type.startswith(ROWS):
                raise InvalidInput(
                    "under unit node a read names the whole graph: one node has edges in every cell",
                    field="allotments",
                )
        elif allotment.edge_type == WHOLE_GRAPH and not isinstance(allotment.event, Unprotected):
            raise InvalidInput(
                "but for unprotected access, only unit node reads the whole graph", field="allotments"
            )
        if allotment.step is None:
            return
        if not self.unit.temporal:
            raise InvalidInput(f"unit {self.unit} knows no steps: an allotment has none", field="allotments")
        if allotment.step >= self.steps:
            raise InvalidInput("an allotment lies outside the time grid", field="allotments")

    @cached_property
    def cells(self) -> Mapping[CellKey, tuple[Event, ...]]:
        """Allotted events of each cell."""
        cells: dict[CellKey, list[Event]] = defaultdict(list)
        for allotment in self.allotments:
            cells[allotment.edge_type, allotment.step].append(allotment.event)
        return {key: tuple(events) for key, events in cells.items()}

    def only(self, *purposes: str) -> PrivacyPlan:
        """Return the part of the plan granted for these purposes. InvalidInput where none is."""
        return replace(
            self,
            allotments=tuple(allotment for allotment in self.allotments if allotment.purpose in purposes),
        )

    def without(self, *purposes: str) -> PrivacyPlan:
        """Return the part of the plan outside these purposes. It is what is granted for any others;
        InvalidInput where none is."""
        return replace(
            self,
            allotments=tuple(allotment for allotment in self.allotments if allotment.purpose not in purposes),
        )

    @property
    def looks_back(self) -> bool:
        """Whether a snapshot is read together with the one before it, where that was published."""
        return any(allotment.purpose == SINCE_BEFORE for allotment in self.allotments)

    @cached_property
    def _events(self) -> Mapping[int, Event]:
        """Event objects of the allotments by identity, each once."""
        # The plan keeps the objects, so that an id stays theirs;
        # hashing each event would cost more than it saves.
        return {id(allotment.event): allotment.event for allotment in self.allotments}

    @cached_property
    def kind(self) -> GuaranteeKind:
        """PURE when every allotment is, NONE when one is unprotected, UNREAD without any, else
        APPROXIMATE."""
        if not self.allotments:
            return GuaranteeKind.UNREAD
        if any(unprotected_reasons(event) for event in self._events.values()):
            return GuaranteeKind.NONE
        pure = all(pure_nano_epsilon(event) is not None for event in self._events.values())
        return GuaranteeKind.PURE if pure else GuaranteeKind.APPROXIMATE

    def cost(self) -> Cost:
        """Compute the cost to one privacy unit, over cells c with sums s(c).

        EDGE, EVENT: max of s(c): the unit is one edge of one cell, and cells hold disjoint edges.
        PAIR: sum of all s(c). NODE: the same, of the whole graph and the rows: one node has edges in every
        cell. W_EVENT: the dearest untimed type, plus the dearest window of ``window`` consecutive steps, each
        step at its dearest type (one edge per timestamp); windows that reach past the grid hold a subset of
        one inside it, so they cost no more. O(allotments + steps).

        Where curves or losses are converted, EDGE and EVENT convert each cell's by itself: whatever edge two
        neighbours differ in, it lies in one cell, fixed before anything is drawn; the other cells' outputs
        have one law given what was put out before, so the release is (epsilon, delta) of that cell's events
        alone. The other units mix cells, and convert the sum.
        """
        return self._cost

    @cached_property
    def _cost(self) -> Cost:
        kind = self.kind
        if kind is GuaranteeKind.NONE:
            return Cost(None, 0, kind, None, 0)
        if kind is GuaranteeKind.APPROXIMATE:
            nano = self._approximate_nano_epsilon() if self.delta_atto else None
            return Cost(nano, self.delta_atto, kind, None, 0)
        pure = {key: pure_nano_epsilon(event) or 0 for key, event in self._events.items()}
        sums: dict[CellKey, int] = defaultdict(int)
        for allotment in self.allotments:
            sums[allotment.edge_type, allotment.step] += pure[id(allotment.event)]
        total, per_step, untimed = _by_unit(sums, self.unit, self.window, self.steps)
        return Cost(total, 0, kind, tuple(per_step) if self.unit.temporal else None, untimed)

    def _approximate_nano_epsilon(self) -> int:
        if self.unit in (Unit.EDGE, Unit.EVENT):
            # Cells that spend alike are converted once.
            cells = set(self.cells.values())
            return max(accountant.cell_nano_epsilon(cell, self.delta_atto, self.accountant) for cell in cells)
        by_curves = accountant.nano_epsilon(self._curve(ORDERS), self.delta_atto)
        # Losses need one list of events; under w-event every window has another.
        if self.unit in (Unit.PAIR, Unit.NODE) and self.accountant is Accountant.PRIVACY_LOSS:
            everything = [allotment.event for allotment in self.allotments]
            return min(by_curves, accountant.loss_nano_epsilon(everything, self.delta_atto) or by_curves)
        return by_curves

    def _curve(self, orders: Sequence[float]) -> list[float]:
        """Bound the plan's Rényi divergence at each order, by the same rules of the unit as :meth:`cost`.

        Pure events of a cell are added before they are converted: eps -> min(eps, alpha eps^2/2) grows at
        least linearly, so the curve bounds every way in which the meter lets a cell split its pure epsilon.
        """
        curves = {key: accountant.cell_curve(events, orders) for key, events in self.cells.items()}
        result = []
        # The maximum at each order by itself: it bounds the
        # curve of every cell and window, whichever is dearest.
        for column in range(len(orders)):
            sums = {key: float(curve[column]) for key, curve in curves.items()}
            result.append(_by_unit(sums, self.unit, self.window, self.steps)[0])
        return result

    def spend(self, filter: str, orders: Sequence[int | float] = ()) -> dict[str, int]:
        """Compute the amounts to reserve, by budget dimension; all integers, rounded up.

        ``basic``: {"epsilon": nano, "delta": atto}; under W_EVENT {"untimed", "step/0", ..., "delta"}, steps
        numbered as the account numbers them.
        ``renyi``: {"rdp/<order>": nano} at each of ``orders``. Raises NotAccepted where no finite amount
        exists: an unprotected plan, an approximate plan without delta, w-event outside pure basic.
        """
        cost = self.cost()
        if cost.kind is GuaranteeKind.NONE:
            raise NotAccepted("an unprotected plan has no finite cost", field="method")
        if self.unit is Unit.W_EVENT and (filter != "basic" or cost.kind is GuaranteeKind.APPROXIMATE):
            raise NotAccepted("a w-event account takes pure plans under the basic filter only", field="unit")
        if filter == "renyi":
            if not orders:
                raise InvalidInput("the Rényi filter needs its grid of orders", field="orders")
            curve = self._curve(orders)
            return {f"rdp/{a}": accountant.ceil_nano(x) for a, x in zip(orders, curve, strict=True)}
        if filter != "basic":
            raise InvalidInput(f"unknown budget filter {filter!r}", field="filter")
        if cost.nano_epsilon is None:
            raise NotAccepted("an approximate plan names its delta", field="delta")
        if self.unit is not Unit.W_EVENT:
            return {"epsilon": cost.nano_epsilon, "delta": cost.delta_atto}
        steps = {f"step/{self.first_step + t}": nano for t, nano in enumerate(cost.per_step or ())}
        return {"untimed": cost.untimed, **steps, "delta": 0}

    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hex. A reservation and a charge name it."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        """SHA-256 of the canonical JSON, hashed as it is written: no text of all cells is ever held."""
        # Keys are sorted: the rows stand between these two halves.
        before, after = _canonical(self._named([])).split(_NO_ROWS)
        digest = hashlib.sha256(f'{before}"allotments":['.encode())
        events = {key: _canonical(to_json(event)) for key, event in self._events.items()}
        texts = {text: _canonical(text) for a in self.allotments for text in (a.edge_type, a.purpose)}
        for start in range(0, len(self.allotments), HASHED_ROWS):
            rows = ",".join(
                f'{{"edge_type":{texts[a.edge_type]},"event":{events[id(a.event)]},'
                f'"purpose":{texts[a.purpose]},"step":{"null" if a.step is None else a.step}}}'
                for a in self.allotments[start : start + HASHED_ROWS]
            )
            digest.update(f"{',' if start else ''}{rows}".encode())
        digest.update(f"]{after}".encode())
        return digest.hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Write the plan as JSON-able values, exactly. RENYI goes unnamed, as in plans before the choice."""
        events = {key: to_json(event) for key, event in self._events.items()}
        return self._named(
            [
                {"edge_type": a.edge_type, "step": a.step, "event": events[id(a.event)], "purpose": a.purpose}
                for a in self.allotments
            ]
        )

    def _named(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        named = {} if self.accountant is Accountant.RENYI else {"accountant": str(self.accountant)}
        return {
            **named,
            **({"apart": list(self.apart)} if self.apart else {}),
            "method": self.method,
            "unit": str(self.unit),
            "window": self.window,
            "steps": self.steps,
            "delta_atto": self.delta_atto,
            "first_step": self.first_step,
            "allotments": rows,
        }

    @classmethod
    def from_json(cls, value: Any) -> PrivacyPlan:
        """Read the plan that :meth:`to_json` wrote; InvalidInput for anything else."""
        match value:
            case {
                "method": method,
                "unit": unit,
                "window": window,
                "steps": steps,
                "delta_atto": delta,
                "first_step": first,
                "allotments": [*rows],
                **rest,
            } if unit in set(Unit) and _known(rest, delta):
                known: dict[Event, Event] = {}
                allotments = tuple(_allotment(row, known) for row in rows)
                chosen, apart = value.get("accountant", Accountant.RENYI), value.get("apart", ())
                return cls(method, Unit(unit), window, steps, allotments, delta, first, chosen, apart)
        raise InvalidInput("not a privacy plan", field="plan")


def _known(rest: Any, delta: Any) -> bool:
    """Tell whether a plan has no more than what is written only where it is not the default."""
    chosen, apart = rest.get("accountant"), rest.get("apart")
    # A default that is written out would give one plan two texts, and two digests.
    return (
        rest.keys() <= {"accountant", "apart"}
        and ("accountant" not in rest or (chosen == Accountant.PRIVACY_LOSS.value and bool(delta)))
        and ("apart" not in rest or (isinstance(apart, list) and bool(apart)))
    )


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _allotment(value: Any, known: dict[Event, Event]) -> Allotment:
    """Read the allotment of a row; equal events of the plan are one object, ``known`` to the next rows."""
    match value:
        case {"edge_type": edge_type, "step": step, "event": event, "purpose": purpose, **rest} if not rest:
            read = from_json(event)
            return Allotment(edge_type, step, known.setdefault(read, read), purpose)
    raise InvalidInput("not an allotment", field="allotments")


def _by_unit(
    sums: Mapping[CellKey, Any], unit: Unit, window: int | None, steps: int
) -> tuple[Any, list[Any], Any]:
    """Return (cost of one unit, dearest edge type of each step, dearest untimed type); integers stay so."""
    per_step: list[Any] = [0] * steps
    untimed: Any = 0
    for (_, step), amount in sums.items():
        if step is None:
            untimed = max(untimed, amount)
        else:
            per_step[step] = max(per_step[step], amount)
    match unit:
        case Unit.EDGE | Unit.EVENT:
            return max(untimed, *per_step), per_step, untimed
        case Unit.PAIR | Unit.NODE:
            return sum(sums.values()), per_step, untimed
        case Unit.W_EVENT:
            # One edge without time may change beside one edge in each step of the window (privacy.md 1).
            assert window is not None
            return untimed + _dearest_window(per_step, window), per_step, untimed
        case _:
            raise InvalidInput(f"unknown privacy unit {unit!r}", field="unit")


def _dearest_window(per_step: Sequence[Any], window: int) -> Any:
    # The sum slides, one step in and one out, whatever the window's length.
    running = sum(per_step[:window])
    dearest = running
    for t in range(window, len(per_step)):
        running += per_step[t] - per_step[t - window]
        dearest = max(dearest, running)
    return dearest
