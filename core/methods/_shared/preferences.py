"""A rule of public facts that ranks methods by relation.

Where the preferences come from: below epsilon of about ln(pairs / edges) no mechanism learns which pairs are
linked, and a model of degrees, communities and triangles is closest; above it, flipping single pairs keeps
nearly all edges and no model comes near. The limit is where nine edges of ten are kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from core import errors
from core.graphs.schema import EdgeType
from core.methods._shared.flips.worth import WORTH, strength
from core.methods._shared.frame.plan import cell_nano_epsilon
from core.methods.base import PublicFacts
from core.privacy.accounting.events import NANO
from core.privacy.queries import Shape
from core.privacy.units import Unit, edges_of_unit

KEPT = 0.9
"""Randomised response is chosen above this probability of an edge to be kept."""
FALSE_EDGES_PER_NODE = 0.1
"""Symmetric flips may add so many false edges for each node, on average."""
COUNT_SHARE = 0.1
"""What the balanced form pays for its number of edges, as its parameter ``count_share`` has it."""
SMALL_NODES = 1_000
"""Up to so many nodes a static graph is small: too few edges to find communities in at common epsilons."""
SMALL_SIDE, FEW_NODES = 2_000, 100
"""A directed or typed relation is small where each side has at most so many nodes; a type has few of them up
to the second. By leave-one-graph-out regret over the relations of fifteen graphs
(``benchmarks/relation_choice.py``)."""
SPARSE_DEGREE = 20
"""A small graph whose declared bound allows a mean degree above this is not sparse."""
MAX_EXPONENT = 700.0

FLIPS = "edgerand"
SINGLE = ("dcsbm", "psgraph", "privgraph", "ldpgen", "dgg", "dp_dk", "tmf", "lapgraph", "edgerand")
SMALL = ("dcsbm", "degree_triangle", *SINGLE[1:])
SMALL_PARAMS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"dcsbm": {"preset": "small"}})
"""What a method is set to where a static graph is small."""
NO_EVIDENCE: Mapping[str, Mapping[str, Any]] = MappingProxyType({"anchored": {"evidence": "none"}})
"""What it is set to where bits of pairs could not tell edges, and every node is to keep its own degrees."""
TIMED = ("anchored", *SINGLE)
STREAM = (
    *("keyframe", "psgraph", "anchored", "dcsbm", "dgg"),
    *("dp_dk", "privgraph", "tmf", "lapgraph", "edgerand"),
)
TYPED = ("anchored", "tmf", "edgerand", "lapgraph")
TYPED_WEAK = ("hetesdg", *TYPED)
"""Typed and directed graphs without time where epsilon is small beside the log odds against an edge. By
regret over ten graphs (``benchmarks/typed_choice.py``)."""
TYPED_SMALL = ("anchored", "hetesdg", *TYPED[1:])
"""The same of a small relation: other recipes make one side anonymous, and who has how many edges is lost."""
PERSONS, BETWEEN_PERSONS = ("profiles",), ("projection",)
"""What hides all edges of a node: of persons and things, and of persons and persons."""
SETTINGS = {SMALL: SMALL_PARAMS, TYPED_SMALL: NO_EVIDENCE}
WHO: Mapping[str, Mapping[str, Any]] = MappingProxyType({"dcsbm": {"preset": "who"}, FLIPS: {}})
"""What methods are set to where the right nodes are to have many edges; others know no such aim."""
COMMUNITIES: Mapping[str, Mapping[str, Any]] = MappingProxyType({"dcsbm": {"preset": "default"}, FLIPS: {}})
"""The same where communities are to be the right ones: labels are read, of small graphs too."""
PLANE: Mapping[str, Mapping[str, Any]] = MappingProxyType({"dcsbm": {"preset": "plane"}, FLIPS: {}})
"""The same where edges join near places, as of roads and grids."""
KEYFRAME = "keyframe"
MIXING: Mapping[str, Mapping[str, Any]] = MappingProxyType({"keyframe": {}, "dcsbm": {}, **NO_EVIDENCE})
"""What draws edges by protected attributes of nodes, and how it is set then."""
WITHOUT_DELTA = (
    "Without a delta noise grows with a person's edges, not with their root: a delta of 1e-6, and of at most "
    "1 over ten times the number of persons, divides it by two to four."
)


def preferred(public: PublicFacts, nodes: Mapping[str, int]) -> tuple[tuple[str, ...], str]:
    """Order the methods by preference, with the reason. It says what speaks for that order."""
    relations = [public.schema.edge_type(name) for name in public.edge_types]
    if public.unit is Unit.NODE:
        if all(relation.homogeneous for relation in relations):
            return BETWEEN_PERSONS, "Unit node, and both ends of every relation are persons."
        pure = "" if public.delta_atto else f" {WITHOUT_DELTA}"
        return PERSONS, f"Unit node, and one end of a relation is a person, the other is not.{pure}"
    if any(two_sided(relation) for relation in relations):
        if public.unit is Unit.EDGE and mean_strength(public, relations, nodes) < WORTH:
            sides = [sorted((nodes[each.source], nodes[each.target])) for each in relations]
            inside = any(each.homogeneous for each in relations)
            if not inside and all(least <= FEW_NODES for least, _ in sides):
                return TYPED, (
                    f"A relation to a type of at most {FEW_NODES} nodes: these have many edges each, and "
                    "degrees come through the noise."
                )
            if all(most <= SMALL_SIDE for _, most in sides):
                return TYPED_SMALL, (
                    f"A directed or typed relation of at most {SMALL_SIDE} nodes on each side, and at this "
                    "epsilon noisy bits of pairs could not tell which are linked: the degrees of both sides "
                    "are paid for, node by node."
                )
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


def two_sided(relation: EdgeType) -> bool:
    """Tell whether a relation has two sides. It is directed, or joins two node types."""
    return relation.directed or not relation.homogeneous


def mean_strength(public: PublicFacts, relations: list[EdgeType], nodes: Mapping[str, int]) -> float:
    """Average relations' epsilon over the log odds against an edge.

    The odds are by declared bounds or a guess.
    """
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


def flips_of(public: PublicFacts, nodes: Mapping[str, int]) -> tuple[str, Mapping[str, Any]] | None:
    """Say why randomised response suits, and in which form.

    It does where it keeps nine edges of ten and adds hardly any.
    """
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
    # The worst of the relations: each of them must keep its edges.
    kept = min(kept_symmetric(budget) for budget in budgets)
    false = max(
        slots * (1 - kept_symmetric(b)) / max(n, 1) for slots, b, n in zip(pairs, budgets, ends, strict=True)
    )
    if kept > KEPT and false <= FALSE_EDGES_PER_NODE:
        return (
            f"At this epsilon randomised response keeps an edge with probability {_shown(kept)} and adds at "
            f"most {false:.2g} false edges for each node: closer than any model.",
            MappingProxyType({"form": "symmetric"}),
        )
    kept = min(
        # The count is paid out of the same budget.
        kept_balanced((1 - COUNT_SHARE) * budget, relation.edge_bound or 0, slots)
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


def kept_symmetric(epsilon: float) -> float:
    """Compute the probability e^eps / (1 + e^eps) of truth. It is that a pair is reported as it is."""
    return 1 / (1 + math.exp(-epsilon))


def kept_balanced(epsilon: float, edges: int, slots: int) -> float:
    """Compute the share of edges that balanced flips keep.

    It is e^eps / (e^eps + (slots - edges) / edges), as edgerand balances its flips; 0 without edges.
    """
    if min(edges, slots) < 1:
        return 0.0
    # Never below one: of a graph more than half full flips are symmetric at best.
    ratio = max(1.0, (slots - edges) / edges)
    return 1 / (1 + ratio * math.exp(-min(epsilon, MAX_EXPONENT)))


def _shown(probability: float) -> str:
    """Write to three digits, never rounded up to certainty."""
    return f"{min(probability, 0.999):.3g}"
