"""The division of a ``thepuff`` cell's epsilon, and its plan.

Public facts only. Units edge and event: the cells (relation and step) hold disjoint edges, so each has all of
epsilon and delta. A learned cell spends its pure shares on flips, on its number of edges and on degrees, and
what is left on the steps of one DP-SGD training that all learned cells share: an edge lies in one of them, so
each cell pays for all steps. Pure and sampled events of a cell are composed and converted once; the training
gets the least noise that keeps this within epsilon and delta. The other cells spend all of epsilon on
themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from core import errors
from core.graphs.schema import GraphSchema
from core.methods._shared.frame.plan import besides, plan_of
from core.methods.base import PublicFacts
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.accounting.events import (
    Event,
    GaussianEvent,
    PoissonSampled,
    Pure,
    Repeated,
    pure_nano_epsilon,
)
from core.privacy.accounting.plan import Allotment, CellKey, PrivacyPlan
from core.privacy.queries import Shape
from papers.thepuff.params import ThepuffParams

FLIPS = "perturbed graph"
DEGREES = "edge count and degrees"
UTILITY = "utility discriminator"
STATIC = "relation without time"

SMALLEST_NANO_EPSILON = 10_000
UNKNOWN_RATE = Fraction(1, 200)
"""The sampling rate where the size of a universe is not declared."""
NODES_A_STEP = 16
"""A DP-SGD step for so many nodes of the universe, up to the parameter's number of steps."""


@dataclass(frozen=True)
class Shares:
    """Shares of a learned cell's epsilon.

    They are for flips, the number of edges, degrees. DP-SGD gets the rest.
    """

    flips: float
    count: float
    degrees: float


SHARES: Mapping[tuple[str, bool], Shares] = {
    ("paid", True): Shares(0.30, 0.04, 0.50),
    ("hat", True): Shares(0.60, 0.04, 0.0),
    ("paid", False): Shares(0.36, 0.04, 0.60),
    ("hat", False): Shares(0.96, 0.04, 0.0),
}
"""By the source of degrees, and whether a utility discriminator is trained."""

LARGE_NANO_EPSILON = 6_000_000_000
AT_LARGE_EPSILON: Mapping[tuple[str, bool], Shares] = {
    ("paid", True): Shares(0.60, 0.04, 0.20),
    ("paid", False): Shares(0.76, 0.04, 0.20),
}
"""From LARGE_NANO_EPSILON on: a fifth is enough for degrees, and flips leave something to learn from.

Measured on MovieLens-100k, as the other table was: at epsilon 8 the degrees are as close as with half of it,
and walks and pairs closer.
"""


@dataclass(frozen=True)
class Granted:
    """What a plan grants, in nano-epsilon.

    It is by learned cell for flips and for count and degrees, by other cell for everything; and the training,
    None where there is none.
    """

    flips: Mapping[CellKey, int]
    degrees: Mapping[CellKey, int]
    static: Mapping[CellKey, int]
    training: DpSgd | None


def make_plan(method: str, params: ThepuffParams, public: PublicFacts) -> PrivacyPlan:
    """Plan variant sound: a pure function of public facts.

    Raises ``errors.NotAccepted`` where DP-SGD is requested without delta, or nothing is left for it.
    """
    if params.trains_utility and not public.delta_atto:
        raise errors.NotAccepted(
            "the utility discriminator needs a delta; utility=false needs none", field="delta"
        )
    if public.nano_epsilon < SMALLEST_NANO_EPSILON:
        raise errors.NotAccepted("epsilon is too small to be divided", field="epsilon")
    delta = public.delta_atto if params.trains_utility else 0
    shares = shares_of(params, public.nano_epsilon)
    flips = int(public.nano_epsilon * shares.flips)
    degrees = int(public.nano_epsilon * (shares.count + shares.degrees))
    own: tuple[Event, ...] = (Pure(flips, "randomised response"), Pure(degrees, "laplace"))
    events: list[tuple[Event, str]] = list(zip(own, (FLIPS, DEGREES), strict=True))
    if params.trains_utility:
        steps = utility_steps(public.schema, params.utility_steps)
        training = DpSgd.within(
            public.whole_nano_epsilon,
            delta,
            rate(public.schema),
            steps,
            besides(public, *own),
            public.accountant,
        )
        events.append((training.event, UTILITY))
    timed = any(public.schema.edge_type(name).temporal for name in public.edge_types)
    others: list[tuple[Event, str]] = [(Pure(public.nano_epsilon, "laplace and randomised response"), STATIC)]
    allotments = []
    for name in public.edge_types:
        learned = public.schema.edge_type(name).temporal or not timed
        for step in public.schema.steps_of(name):
            for event, purpose in events if learned else others:
                allotments.append(Allotment(name, step, event, purpose))
    return plan_of(method, public, allotments, delta)


def shares_of(params: ThepuffParams, nano_epsilon: int) -> Shares:
    """Return the shares of a learned cell. They are public constants, by the parameters and epsilon."""
    kind = params.bias, params.trains_utility
    if nano_epsilon >= LARGE_NANO_EPSILON and kind in AT_LARGE_EPSILON:
        return AT_LARGE_EPSILON[kind]
    return SHARES[kind]


def rate(schema: GraphSchema) -> Fraction:
    """Compute the DP-SGD sampling rate of an edge.

    It is the probability with which a step takes an edge: 1 / (4 sqrt(nodes)), rounded down. A public rule
    that stands for "some hundred walks a step" from thousands to millions of nodes.
    """
    nodes = _nodes(schema)
    return UNKNOWN_RATE if nodes is None else Fraction(1, math.isqrt(16 * nodes) + 1)


def utility_steps(schema: GraphSchema, most: int) -> int:
    """Count the DP-SGD steps.

    There are ``most``, fewer in small universes, which have little to learn from.
    """
    nodes = _nodes(schema)
    return most if nodes is None else min(most, math.ceil(nodes / NODES_A_STEP))


def _nodes(schema: GraphSchema) -> int | None:
    """Count the nodes of all types; None where a size is not declared."""
    sizes = [kind.count for kind in schema.node_types if kind.count is not None]
    return sum(sizes) if len(sizes) == len(schema.node_types) else None


def granted(plan: PrivacyPlan) -> Granted:
    """Read back what :func:`make_plan` put into a plan."""
    amounts: dict[str, dict[CellKey, int]] = {FLIPS: {}, DEGREES: {}, STATIC: {}}
    training = None
    for each in plan.allotments:
        match each.event:
            case Repeated(PoissonSampled(kept, GaussianEvent(sigma)), times):
                training = DpSgd(kept, sigma, times)
            case event:
                amounts[each.purpose][each.edge_type, each.step] = pure_nano_epsilon(event) or 0
    return Granted(amounts[FLIPS], amounts[DEGREES], amounts[STATIC], training)


def true_shares_of(
    plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> dict[str, tuple[float, float]]:
    """Compute the expected share of true edges by relation.

    They are least and most. A learned cell samples pairs of generated walks, of which none knows better than
    chance (m / N of m edges in N slots) or all repeat the perturbed graph, whose share is 1 - p_drop; how
    much of it a generator repeats is no function of public facts. The others are sampled as ``anchored``
    does. The number of edges is the declared bound or a guess. ``nodes``: the sizes of the universes.
    """
    from core.methods._shared.flips.true_edges import kept_share, true_share
    from core.methods._shared.flips.worth import guessed_edges
    from core.privacy.accounting.flips import Flips

    grants = granted(plan)
    found: dict[str, tuple[float, float]] = {}
    for name in dict.fromkeys(each.edge_type for each in plan.allotments):
        relation = schema.edge_type(name)
        shape = Shape(relation, nodes[relation.source], nodes[relation.target])
        slots = shape.slots
        edges = guessed_edges(relation, shape.source_count, shape.target_count)
        flips = next((nano for (edge_type, _), nano in grants.flips.items() if edge_type == name), 0)
        others = next((nano for (edge_type, _), nano in grants.static.items() if edge_type == name), 0)
        if min(slots, edges) < 1:
            continue
        if flips:
            found[name] = edges / slots, kept_share(Flips.balanced(flips, edges, slots), edges, slots)
        elif followed := _untimed_evidence(shape, others):
            found[name] = true_share(shape, followed)
    return found


def _untimed_evidence(shape: Shape, nano_epsilon: int) -> int:
    """Compute what a relation that is not learned pays for evidence, in nano-epsilon; as ``fit`` asks."""
    from core.methods._shared.relations.budget import evidence_of, is_static
    from core.methods._shared.relations.params import AnchoredParams
    from core.methods._shared.slots.evidence import MAX_MATERIALISED, additions

    asked = evidence_of(shape, nano_epsilon, 1, AnchoredParams())
    held = is_static(shape, AnchoredParams()) or additions(shape, asked) <= MAX_MATERIALISED
    return asked if asked and held else 0
