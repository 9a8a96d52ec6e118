"""keyframe's parameters, its clock, and how it divides epsilon. Public facts only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field, model_validator

from core import errors
from core.methods._shared.frame.plan import SMALLEST_STEP_NANO_EPSILON, plan_of
from core.methods._shared.node_values.share import NodeValueParameters
from core.methods._shared.values.share import ValueParameters
from core.methods.base import PublicFacts
from core.privacy.accounting.events import NANO, Pure, pure_nano_epsilon
from core.privacy.accounting.plan import SET_ASIDE, SINCE_BEFORE, Allotment, PrivacyPlan
from core.privacy.units import Unit

COUNTERS, FRAME, NODES_SINCE = "keyframe counters", "key frame", "kept nodes since the step before"
COUNT = "keyframe edge count"  # in the place of counters, where there are few nodes
EDGES_OF_KEPT = 3 / 7
"""Of what is read of two steps together, the part for edges; the other is for nodes."""
TOLD = 1 / 8
"""Kept nodes are read where the noise is at most this part of all nodes."""
DROWNED, MOST_FEW = 5.0, 2_000
"""Nodes are few that are fewer than so many standard deviations of a tail counter's noise, and than this."""
COUNT_OF_TAILS = 0.6
"""Of few nodes, the part of the tail counters' share that edge counts have; key frames have the other."""
NAME = "keyframe"
ALWAYS_NAMED = frozenset({"count_share", "tail_share", "cells_share", "first_frame"})


class KeyframeParams(ValueParameters, NodeValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("count", "tail", "cells", "kept", "degree")

    count_share: float = Field(
        default=0.30,
        gt=0,
        lt=1,
        description="Share of a window's epsilon for the edge counts, spread evenly over its steps.",
    )
    tail_share: float = Field(
        default=0.25,
        gt=0,
        lt=1,
        description="Share of a window's epsilon for the degree tail counters, spread evenly over its steps.",
    )
    cells_share: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description=(
            "Share of a window's epsilon for the edge counts between degree classes at its key frame; the "
            "degrees at the key frame get what is left."
        ),
    )
    kept_share: float = Field(
        default=0.07,
        ge=0,
        lt=1,
        description=(
            "Share of a window's epsilon for how many edges and nodes stay from one step to the next, read "
            "once a window, of the key frame's step and the next together. At 0 all edges are drawn anew at "
            "every step."
        ),
    )
    few_nodes: bool = Field(
        default=True,
        description=(
            "Read no degree tail counters where their noise would drown them: where all nodes, as the schema "
            "declares them, are fewer than five standard deviations of it. Edge counts and key frames have "
            "their share, and the law of degrees is that of the key frames."
        ),
    )
    first_frame: int = Field(
        default=0,
        ge=0,
        le=99_999,
        description=(
            "A step with a key frame: the others lie whole windows before and after it. Public; for a stream "
            "that starts almost empty, a step at which it has filled."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _named_before(cls, value: Any) -> Any:
        """Keep what came later off where all else is named, as parameters were stored before it."""
        if isinstance(value, Mapping) and value.keys() >= ALWAYS_NAMED:
            return {"kept_share": 0.0, "few_nodes": False, **value}
        return value

    @model_validator(mode="after")
    def _leaves_degrees(self) -> KeyframeParams:
        if self.count_share + self.tail_share + self.cells_share + self.kept_share > 0.99:
            raise ValueError("the shares must leave at least 0.01 for the degrees at key frames")
        return self


@dataclass(frozen=True)
class StepBudget:
    """The integer shares of one step in nano-epsilon. ``degrees`` and ``cells`` are 0 without a key frame,
    ``tail`` is where there are few nodes.

    ``kept_edges`` and ``kept_nodes`` are the step's half of what is read of it and the step before, and
    ``aside`` its half of what the next step may read of both.
    """

    count: int
    tail: int
    degrees: int
    cells: int
    kept_edges: int = 0
    kept_nodes: int = 0
    aside: int = 0

    def reads(self, *, follows: bool) -> dict[str, int]:
        """Return the step's cost by query, in nano-epsilon; of two steps where it ``follows`` one."""
        named = {
            "edge_count": self.count,
            "tail_counts": self.tail,
            "degrees": self.degrees,
            "group_matrix": self.cells,
        }
        if follows:
            named |= {"kept_edges": self.kept_edges, "kept_nodes": self.kept_nodes}
        return {query: cost for query, cost in named.items() if cost}


def make_plan(method: str, params: KeyframeParams, public: PublicFacts) -> PrivacyPlan:
    """Allot counters at every step, and by the clock key frames and reads of two steps together.

    There is a key frame at every step that the clock names, ``reach`` steps apart. It sets half of what stays
    aside, and the step after it pays the other half. Any ``reach`` consecutive steps hold at most one of
    either (of a reach of 1 each step is both), and at most ``reach`` steps: counters of (epsilon - frame -
    kept) / reach each, one frame and two halves sum to epsilon at most, in windows that reach past the grid
    too. Raises ``errors.NotAccepted`` where too little is left to divide.
    """
    if params.first_frame and public.unit is Unit.EVENT:
        raise errors.NotAccepted(
            "under unit event every step has a key frame of its own; leave first_frame out",
            field="first_frame",
        )
    whole, reach = _scope(public)
    alone = public.tick is None and public.schema.steps == 1
    first, allotments = public.tick or 0, []
    universes = _universes(public)
    few = params.few_nodes and _few(params, whole, reach, universes)
    of_edges, of_nodes = (0, 0) if alone else _kept(params, whole, min(universes) if universes else None)
    kept = 2 * (of_edges + of_nodes)
    frame = int(whole * (1 - _counting(params, few))) - kept
    counters = (whole - frame - kept) // reach
    if min(frame, counters) < SMALLEST_STEP_NANO_EPSILON:
        raise errors.NotAccepted("epsilon per step is too small to be divided", field="epsilon")
    counted = COUNT if few else COUNTERS
    amounts = {counted: counters, FRAME: frame, SET_ASIDE: kept // 2}
    amounts |= {SINCE_BEFORE: of_edges, NODES_SINCE: of_nodes}
    events = {purpose: Pure(nano, "discrete laplace") for purpose, nano in amounts.items() if nano}
    for name in public.edge_types:
        for step in range(public.schema.steps):
            since = (first + step - params.first_frame) % reach
            due = [counted, *[FRAME, SET_ASIDE] * (since == 0)]
            # 1 % reach: with a reach of 1 every step is a key frame's and the one after it.
            due += [SINCE_BEFORE, NODES_SINCE] * (since == 1 % reach)
            allotments += [Allotment(name, step, events[each], each) for each in due if each in events]
    return plan_of(method, public, allotments)


def _universes(public: PublicFacts) -> list[int]:
    """List the sizes of the relations' universes; none where the schema does not declare them all.

    All relations keep one schedule: a step costs its dearest, and two schedules could cost more than either.
    """
    kinds = {public.schema.edge_type(name).source for name in public.edge_types}
    counts = [public.schema.node_type(kind).count for kind in kinds]
    known = [count for count in counts if count is not None]
    return known if len(known) == len(counts) else []


def _few(params: KeyframeParams, whole: int, reach: int, universes: list[int]) -> bool:
    """Tell whether tail counters would drown: by the declared numbers of nodes and the noise."""
    # An edge moves two counters; a step has its even part of the window's epsilon.
    noise = math.sqrt(2) * 2 * NANO * reach / (whole * params.tail_share)
    return bool(universes) and max(universes) < min(DROWNED * noise, MOST_FEW)


def _counting(params: KeyframeParams, few: bool) -> float:
    """Return the share of a window's epsilon that is spread evenly over its steps."""
    return params.count_share + params.tail_share * (COUNT_OF_TAILS if few else 1)


def _kept(params: KeyframeParams, whole: int, nodes: int | None) -> tuple[int, int]:
    """Return a step's halves of what is read of two steps together: for edges and for nodes, in nano-epsilon.

    For edges alone where the noise would drown the nodes, or the schema does not say how many there are; the
    rest is left to the degrees.
    """
    half = int(whole * params.kept_share) // 2
    of_edges = int(half * EDGES_OF_KEPT)
    if of_edges < SMALLEST_STEP_NANO_EPSILON:
        return 0, 0
    readable = nodes is not None and _deviation(half - of_edges) <= TOLD * nodes
    return of_edges, half - of_edges if readable else 0


def _deviation(nano_epsilon: int) -> float:
    """Bound the standard deviation of the noise of kept nodes."""
    return math.sqrt(2) * 2 * NANO / nano_epsilon if nano_epsilon else math.inf


def granted_to(plan: PrivacyPlan) -> dict[tuple[str, int], dict[str, int]]:
    """Return a plan's grants by purpose, in nano-epsilon.

    They are for each step of each relation, by a plan of this method.
    """
    budgets: dict[tuple[str, int], dict[str, int]] = {}
    for allotment in plan.allotments:
        assert allotment.step is not None
        amount = pure_nano_epsilon(allotment.event) or 0
        budgets.setdefault((allotment.edge_type, allotment.step), {})[allotment.purpose] = amount
    return budgets


def _scope(public: PublicFacts) -> tuple[int, int]:
    """Return the epsilon that consecutive steps of one relation share, and how many steps share it.

    W_EVENT: the window's, over its steps; a grid that is shorter than a window is one. EVENT: cells hold
    disjoint edges, so every step has all of it. PAIR: a pair may be in every step of every relation.
    """
    if public.unit is Unit.EVENT:
        return public.nano_epsilon, 1
    if public.unit is Unit.PAIR:
        return public.nano_epsilon // len(public.edge_types), public.schema.steps
    window = public.window or 1
    return public.nano_epsilon, window if public.tick is not None else min(window, public.schema.steps)


def divide(params: KeyframeParams, granted: Mapping[str, int]) -> StepBudget:
    """Divide one step's budget, in nano-epsilon by the purposes of the plan."""
    few = COUNT in granted
    counters, frame, aside = (granted.get(each, 0) for each in (COUNT if few else COUNTERS, FRAME, SET_ASIDE))
    own = max(1, int(counters * params.count_share / (params.count_share + params.tail_share)))
    count = counters if few else own
    rest = 1 - _counting(params, few)
    # A frame and both halves of what stays are all that counting leaves: the share is of the whole.
    cells = max(1, int((frame + 2 * aside) * params.cells_share / rest)) if frame else 0
    return StepBudget(
        count=count,
        tail=counters - count,
        degrees=frame - cells,
        cells=cells,
        kept_edges=granted.get(SINCE_BEFORE, 0),
        kept_nodes=granted.get(NODES_SINCE, 0),
        aside=aside,
    )
