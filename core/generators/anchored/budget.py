"""How one cell of ``anchored`` divides its epsilon: a public rule of epsilon, schema and universe sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from core.generators.anchored.grants import granted
from core.generators.anchored.params import AnchoredParams
from core.graphs.schema import GraphSchema
from core.privacy.events import NANO
from core.privacy.plan import PrivacyPlan
from core.privacy.queries import Shape, slot_count
from core.privacy.units import edges_of_unit

COUNT_SHARE = 0.03
"""Of what degrees get: the number of edges. The two sides share the rest; an undirected cell has one."""
EDGES_A_NODE = 2
"""Edges for each node that a cell is guessed to have, where no bound is declared. A wrong guess costs
accuracy alone."""
WORTH = 0.6
"""Evidence is asked for where epsilon is at least so many times the log odds against an edge. Below, it could
not tell true edges from false ones. Measured on ML-100k and DBLP, whose slots differ in odds by e^4."""
LEAST_SHARE, ENOUGH = 0.4, 1.25
"""Degrees get at least the first; more where evidence has the second, in log odds, for itself."""
FULL_EDGES = 2**15
"""Cells of up to so many edges get their full number of proposals; beyond, it grows with the square root."""


@dataclass(frozen=True)
class Shares:
    """What a cell pays for, in nano-epsilon; they sum to what it may spend. 0: not asked.

    ``source`` and ``target``: degrees of each side, the first alone for an undirected cell. ``evidence``:
    randomised response on all slots.
    """

    count: int
    source: int
    target: int
    evidence: int


def shares(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> Shares:
    """The division of one cell's ``nano_epsilon``, exact to the nano."""
    part = degree_share(shape, nano_epsilon, multiplicity, params)
    degrees = max(3, int(nano_epsilon * part))
    if nano_epsilon - degrees < multiplicity:  # no slot would have anything
        degrees = nano_epsilon
    count = max(1, int(degrees * COUNT_SHARE))
    source = degrees - count if shape.undirected else (degrees - count) // 2
    return Shares(count, source, degrees - count - source, nano_epsilon - degrees)


def degree_share(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> float:
    """The share that degrees get: the caller's, or the rule's for the evidence's strength.

    The strength is epsilon of one slot over the log odds against an edge in a slot, ln(slots / edges), with
    the declared bound on the cell's edges or else EDGES_A_NODE. From WORTH on evidence gets 1 - LEAST_SHARE;
    beyond ENOUGH times the log odds it needs no more. A functional relation with time has no chain, as its
    sources have one target each.
    """
    if params.evidence == "none" or (shape.edge_type.functional and shape.edge_type.temporal):
        return 1.0
    if params.degree_share is not None:
        return params.degree_share
    strength = nano_epsilon / multiplicity / NANO / log_odds(shape)
    return 1.0 if strength < WORTH else max(LEAST_SHARE, 1 - ENOUGH / strength)


def log_odds(shape: Shape) -> float:
    """ln(slots / edges) by the declared bound or the guess, at least 1. Public facts only."""
    slots = slot_count(shape)
    nodes = shape.source_count + (0 if shape.edge_type.homogeneous else shape.target_count)
    edges = shape.edge_type.edge_bound or EDGES_A_NODE * nodes
    return max(1.0, math.log(max(slots, 1) / max(edges, 1)))


def proposals_for(edges: int, per_edge: float) -> int:
    """The length of a cell's chain: a public rule of its paid number of edges, and a constant once that is
    known."""
    edges = max(edges, 0)
    return int(per_edge * min(edges, math.sqrt(edges * FULL_EDGES)))


def is_static(shape: Shape, params: AnchoredParams) -> bool:
    """True for a cell that the recipe of :mod:`core.generators.anchored.static` fits. A public rule."""
    from core.generators.anchored import static

    return not shape.edge_type.temporal and params.evidence != "none" and static.small(shape)


def lazy_relations(
    plan: PrivacyPlan, schema: GraphSchema, counts: Mapping[str, int], params: AnchoredParams
) -> frozenset[str]:
    """The relations whose evidence is evaluated lazily. Public facts only; O(cells).

    Those with the fewest expected additions are materialised, as long as all of them together stay within
    ``evidence.MAX_MATERIALISED``. ``counts``: the sizes of the node universes.
    """
    from core.generators.anchored.evidence import MAX_MATERIALISED, additions

    added: dict[str, int] = {}
    for name, grant in granted(plan).items():
        relation = schema.edge_type(name)
        shape = Shape(relation, counts[relation.source], counts[relation.target])
        times = edges_of_unit(plan.unit, relation)
        asked = shares(shape, grant.nano_epsilon, times, params).evidence
        if asked and not is_static(shape, params):
            added[name] = additions(shape, asked, multiplicity=times) * len(grant.steps)
    if params.evidence == "lazy":
        return frozenset(added)
    room, lazy = MAX_MATERIALISED, set()
    for name, more in sorted(added.items(), key=lambda each: (each[1], each[0])):
        room -= more
        if room < 0:
            lazy.add(name)
    return frozenset(lazy)
