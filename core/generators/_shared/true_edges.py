"""How many released edges are true ones, where a release follows noisy bits of single pairs: public."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from core.generators._shared.worth import guessed_edges
from core.privacy.events import NANO
from core.privacy.queries import Shape, slot_count

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
    """The expected share of true edges in a cell that is drawn from its posterior.

    ``nano_epsilon``: of the symmetric flips of one slot; 0: none. ``edges``: the number of edges; the
    declared bound or a guess unless given. A function of its arguments: nothing of the graph is read. A
    slot of prior probability r that comes out as y is drawn with its posterior P(edge | y), so that the share
    is the sum of P(y) P(edge | y)^2 over slots and answers, over that of r.
    """
    slots = slot_count(shape)
    if edges is None:
        edges = guessed_edges(shape.edge_type, shape.source_count, shape.target_count)
    if slots < 1 or edges < 1:
        return TrueShare(0.0, 0.0)
    density = min(edges / slots, 1.0)
    flip = 1 / (1 + math.exp(min(nano_epsilon / NANO, _LIMIT)))
    return TrueShare(*(_share(density, flip, spread) for spread in (0.0, UNEQUAL)))


def _share(density: float, flip: float, spread: float) -> float:
    """The share where log odds are normal around what makes their mean probability ``density``."""
    if density >= 1:
        return 1.0
    levels = [NormalDist().inv_cdf((k + 0.5) / LEVELS) * spread for k in range(LEVELS)]
    low, high = -_LIMIT, _LIMIT
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if math.fsum(_chance(middle + level) for level in levels) < density * len(levels):
            low = middle
        else:
            high = middle
    found = 0.0
    for level in levels:
        prior = _chance(low + level)
        for kept in (1 - flip, flip):  # an edge comes out present, or absent
            seen = prior * kept + (1 - prior) * (1 - kept)
            found += (prior * kept) ** 2 / seen if seen else 0.0
    return min(1.0, found / len(levels) / density)


def _chance(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-_LIMIT, min(_LIMIT, log_odds))))
