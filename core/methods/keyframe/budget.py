"""keyframe's parameters, its clock, and how it divides epsilon. Public facts only."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field, model_validator

from core import errors
from core.methods._shared.frame.plan import SMALLEST_STEP_NANO_EPSILON, plan_of
from core.methods._shared.node_values.share import NodeValueParameters
from core.methods._shared.values.share import ValueParameters
from core.methods.base import PublicFacts
from core.privacy.accounting.events import Pure, pure_nano_epsilon
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.units import Unit

COUNTERS, FRAME = "keyframe counters", "key frame"


class KeyframeParams(ValueParameters, NodeValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    READS = ("count", "tail", "cells", "degree")

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
    first_frame: int = Field(
        default=0,
        ge=0,
        le=99_999,
        description=(
            "A step with a key frame: the others lie whole windows before and after it. Public; for a stream "
            "that starts almost empty, a step at which it has filled."
        ),
    )

    @model_validator(mode="after")
    def _leaves_degrees(self) -> KeyframeParams:
        if self.count_share + self.tail_share + self.cells_share > 0.99:
            raise ValueError("the shares must leave at least 0.01 for the degrees at key frames")
        return self


@dataclass(frozen=True)
class StepBudget:
    """The integer shares of one step in nano-epsilon. ``degrees`` and ``cells`` are 0 without a key frame."""

    count: int
    tail: int
    degrees: int
    cells: int

    def reads(self) -> dict[str, int]:
        """Return the step's cost by query, in nano-epsilon."""
        named = {
            "edge_count": self.count,
            "tail_counts": self.tail,
            "degrees": self.degrees,
            "group_matrix": self.cells,
        }
        return {query: cost for query, cost in named.items() if cost}


def make_plan(method: str, params: KeyframeParams, public: PublicFacts) -> PrivacyPlan:
    """Allot counters at every step, and clocked key frames.

    There is one at every step that the clock names. Any ``reach`` consecutive steps hold at most one key
    frame, as those stand ``reach`` steps apart, and at most ``reach`` steps: counters of (epsilon - frame) /
    reach each and one frame sum to epsilon at most, in windows that reach past the grid too. Raises
    ``errors.NotAccepted`` where too little is left to divide.
    """
    if params.first_frame and public.unit is Unit.EVENT:
        raise errors.NotAccepted(
            "under unit event every step has a key frame of its own; leave first_frame out",
            field="first_frame",
        )
    whole, reach = _scope(public)
    frame = int(whole * (1 - params.count_share - params.tail_share))
    counters = (whole - frame) // reach
    if min(frame, counters) < SMALLEST_STEP_NANO_EPSILON:
        raise errors.NotAccepted("epsilon per step is too small to be divided", field="epsilon")
    first, allotments = public.tick or 0, []
    counted, framed = Pure(counters, "discrete laplace"), Pure(frame, "discrete laplace")
    for name in public.edge_types:
        for step in range(public.schema.steps):
            allotments.append(Allotment(name, step, counted, COUNTERS))
            if (first + step - params.first_frame) % reach == 0:
                allotments.append(Allotment(name, step, framed, FRAME))
    return plan_of(method, public, allotments)


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


def divide(params: KeyframeParams, counters: int, frame: int) -> StepBudget:
    """Divide one step's budget. It may spend ``counters``, and ``frame`` more at a key frame (else 0)."""
    count = int(counters * params.count_share / (params.count_share + params.tail_share))
    rest = 1 - params.count_share - params.tail_share
    cells = max(1, int(frame * params.cells_share / rest)) if frame else 0
    return StepBudget(count=max(1, count), tail=counters - max(1, count), degrees=frame - cells, cells=cells)
