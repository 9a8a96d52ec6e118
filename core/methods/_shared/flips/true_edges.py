"""Expected shares of true edges after flips: public.

They are of a release that follows noisy bits of single pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import NamedTuple

from core.graphs.schema import GraphSchema
from core.methods._shared.flips.worth import guessed_edges
from core.privacy.accounting.events import NANO, pure_nano_epsilon
from core.privacy.accounting.flips import WORD, Flips
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.queries import Shape
from core.privacy.units import edges_of_unit

UNEQUAL = 5.0
"""Standard deviation of the slots' log odds in a graph of very unequal degrees. Four relations of public
graphs lie between this and equal slots (``benchmarks/anchored_static.py``)."""
LEVELS = 41
_STEPS = 80
_LIMIT = 700.0


class TrueShare(NamedTuple):
    """The expected share of true edges among those released.

    ``low``: where all slots are alike; ``high``: where degrees are very unequal.
    """

    low: float
    high: float


def true_share(shape: Shape, nano_epsilon: int, edges: int | None = None) -> TrueShare:
    """Compute the expected share of true edges of a cell.

    It is sampled from its posterior.

    ``nano_epsilon``: of the symmetric flips of one slot; 0: none. ``edges``: the number of edges; the
    declared bound or a guess unless given. A function of its arguments: nothing of the graph is read. A slot
    of prior probability r that comes out as y is sampled with its posterior P(edge | y), so that the share is
    the sum of P(y) P(edge | y)^2 over slots and answers, over that of r.
    """
    slots = shape.slots
    if edges is None:
        edges = guessed_edges(shape.edge_type, shape.source_count, shape.target_count)
    if slots < 1 or edges < 1:
        return TrueShare(0.0, 0.0)
    density = min(edges / slots, 1.0)
    flip = 1 / (1 + math.exp(min(nano_epsilon / NANO, _LIMIT)))
    return _between(density, flip, flip)


def posterior_share(flips: Flips, edges: int, slots: int) -> TrueShare:
    """Compute :func:`true_share` of flips that need not be symmetric. Balanced ones are such."""
    add, drop = chances(flips)
    density = min(edges / slots, 1.0)
    return _between(density, add, drop)


def _between(density: float, add: float, drop: float) -> TrueShare:
    low, high = (_share(density, add, drop, spread) for spread in (0.0, UNEQUAL))
    return TrueShare(low, max(low, high))  # where both round to 1


def kept_share(flips: Flips, edges: int, slots: int) -> float:
    """Compute the expected share of true edges in flips' output.

    The release is what came out of the flips. m (1 - p_drop) true edges stay and (N - m) p_add false ones
    appear, of m edges in N slots.
    """
    add, drop = chances(flips)
    kept, added = edges * (1 - drop), (slots - edges) * add
    return kept / (kept + added) if kept + added else 0.0


def chances(flips: Flips) -> tuple[float, float]:
    """Return probabilities that absent edges appear and present ones vanish."""
    return flips.add / WORD, flips.drop / WORD


def kept_shares(
    plan: PrivacyPlan,
    schema: GraphSchema,
    nodes: Mapping[str, int],
    flips_for: Callable[[int, int, int, int], Flips],
) -> dict[str, tuple[float, float]]:
    """Compute :func:`kept_share` of every relation of a plan.

    Its cells are each granted one amount. ``flips_for(nano_epsilon, multiplicity, edges, slots)``: the flips
    of a cell that is granted so much, of which a unit may move ``multiplicity`` slots. ``nodes``: the sizes
    of the universes. The number of edges is the declared bound or a guess.
    """
    found = {}
    for allotment in plan.allotments:
        nano = pure_nano_epsilon(allotment.event)
        if nano is None or allotment.edge_type in found:
            continue  # an unprotected access, or a further step of a relation
        relation = schema.edge_type(allotment.edge_type)
        sizes = nodes[relation.source], nodes[relation.target]
        slots, edges = Shape(relation, *sizes).slots, guessed_edges(relation, *sizes)
        if min(slots, edges) > 0:
            flips = flips_for(nano, edges_of_unit(plan.unit, relation), edges, slots)
            share = kept_share(flips, edges, slots)
            found[allotment.edge_type] = share, share
    return found


def _share(density: float, add: float, drop: float, spread: float) -> float:
    """Compute the share where log odds are normal around what makes their mean probability ``density``."""
    if density >= 1:
        return 1.0
    # Midpoints of parts of equal probability: a mean over the normal law in few terms.
    levels = [NormalDist().inv_cdf((k + 0.5) / LEVELS) * spread for k in range(LEVELS)]
    low, high = -_LIMIT, _LIMIT
    # The mean probability rises with the middle of the log odds: halving finds it.
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if math.fsum(_chance(middle + level) for level in levels) < density * len(levels):
            low = middle
        else:
            high = middle
    found = 0.0
    for level in levels:
        prior = _chance(low + level)
        for kept, false in ((1 - drop, add), (drop, 1 - add)):  # a slot comes out present, or absent
            seen = prior * kept + (1 - prior) * false
            # P(y) P(edge | y)^2 = P(edge, y)^2 / P(y).
            found += (prior * kept) ** 2 / seen if seen else 0.0
    return min(1.0, found / len(levels) / density)


def _chance(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-_LIMIT, min(_LIMIT, log_odds))))
