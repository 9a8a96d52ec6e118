"""What can be audited, and what each mechanism promises on the canary graphs. No NumPy: the api plans audits.

Canary graphs are small, fixed and public. Two neighbours differ in the canary: the edge between node 0 and
node 1 (node 0 on either side of a relation between two types), in every step in which the unit may hold it.
Under unit node they differ in all edges of node 0, which others replace (see ``replaced``).

Where a method is to carry what edges or nodes have, the canaries have it: the canary edge one value, all
others another; every node one of two groups, that of node 0 replaced with its edges under unit node. A
composition is audited on two relations, of which the second holds no canary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.errors import InvalidInput, NotAccepted
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from core.graphs.schema.edge_attributes import Aggregate, EdgeAttribute, EdgeAttributeKind
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.dp_sgd import MIN_NOISE_MULTIPLIER, DpSgd, noise_multiplier
from core.privacy.accounting.events import (
    MAX_NANO_EPSILON,
    Event,
    GaussianEvent,
    PoissonSampled,
    Pure,
    Repeated,
)
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.units import EDGE_WISE, Unit

EDGE, BESIDE = "edge", "beside"
VALUE, GROUP, KINDS = "kind", "group", ("usual", "other")
"""What canary edges and nodes carry, where anything is to be carried: one of two categories."""
NODES = 6
STEPS = 2
MAX_WINDOW = 16

Query = Literal["edge_count", "degrees"]


class _Params(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NoiseParams(_Params):
    """Of the noisy queries."""

    query: Query = Field(default="edge_count", description="The query that is measured in every step.")


class ResponseParams(_Params):
    """Of randomised response."""

    form: Literal["symmetric", "balanced"] = Field(
        default="symmetric",
        description="Equal flip probabilities, or as many appearing edges as vanishing ones.",
    )


class TrainingParams(_Params):
    """Of DP-SGD."""

    rate: float = Field(default=0.25, gt=1e-3, le=1, description="The probability that a step draws an edge.")
    steps: int = Field(default=4, ge=1, le=64, description="Steps of the training.")


class AuditSpec(_Params):
    """One audit, fully planned: what a child process runs. ``control`` is the plan of the half-noise copy."""

    method: Annotated[str, Field(min_length=1, max_length=64)]
    params: dict[str, Any] = Field(default_factory=dict)
    runs: Annotated[int, Field(ge=100, le=10**9)]
    graph_schema: GraphSchema
    plan: dict[str, Any]
    control: dict[str, Any]


@dataclass(frozen=True)
class Mechanism:
    """One basic mechanism. ``events(params, nano_epsilon, delta_atto, cells)``: what a cell is granted where
    one unit meets ``cells`` of them, and the same for the copy with half the noise."""

    name: str
    title: str
    Params: type[BaseModel]
    units: frozenset[Unit]
    approximate: bool
    events: Callable[[Any, int, int, int], tuple[Event, Event]]
    accountant: Accountant = Accountant.RENYI


def canary_schema(
    unit: Unit,
    window: int | None,
    *,
    bipartite: bool = False,
    values: bool = False,
    rows: bool = False,
    several: bool = False,
) -> GraphSchema:
    """Build the public shape of the canary graphs under a unit. InvalidInput where a window does not fit.

    ``values``: every edge carries a VALUE; ``rows``: every node a protected GROUP; ``several``: a relation
    BESIDE the canary's.
    """
    if (unit is Unit.W_EVENT) != (window is not None):
        raise InvalidInput("a window belongs to unit w-event and to no other", field="window")
    if window is not None and not 1 <= window <= MAX_WINDOW:
        raise InvalidInput(f"an audited window has 1 to {MAX_WINDOW} steps", field="window")
    time = TimeGrid(count=window or STEPS) if unit.temporal else None
    names = ("left", "right") if bipartite else ("node",)
    carried = EdgeAttribute(
        name=VALUE, kind=EdgeAttributeKind.CATEGORY, categories=KINDS, aggregate=Aggregate.MAX
    )
    group = Attribute(name=GROUP, protection=Protection.PROTECTED, categories=KINDS)
    return GraphSchema(
        node_types=tuple(
            NodeType(
                name=name,
                count=NODES,
                protected=unit is Unit.NODE and name == names[0],
                attributes=(group,) if rows else (),
            )
            for name in names
        ),
        edge_types=tuple(
            EdgeType(
                name=name,
                source=names[0],
                target=names[-1],
                temporal=unit.temporal,
                attributes=(carried,) if values else (),
            )
            for name in ((EDGE, BESIDE) if several else (EDGE,))
        ),
        time=time,
    )


def canary_steps(unit: Unit, schema: GraphSchema) -> tuple[int | None, ...]:
    """Return the steps in which one unit holds the canary edge."""
    steps = schema.steps_of(EDGE)
    return steps if unit in (Unit.W_EVENT, Unit.PAIR) else steps[:1]


def replaced(schema: GraphSchema) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the neighbours of node 0 in both canary graphs. They are those of unit node: disjoint, and of
    two sizes.

    Inside one type everybody and nobody, which moves counts and degrees as far as one node can; of things
    four and two, since two vectors of sums lie farther apart than one and none.
    """
    if schema.edge_type(EDGE).homogeneous:
        return tuple(range(1, NODES)), ()
    return tuple(range(4)), tuple(range(4, NODES))


def mechanism_plans(
    mechanism: Mechanism, params: Any, schema: GraphSchema, unit: Unit, nano_epsilon: int, delta_atto: int
) -> tuple[PrivacyPlan, PrivacyPlan]:
    """Plan (epsilon, delta) on the canary graphs, and its half-noise copy."""
    if unit not in mechanism.units:
        known = ", ".join(sorted(mechanism.units))
        other = ": it hides single edges; audit a method that takes the unit" if unit is Unit.NODE else ""
        raise NotAccepted(f"{mechanism.name} can be audited under the units {known}{other}", field="unit")
    if mechanism.approximate and not delta_atto:
        raise NotAccepted(f"{mechanism.name} needs a positive delta", field="delta")
    delta = delta_atto if mechanism.approximate else 0
    cells = len(canary_steps(unit, schema))
    window = schema.steps if unit is Unit.W_EVENT else None
    events = mechanism.events(params, nano_epsilon, delta, cells)
    plan, control = (
        PrivacyPlan(
            method=mechanism.name,
            unit=unit,
            window=window,
            steps=schema.steps,
            allotments=tuple(Allotment(EDGE, step, event, "audit") for step in schema.steps_of(EDGE)),
            delta_atto=delta,
            accountant=mechanism.accountant,
        )
        for event in events
    )
    return plan, control


def _pure(params: Any, nano_epsilon: int, delta_atto: int, cells: int) -> tuple[Event, Event]:
    # Rounded down: what one unit's cells add up to stays within the epsilon.
    share = nano_epsilon // cells
    # The copy with half the noise spends twice the share, which must be an event too.
    if share < 1 or 2 * share > MAX_NANO_EPSILON:
        raise InvalidInput("this epsilon cannot be divided, or doubled", field="epsilon")
    return Pure(share, "audited"), Pure(2 * share, "audited")


def _gaussian(params: Any, nano_epsilon: int, delta_atto: int, cells: int) -> tuple[Event, Event]:
    # As a training of rate 1 with one step for each cell that a unit meets: Gaussian noise once in each.
    sigma = noise_multiplier(nano_epsilon, delta_atto, 1, cells, (), Accountant.RENYI)
    return GaussianEvent(sigma), GaussianEvent(sigma / 2)


def _training(params: TrainingParams, nano_epsilon: int, delta_atto: int, cells: int) -> tuple[Event, Event]:
    whole = DpSgd.within(nano_epsilon, delta_atto, params.rate, params.steps)
    # The copy's half must lie in the range of noise multipliers too.
    if whole.noise_multiplier < 2 * MIN_NOISE_MULTIPLIER:
        raise NotAccepted("half of so little noise cannot be trained with", field="epsilon")
    return whole.event, DpSgd(whole.rate, whole.noise_multiplier / 2, whole.steps).event


def training_of(event: Event) -> DpSgd:
    """Return the training whose event this is; InvalidInput for any other."""
    match event:
        case Repeated(event=PoissonSampled(rate=rate, event=GaussianEvent(noise_multiplier=s)), times=times):
            return DpSgd(rate, s, times)
    raise InvalidInput("not the event of a DP-SGD training", field="plan")


_ALL = EDGE_WISE
MECHANISMS: Mapping[str, Mechanism] = MappingProxyType(
    {
        mechanism.name: mechanism
        for mechanism in (
            Mechanism("laplace", "Discrete Laplace noise", NoiseParams, _ALL, False, _pure),
            Mechanism("gaussian", "Discrete Gaussian noise", NoiseParams, _ALL, True, _gaussian),
            Mechanism(
                "randomised_response", "Randomised response on edge slots", ResponseParams, _ALL, False, _pure
            ),
            Mechanism(
                "dp_sgd",
                "DP-SGD over edges, by a gradient canary",
                TrainingParams,
                frozenset({Unit.EDGE, Unit.EVENT}),
                True,
                _training,
                Accountant.PRIVACY_LOSS,
            ),
        )
    }
)
"""The basic mechanisms by name. Every registered generator can be audited too."""

_QUICK = {"laplace": 4_000, "randomised_response": 4_000, "gaussian": 20_000}
_FAINT = frozenset({"profiles"})
"""Methods of Gaussian reads, all looked at: half of the noise shows in the most runs that are made."""
_SLOW, _MOST_SLOW, _MOST = 4_000, 10_000, 200_000


def default_runs(method: str, epsilon: float) -> int:
    """Choose enough runs to catch the half-noise copy. They are as many where that is affordable: they grow
    with e^epsilon.

    Audits share their workers with paid releases: the most that is made takes some minutes.
    """
    # So that what happens with probability e^-epsilon is seen about 200 times; the caps decide from there on.
    wanted = math.ceil(200 * math.exp(min(epsilon, 20.0)))
    if method in _QUICK:
        return min(max(_QUICK[method], wanted), _MOST)
    return _MOST_SLOW if method in _FAINT else min(max(_SLOW, wanted), _MOST_SLOW)
