"""The division of one cell's epsilon: a public rule. It reads epsilon, schema and universe sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from core.graphs.schema import EdgeType
from core.methods._shared.flips.worth import WORTH, strength
from core.methods._shared.relations.params import AnchoredParams
from core.methods._shared.relations.small import small
from core.privacy.queries import Shape

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
    """A cell's budget by read, in nano-epsilon.

    They sum to what it may spend. 0: not requested.

    ``source`` and ``target``: degrees of each side, only the first for an undirected cell. ``tail``: degree
    tails of an undirected cell, or more for its degrees. ``evidence``: randomised response on all slots.
    """

    count: int
    source: int
    target: int
    evidence: int
    tail: int = 0


@dataclass(frozen=True)
class StaticShares:
    """A cell's budget under the static recipe, in nano-epsilon.

    They sum to what it may spend. 0: not requested. ``columns``: degrees of one side; ``sizes``: how many
    nodes of the other have which degree.
    """

    columns: int
    sizes: int
    evidence: int


def static_shares(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> StaticShares:
    """Divide one cell's ``nano_epsilon`` where :func:`is_static`. It is exact to the nano."""
    degrees, left = _divided(shape, nano_epsilon, multiplicity, params)
    sizes = 0 if shape.edge_type.functional else max(1, int(degrees * SIZES_PART))
    return StaticShares(degrees - sizes, sizes, left)


def shares(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> Shares:
    """Divide one cell's ``nano_epsilon``, exact to the nano."""
    degrees, left = _divided(shape, nano_epsilon, multiplicity, params)
    count = max(1, int(degrees * COUNT_SHARE))
    if shape.undirected:
        tail = int((degrees - count) * params.tail_share) if params.deconvolve else 0
        return Shares(count, degrees - count - tail, 0, left, tail)
    source = (degrees - count) // 2
    return Shares(count, source, degrees - count - source, left)


def evidence_of(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> int:
    """Compute a cell's spending on evidence, in nano-epsilon. It is by its recipe. 0: it asks for none."""
    return _divided(shape, nano_epsilon, multiplicity, params)[1]


def _divided(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> tuple[int, int]:
    """Divide nano-epsilon between degrees and evidence."""
    # A nano at least for the count and for each of two sides.
    degrees = max(3, int(nano_epsilon * degree_share(shape, nano_epsilon, multiplicity, params)))
    if nano_epsilon - degrees < multiplicity:  # no slot would have anything
        degrees = nano_epsilon
    return degrees, nano_epsilon - degrees


def degree_share(shape: Shape, nano_epsilon: int, multiplicity: int, params: AnchoredParams) -> float:
    """Return the share of degrees.

    It is the caller's, or the rule's for the evidence's strength. The strength is that of
    :mod:`core.methods._shared.flips.worth`. From WORTH on evidence gets 1 - LEAST_SHARE; beyond ENOUGH times
    the log odds it needs no more. The static recipe has a fixed share from WORTH on. A functional relation
    with time has no chain, as its sources have one target each.
    """
    if params.evidence == "none" or targets_once(shape.edge_type):
        return 1.0
    if params.degree_share is not None:
        return params.degree_share
    epsilon_over_odds = strength(shape, nano_epsilon, multiplicity)
    if epsilon_over_odds < WORTH:
        return 1.0
    if is_static(shape, params):
        return STATIC_FUNCTIONAL_SHARE if shape.edge_type.functional else STATIC_SHARE
    # Evidence keeps ENOUGH times its log odds, however great epsilon is; all the rest is the degrees'.
    return max(LEAST_SHARE, 1 - ENOUGH / epsilon_over_odds)


def targets_once(relation: EdgeType) -> bool:
    """Tell whether the relation is functional and has time.

    Its degrees then leave a chain nothing to swap.
    """
    return relation.functional and relation.temporal


def proposals_for(edges: int, per_edge: float) -> int:
    """Compute the length of a cell's chain.

    A public rule of its paid number of edges, and a constant once that is known.
    """
    edges = max(edges, 0)
    return int(per_edge * min(edges, math.sqrt(edges * FULL_EDGES)))


def is_static(shape: Shape, params: AnchoredParams) -> bool:
    """Tell whether the static recipe fits the cell.

    It is :mod:`core.methods._shared.relations.static`. A public rule. It looks at every slot of its evidence,
    so that lazy evidence goes by the chain, as in any other cell. So does a directed relation inside one
    type: the recipe's rows are anonymous, and there they are nodes whose in-degrees are kept.
    """
    relation = shape.edge_type
    inside = relation.homogeneous and not relation.functional
    return not relation.temporal and params.evidence not in ("none", "lazy") and not inside and small(shape)
