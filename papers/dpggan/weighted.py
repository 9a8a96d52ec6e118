"""The expected share of true edges where pairs are sampled by their weights: public."""

from __future__ import annotations

import math

from core.methods._shared.flips.true_edges import chances
from core.privacy.accounting.flips import Flips

STEPS = 80
LIMIT = 700.0


def weighted_share(flips: Flips, edges: int, slots: int) -> float:
    """Compute the expected share of true edges under weighted sampling.

    As many slots as there are edges are sampled one by one, without replacement, a slot that came out present
    with weight w = (1 - p_drop) (1 - p_add) / (p_add p_drop). Each slot is sampled once its exponential clock
    has rung: with probability 1 - e^(-w t) or 1 - e^-t, for the t at which m are sampled in all. So the share
    is (1 - p_drop) (1 - e^(-w t)) + p_drop (1 - e^-t).
    """
    add, drop = chances(flips)
    if edges >= slots:
        return 1.0
    ratio = min((1 - drop) * (1 - add) / max(add * drop, 1e-300), 1e300)
    present = edges * (1 - drop) + (slots - edges) * add
    low, high = -LIMIT, LIMIT  # of ln t
    for _ in range(STEPS):
        middle = (low + high) / 2
        drawn = present * _rung(ratio, middle) + (slots - present) * _rung(1.0, middle)
        low, high = (middle, high) if drawn < edges else (low, middle)
    return (1 - drop) * _rung(ratio, low) + drop * _rung(1.0, low)


def _rung(weight: float, log_time: float) -> float:
    # 1 - e^-x without cancellation, where x is tiny.
    return -math.expm1(-math.exp(min(math.log(weight) + log_time, LIMIT)))
