"""The division of a relation's epsilon, and its plan.

Public facts only.

Unit edge: relations hold disjoint edges, so each has all of epsilon and delta, whether they are trained
together or apart: an edge lies in one relation, and a joint training charges each for all of its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from core import errors
from core.methods._shared.flips.worth import guessed_edges, log_odds
from core.methods._shared.frame.plan import SMALLEST_STEP_NANO_EPSILON, besides, plan_of
from core.methods.base import PublicFacts
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.accounting.events import (
    NANO,
    Event,
    GaussianEvent,
    PoissonSampled,
    Pure,
    Repeated,
    pure_nano_epsilon,
)
from core.privacy.accounting.plan import Allotment, CellKey, PrivacyPlan
from core.privacy.queries import Shape

if TYPE_CHECKING:
    from core.graphs.schema import EdgeType, GraphSchema
    from papers.dpggan.params import LinkParams

FRAME, COUNT = "degrees and triangles", "edge count"
HAT, LINKS = "noisy graph", "decoder"
LEAST_NODES, LEAST_DEGREE = 1000, 20
"""``auto`` learns from universes of so many nodes and a declared mean degree of so much at least. Networks of
some hundred nodes, and Cora's 2 708 nodes of mean degree 4, were closest without learning up to epsilon 8."""
WORTH = 0.6
"""``auto`` learns where epsilon is at least so many times the log odds against an edge, by the declared
bound. On Facebook (4 039 nodes, mean degree 44) learning paid from .66 on, and not at .44."""
FULL_NODES = 1000
"""Up to so many nodes a step of the mlp decoder reads every edge; beyond, a share of them."""


@dataclass(frozen=True)
class Composition:
    """What every relation pays for, as shares of epsilon. The decoder gets what the others leave."""

    frame: float
    hat: float
    links: bool


@dataclass(frozen=True)
class Granted:
    """What a plan grants each relation, in nano-epsilon. With it is the training that it takes part in."""

    frame: Mapping[CellKey, int]
    hat: Mapping[CellKey, int]
    training: DpSgd | None


def composition(params: LinkParams, public: PublicFacts) -> Composition:
    """Return the requested composition. Under ``auto`` it is what was closest at this epsilon and size."""
    learn: str = params.learn
    if learn == "auto":
        learn = _closest(public)
    if learn == "off":
        return Composition(1.0, 0.0, links=False)
    if learn == "evidence":
        return Composition(params.frame_share, 1 - params.frame_share, links=False)
    hat = 0.0 if params.inputs == "random" else params.hat_share
    return Composition(params.frame_share, hat, links=True)


def make_plan(method: str, params: LinkParams, public: PublicFacts) -> PrivacyPlan:
    """Plan variant sound: a pure function of public facts.

    Raises ``errors.NotAccepted`` where DP-SGD is requested without delta, or too little is left to divide.
    """
    shares = composition(params, public)
    if shares.links and not public.delta_atto:
        raise errors.NotAccepted("learn=link-sgd needs a delta; the other choices need none", field="delta")
    frame = int(public.nano_epsilon * shares.frame)
    hat = min(int(public.nano_epsilon * shares.hat), public.nano_epsilon - frame)
    if min(frame, hat if shares.hat else frame) < SMALLEST_STEP_NANO_EPSILON:
        raise errors.NotAccepted("epsilon, or a share of it, is too small to be divided", field="epsilon")
    mechanism, purpose = ("laplace and ladder", FRAME) if params.frame else ("laplace", COUNT)
    events: list[tuple[Event, str]] = [(Pure(frame, mechanism), purpose)]
    if shares.hat:
        events.append((Pure(hat, "randomised response"), HAT))
    delta = public.delta_atto if shares.links else 0
    if shares.links:
        paid = besides(public, *(event for event, _ in events))
        steps = 1 if params.decoder == "bilinear" else params.steps
        rate = _rate(params, public)
        events.append(
            (
                DpSgd.within(public.whole_nano_epsilon, delta, rate, steps, paid, public.accountant).event,
                LINKS,
            )
        )
    allotments = [
        Allotment(name, None, event, purpose) for name in public.edge_types for event, purpose in events
    ]
    return plan_of(method, public, allotments, delta)


def granted(plan: PrivacyPlan) -> Granted:
    """Read back what :func:`make_plan` put into a plan."""
    frame: dict[CellKey, int] = {}
    hat: dict[CellKey, int] = {}
    training = None
    for each in plan.allotments:
        match each.event:
            case Repeated(PoissonSampled(rate, GaussianEvent(sigma)), times):
                training = DpSgd(rate, sigma, times)
            case event:
                amounts = hat if each.purpose == HAT else frame
                amounts[each.edge_type, each.step] = pure_nano_epsilon(event) or 0
    return Granted(frame, hat, training)


def shares_of_hat(
    params: LinkParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> dict[str, tuple[float, float]]:
    """Compute the expected share of true edges by relation.

    They are least and most, in each that follows a noisy graph. With a frame, edges exchange ends towards the
    posterior under the noisy graph's flips, while nodes keep their paid degrees: at most the share of
    ``true_edges.posterior_share`` for very unequal degrees. Degrees far from the true ones, and rewiring to
    triangles afterwards, take away as much as no public fact says; the least is what chance gives (m / N of m
    edges in N slots). Without a frame, pairs are sampled one by one as ``weighted.weighted_share`` has
    them. What a decoder learns by DP-SGD tells slots apart as unequal degrees do, and is not counted by
    itself. The number of edges is the declared bound or a guess. ``nodes``: the sizes of the universes.
    """
    from core.methods._shared.flips.true_edges import posterior_share
    from core.privacy.accounting.flips import Flips
    from papers.dpggan.weighted import weighted_share

    grants = granted(plan)
    found = {}
    for (name, _), nano in grants.hat.items() if params.exchanges or not params.frame else ():
        relation = schema.edge_type(name)
        sizes = nodes[relation.source], nodes[relation.target]
        slots, edges = Shape(relation, *sizes).slots, guessed_edges(relation, *sizes)
        if min(slots, edges) < 1:
            continue
        flips = Flips.balanced(nano, edges, slots)
        low, high = edges / slots, posterior_share(flips, edges, slots).high
        if not params.frame:
            low = weighted_share(flips, edges, slots)
            high = low if grants.training is None else max(low, high)
        found[name] = low, high
    return found


def _closest(public: PublicFacts) -> str:
    """Choose for ``auto``: learning where every relation is large and dense enough, and epsilon is.

    Read are delta, epsilon, the declared numbers of nodes, and the declared bounds on the edges.
    """
    if not public.delta_atto:
        return "off"
    for name in public.edge_types:
        relation = public.schema.edge_type(name)
        nodes, bound = source_nodes(public, relation), relation.edge_bound
        if nodes is None or bound is None or nodes < LEAST_NODES or 2 * bound < LEAST_DEGREE * nodes:
            return "off"
        if public.nano_epsilon / NANO < WORTH * log_odds(Shape(relation, nodes, nodes)):
            return "off"
    return "link-sgd"


def source_nodes(public: PublicFacts, relation: EdgeType) -> int | None:
    """Return the declared number of nodes of a relation. It lies on these; None where none is declared."""
    return next(kind.count for kind in public.schema.node_types if kind.name == relation.source)


def _rate(params: LinkParams, public: PublicFacts) -> Fraction:
    """Choose the probability with which a step reads an edge. The bilinear decoder's one step reads all."""
    if params.decoder == "bilinear":
        return Fraction(1)
    relations = [public.schema.edge_type(name) for name in public.edge_types]
    sizes = [source_nodes(public, relation) for relation in relations]
    largest = [size for size in sizes if size is not None]
    if len(largest) < len(sizes):
        return Fraction(1, 16)
    nodes = sum(largest) if params.joint else max(largest)
    return Fraction(1) if nodes <= FULL_NODES else Fraction(FULL_NODES, nodes)
