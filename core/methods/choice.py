"""``method: auto``: which method suits a request, from public facts alone.

Read are the sizes of the node universes, the sorts of relations, the unit, epsilon, and a *declared* bound on
the number of edges where there is one; nothing of the graph. The choice costs nothing, and so may be shown.

Where the preferences come from: below epsilon of about ln(pairs / edges) no mechanism learns which pairs are
linked, and a model of degrees, communities and triangles is closest; above it, flipping single pairs keeps
nearly all edges and no model comes near. The line is drawn where nine edges of ten are kept.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from core import errors
from core.graphs.schema import EdgeType
from core.methods import registry
from core.methods._shared.flips.worth import WORTH, strength
from core.methods._shared.frame.plan import cell_nano_epsilon
from core.methods.base import Generator, PublicFacts, ShardedGenerator
from core.methods.room import require_room
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.queries import Shape
from core.privacy.units import EDGE_WISE, Unit, edges_of_unit

AUTO: Literal["auto"] = "auto"
"""What a request says instead of a method's name."""

KEPT = 0.9
"""Randomised response is chosen above this probability of an edge to be kept."""
FALSE_EDGES_PER_NODE = 0.1
"""Symmetric flips may add so many false edges for each node, on average."""
COUNT_SHARE = 0.1
"""What the balanced form pays for its number of edges, as its parameter ``count_share`` has it."""
SMALL_NODES = 1_000
"""Up to so many nodes a static graph is small: too few edges to find communities in at common epsilons."""
SPARSE_DEGREE = 20
"""A small graph whose declared bound allows a mean degree above this is not sparse."""
MAX_EXPONENT = 700.0

FLIPS = "edgerand"
SINGLE = ("dcsbm", "psgraph", "privgraph", "ldpgen", "dgg", "dp_dk", "tmf", "lapgraph", "edgerand")
SMALL = ("dcsbm", "degree_triangle", *SINGLE[1:])
SMALL_PARAMS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"dcsbm": {"preset": "small"}})
"""What a method is set to where a static graph is small."""
TIMED = ("anchored", *SINGLE)
STREAM = (
    *("keyframe", "psgraph", "anchored", "dcsbm", "dgg"),
    *("dp_dk", "privgraph", "tmf", "lapgraph", "edgerand"),
)
TYPED = ("anchored", "tmf", "edgerand", "lapgraph")
TYPED_WEAK = ("hetesdg", *TYPED)
"""Typed and directed graphs without time where epsilon is small beside the log odds against an edge. By
regret over ten graphs (``benchmarks/typed_choice.py``)."""
PERSONS, BETWEEN_PERSONS = ("profiles",), ("projection",)
"""What hides all edges of a node: of persons and things, and of persons and persons."""


@dataclass(frozen=True)
class Choice:
    """The method that was chosen, why, in plain words, and the parameters that are not its defaults.

    ``plan`` is the method's plan with them, of the facts that it was chosen for.
    """

    method: str
    reason: str
    params: Mapping[str, Any]
    plan: PrivacyPlan


def choose(
    public: PublicFacts,
    nodes: Mapping[str, int],
    *,
    allowed: Collection[str] | None = None,
    had: Container[str] | None = None,
) -> Choice:
    """Choose the first method of a fixed order of preference that takes the request.

    ``nodes``: the size of every node universe by type. ``allowed``: the methods that may be chosen, ``had``:
    those that can be run; None: every one. A method that is not had is passed over as one that is not
    registered. A function of its arguments alone, and of which methods are registered. Raises
    ``errors.NotAccepted`` with the field to mend where no method takes it. O(cells).
    """
    known = _known(had)
    may_flip = public.unit in EDGE_WISE and FLIPS in known and (allowed is None or FLIPS in allowed)
    flips = _flips(public, nodes) if may_flip else None
    if flips is not None:
        reason, params = flips
        plan = _planned(known[FLIPS], params, public, nodes)
        if isinstance(plan, PrivacyPlan):
            return Choice(FLIPS, reason, params, plan)
    order, reason = _preferred(public, nodes)
    settings = SMALL_PARAMS if order is SMALL else {}
    first: tuple[str, errors.NotAccepted] | None = None
    for name in order:
        if name not in known:
            continue
        planned: PrivacyPlan | errors.NotAccepted
        if allowed is not None and name not in allowed:
            planned = errors.NotAccepted("the dataset's policy does not allow it", field="method")
        else:
            planned = _planned(known[name], settings.get(name, {}), public, nodes)
        if isinstance(planned, PrivacyPlan):
            passed = "" if first is None else f" {first[0]} comes first, but it says: {first[1].message}."
            return Choice(name, reason + passed, settings.get(name, {}), planned)
        first = first or (name, planned)
    if first is None:
        raise errors.NotAccepted("no method is installed that could be chosen", field="method")
    name, refusal = first
    raise errors.NotAccepted(
        f"no method takes this request; {name}, which comes first, says: {refusal.message}",
        field=refusal.members.get("field", "method"),
    )


def choose_in_parts(
    public: PublicFacts,
    nodes: Mapping[str, int],
    *,
    allowed: Collection[str] | None = None,
    had: Container[str] | None = None,
) -> Choice:
    """Choose the first method by name that reads edges in parts, with the parameters that make it.

    ``nodes``, ``allowed`` and ``had``: as for :func:`choose`. Raises ``errors.NotAccepted`` where none takes
    it.
    """
    refusal = errors.NotAccepted("no method reads edges in parts, of those that are allowed", field="method")
    for name, generator in sorted(_known(had).items()):
        if not isinstance(generator, ShardedGenerator) or (allowed is not None and name not in allowed):
            continue
        planned = _planned(generator, generator.counted, public, nodes)
        if isinstance(planned, PrivacyPlan):
            reason = f"The edges of the dataset stay in parts: {name} counts them, with these parameters."
            return Choice(name, reason, generator.counted, planned)
        refusal = planned
    raise refusal


def _known(had: Container[str] | None) -> dict[str, Generator]:
    """Return the registered methods that can be run, by name."""
    known = registry.generators()
    return known if had is None else {name: each for name, each in known.items() if name in had}


def _planned(
    generator: Generator, params: Mapping[str, Any], public: PublicFacts, nodes: Mapping[str, int]
) -> PrivacyPlan | errors.NotAccepted:
    """Plan the request by the method, or return why it does not take it."""
    chosen = generator.Params.model_validate(dict(params))
    try:
        plan = generator.plan(chosen, public)
        require_room(generator, chosen, plan, public.schema, nodes)
        return plan
    except errors.NotAccepted as error:
        return error


def _preferred(public: PublicFacts, nodes: Mapping[str, int]) -> tuple[tuple[str, ...], str]:
    """Order the methods by preference, and say what speaks for that order."""
    relations = [public.schema.edge_type(name) for name in public.edge_types]
    if public.unit is Unit.NODE:
        if all(relation.homogeneous for relation in relations):
            return BETWEEN_PERSONS, "Unit node, and both ends of every relation are persons."
        return PERSONS, "Unit node, and one end of a relation is a person, the other is not."
    if any(relation.directed or not relation.homogeneous for relation in relations):
        if public.unit is Unit.EDGE and _mean_strength(public, relations, nodes) < WORTH:
            return TYPED_WEAK, (
                "A relation is directed or joins two node types, and at this epsilon noisy bits of pairs "
                "could not tell which are linked: sorted degrees of both sides come closest."
            )
        return TYPED, (
            "A relation is directed or joins two node types: the degrees of both sides are paid for, and at "
            "larger epsilons which pairs are linked, by noisy bits of them."
        )
    if public.unit is Unit.W_EVENT or public.tick is not None:
        return STREAM, (
            "A stream under w-event privacy: each step has a small part of epsilon, so what holds over "
            "several steps is read once and kept."
        )
    if public.unit is Unit.PAIR:
        return STREAM, (
            "Unit pair divides epsilon over all snapshots: what holds over several of them is read once and "
            "kept, where the method can."
        )
    largest = max(nodes[relation.source] for relation in relations)
    if public.schema.temporal:
        return TIMED, (
            "Every snapshot may spend the whole epsilon: its degrees come out almost exact, and noisy bits "
            "of its pairs say more than communities."
        )
    if largest <= SMALL_NODES and _sparse(relations, nodes):
        return SMALL, (
            f"A static graph of at most {SMALL_NODES} nodes: too few edges to find communities in, so a "
            "model of its degrees and triangles comes closest."
        )
    return SINGLE, "A static graph: a model of degrees, communities and triangles comes closest."


def _mean_strength(public: PublicFacts, relations: list[EdgeType], nodes: Mapping[str, int]) -> float:
    """Average over relations epsilon over the log odds against an edge, by declared bounds or a guess."""
    try:
        nano = cell_nano_epsilon(public)
    except errors.NotAccepted:
        return 0.0  # too little to divide: every method will say so
    strengths = [
        strength(Shape(each, nodes[each.source], nodes[each.target]), nano, edges_of_unit(public.unit, each))
        for each in relations
    ]
    return math.fsum(strengths) / len(strengths)


def _sparse(relations: list[EdgeType], nodes: Mapping[str, int]) -> bool:
    """Return False only where a declared bound allows more than a sparse graph's edges."""
    return all(
        relation.edge_bound is None or 2 * relation.edge_bound <= SPARSE_DEGREE * nodes[relation.source]
        for relation in relations
    )


def _flips(public: PublicFacts, nodes: Mapping[str, int]) -> tuple[str, Mapping[str, Any]] | None:
    """Say why randomised response, and its form, where it keeps nine edges of ten and adds hardly any."""
    try:
        epsilon = cell_nano_epsilon(public) / NANO
    except errors.NotAccepted:
        return None  # too little to divide: every method will say so
    relations = [public.schema.edge_type(name) for name in public.edge_types]
    budgets = [epsilon / edges_of_unit(public.unit, relation) for relation in relations]
    pairs = [_pairs(relation, nodes) for relation in relations]
    ends = [
        nodes[relation.source] + (0 if relation.homogeneous else nodes[relation.target])
        for relation in relations
    ]
    kept = min(_kept_symmetric(budget) for budget in budgets)
    false = max(
        slots * (1 - _kept_symmetric(b)) / max(n, 1) for slots, b, n in zip(pairs, budgets, ends, strict=True)
    )
    if kept > KEPT and false <= FALSE_EDGES_PER_NODE:
        return (
            f"At this epsilon randomised response keeps an edge with probability {_shown(kept)} and adds at "
            f"most {false:.2g} false edges for each node: closer than any model.",
            MappingProxyType({"form": "symmetric"}),
        )
    kept = min(
        _kept_balanced((1 - COUNT_SHARE) * budget, relation.edge_bound or 0, slots)
        for relation, budget, slots in zip(relations, budgets, pairs, strict=True)
    )
    if kept > KEPT:
        return (
            f"With the declared number of edges, randomised response keeps an edge with probability "
            f"{_shown(kept)} at this epsilon and adds as many as it drops: closer than any model.",
            MappingProxyType({"form": "balanced", "count_share": COUNT_SHARE}),
        )
    return None


def _pairs(relation: EdgeType, nodes: Mapping[str, int]) -> int:
    """Count the pairs that could be linked in one snapshot."""
    sources, targets = nodes[relation.source], nodes[relation.target]
    if not relation.homogeneous:
        return sources * targets
    return sources * (sources - 1) // (1 if relation.directed else 2)


def _kept_symmetric(epsilon: float) -> float:
    """Compute the probability e^eps / (1 + e^eps) that a pair is reported as it is."""
    return 1 / (1 + math.exp(-epsilon))


def _kept_balanced(epsilon: float, edges: int, slots: int) -> float:
    """Compute e^eps / (e^eps + (slots - edges) / edges), as edgerand balances its flips; 0 without edges."""
    if min(edges, slots) < 1:
        return 0.0
    ratio = max(1.0, (slots - edges) / edges)
    return 1 / (1 + ratio * math.exp(-min(epsilon, MAX_EXPONENT)))


def _shown(probability: float) -> str:
    """Write to three digits, never rounded up to certainty."""
    return f"{min(probability, 0.999):.3g}"
