"""How one cell of ``anchored`` divides its epsilon: a public rule of epsilon, schema and universe sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from core import errors
from core.generators._shared.worth import WORTH, strength
from core.generators.anchored.grants import granted
from core.generators.anchored.params import AnchoredParams
from core.generators.anchored.small import small
from core.graphs.schema import EdgeType, GraphSchema
from core.privacy.plan import PrivacyPlan
from core.privacy.queries import Shape
from core.privacy.units import edges_of_unit

COUNT_SHARE = 0.03
"""Of what degrees get: the number of edges. The two sides share the rest; an undirected cell has one."""
LEAST_SHARE, ENOUGH = 0.4, 1.25
"""Degrees get at least the first; more where evidence has the second, in log odds, for itself."""
STATIC_SHARE, STATIC_FUNCTIONAL_SHARE = 0.25, 0.15
"""Of the degrees of a small relation without time, where evidence is asked for; a functional one has no
sizes to read."""
SIZES_PART = 0.4
"""Of what such degrees get: how many rows have how many columns."""
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


@dataclass(frozen=True)
class StaticShares:
    """What a cell of the static recipe pays for, in nano-epsilon; they sum to what it may spend. 0: not
    asked. ``columns``: degrees of one side; ``sizes``: how many nodes of the other have which degree."""

    columns: int
    sizes: int
    evidence: int


def static_shares(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> StaticShares:
    """The division of one cell's ``nano_epsilon`` where :func:`is_static`, exact to the nano."""
    degrees, left = _divided(shape, nano_epsilon, multiplicity, params)
    sizes = 0 if shape.edge_type.functional else max(1, int(degrees * SIZES_PART))
    return StaticShares(degrees - sizes, sizes, left)


def shares(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> Shares:
    """The division of one cell's ``nano_epsilon``, exact to the nano."""
    degrees, left = _divided(shape, nano_epsilon, multiplicity, params)
    count = max(1, int(degrees * COUNT_SHARE))
    source = degrees - count if shape.undirected else (degrees - count) // 2
    return Shares(count, source, degrees - count - source, left)


def evidence_of(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> int:
    """What a cell pays for evidence, by whichever recipe fits it, in nano-epsilon. 0: it asks for none."""
    return _divided(shape, nano_epsilon, multiplicity, params)[1]


def _divided(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> tuple[int, int]:
    """The nano-epsilon of degrees, and of evidence."""
    degrees = max(3, int(nano_epsilon * degree_share(shape, nano_epsilon, multiplicity, params)))
    if nano_epsilon - degrees < multiplicity:  # no slot would have anything
        degrees = nano_epsilon
    return degrees, nano_epsilon - degrees


def degree_share(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> float:
    """The share that degrees get: the caller's, or the rule's for the evidence's strength.

    The strength is that of :mod:`core.generators._shared.worth`. From WORTH on evidence gets 1 - LEAST_SHARE;
    beyond ENOUGH times the log odds it needs no more. The static recipe has a fixed share from WORTH on. A
    functional relation with time has no chain, as its sources have one target each.
    """
    if params.evidence == "none" or _targets_once(shape.edge_type):
        return 1.0
    if params.degree_share is not None:
        return params.degree_share
    epsilon_over_odds = strength(shape, nano_epsilon, multiplicity)
    if epsilon_over_odds < WORTH:
        return 1.0
    if is_static(shape, params):
        return STATIC_FUNCTIONAL_SHARE if shape.edge_type.functional else STATIC_SHARE
    return max(LEAST_SHARE, 1 - ENOUGH / epsilon_over_odds)


def _targets_once(relation: EdgeType) -> bool:
    """True for a functional relation with time: its degrees leave a chain nothing to swap."""
    return relation.functional and relation.temporal


def proposals_for(edges: int, per_edge: float) -> int:
    """The length of a cell's chain: a public rule of its paid number of edges, and a constant once that is
    known."""
    edges = max(edges, 0)
    return int(per_edge * min(edges, math.sqrt(edges * FULL_EDGES)))


def is_static(shape: Shape, params: AnchoredParams) -> bool:
    """True for a cell that the recipe of :mod:`core.generators.anchored.static` fits. A public rule.

    It looks at every slot of its evidence, so that lazy evidence goes by the chain, as in any other cell.
    """
    return not shape.edge_type.temporal and params.evidence not in ("none", "lazy") and small(shape)


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
        asked = evidence_of(shape, grant.nano_epsilon, times, params)
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


def evidence_asked(
    plan: PrivacyPlan, schema: GraphSchema, counts: Mapping[str, int], params: AnchoredParams
) -> dict[str, int]:
    """What one slot's bit has, in nano-epsilon, by relation; those that ask for none are left out.
    ``counts``: the sizes of the node universes. O(relations)."""
    found = {}
    for name, grant in granted(plan).items():
        relation = schema.edge_type(name)
        shape = Shape(relation, counts[relation.source], counts[relation.target])
        times = edges_of_unit(plan.unit, relation)
        found[name] = evidence_of(shape, grant.nano_epsilon, times, params) // times
    return {name: nano for name, nano in found.items() if nano}


def require_heeded(
    plan: PrivacyPlan, schema: GraphSchema, counts: Mapping[str, int], params: AnchoredParams
) -> None:
    """NotAccepted, with the field to mend, where a parameter was set that could change nothing in any
    relation. Public facts only; ``counts``: the sizes of the node universes. O(relations)."""
    grants = granted(plan)
    free = {name for name in grants if not _targets_once(schema.edge_type(name))}
    asked = evidence_asked(plan, schema, counts, params)
    if params.degree_share not in (None, 1.0) and (params.evidence == "none" or not free):
        why = "evidence=none" if free else "a functional relation with time"
        raise errors.NotAccepted(
            f"{why} leaves degrees everything; leave degree_share out", field="degree_share"
        )
    if params.evidence in ("lazy", "materialised") and not asked:
        raise errors.NotAccepted(
            "no relation asks for evidence at this epsilon, so that there is none to keep "
            f"{params.evidence}; a degree_share below 1 asks for it all the same",
            field="evidence",
        )
    swaps = asked or any(grant.directions is not None for grant in grants.values())
    if params.proposals_per_edge != AnchoredParams().proposals_per_edge and not swaps:
        raise errors.NotAccepted(
            "no relation asks for evidence or directions at this epsilon, so that swaps have nothing to "
            "follow; a degree_share below 1 asks for evidence all the same",
            field="proposals_per_edge",
        )
