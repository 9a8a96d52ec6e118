"""Thresholds of a noisy adjacency matrix. Above one as many cells lie as there are edges."""

from __future__ import annotations

from decimal import Decimal, localcontext

from core.privacy.accounting.events import NANO
from core.privacy.accounting.flips import WORD, Flips


def threshold_flips(nano_epsilon: int, edges: int, slots: int) -> Flips:
    """Compute the flip probabilities of TmF's threshold.

    A cell fails or passes it with them; both are rounded up; see ``tmf``.

    ``edges`` is public or paid for, and held within 1..slots - 1. Costs at most ``nano_epsilon``: the true
    ratios are at most e^epsilon1, and rounding up makes both smaller.
    """
    edges = min(max(edges, 1), max(slots - 1, 1))
    if 2 * edges > slots:
        # The noise is symmetric: filtering the complement at its own threshold swaps the two errors.
        mirrored = _sparse_flips(nano_epsilon, max(slots - edges, 1), slots)
        return Flips(add=mirrored.drop, drop=mirrored.add)
    return _sparse_flips(nano_epsilon, edges, slots)


def _sparse_flips(nano_epsilon: int, edges: int, slots: int) -> Flips:
    """Do so for at most half of the slots taken: the threshold is at least 1/2."""
    # Far more digits than the 64 bits of a probability: what is rounded up below stays an upper bound.
    with localcontext(prec=60):
        epsilon, ratio = Decimal(nano_epsilon) / NANO, Decimal(max(slots - edges, edges)) / edges
        if epsilon <= ratio.ln():
            return Flips.balanced(nano_epsilon, edges, slots)
        # p_drop = e^(-eps (1 - t)) / 2 and p_add = e^(-eps t) / 2 at t = 1/2 + ln(ratio) / (2 eps)
        half = (-epsilon / 2).exp() / 2
        # Rounded up, never down: noise is a little more than requested, and the ratio e^epsilon is kept.
        drop, add = (int(half * factor * WORD) + 1 for factor in (ratio.sqrt(), 1 / ratio.sqrt()))
    return Flips(min(add, WORD // 2), min(drop, WORD // 2))
