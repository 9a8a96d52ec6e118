"""The bi-level split of epsilon (Eq. 24 and 25), on a noisy number of edges: no read that is not paid for.

Two losses stand against each other: the part of the histogram's variance that is noise, and the nodes whose
degree (or second hop) the rest of epsilon leaves unclear. The paper moves one of the two by gradient descent
while it holds the other, in turn; so it is done here, with the sum held to epsilon after every turn. Both
losses are known functions of epsilon, of the noisy number of edges and of public sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

TURNS, RATE = 200, 0.05
LEAST = 0.05
"""Neither side gets less than this share."""


def histogram_share(epsilon: float, entry: float, degree: float, nodes: int, sequences: int) -> float:
    """Compute the histogram's share of ``epsilon``, LEAST..1 - LEAST. A pure function.

    ``entry``: of the histogram, on average; ``sequences``: how many degree sequences share the rest, of
    ``nodes`` nodes of ``degree`` on average. Without any it is the second hop, a table like the first.
    """
    cell = max(entry, 0.0) + 1e-6

    def first(own: float) -> float:
        variance = _variance(own * epsilon)
        return variance / (variance + cell)

    def rest(own: float) -> float:
        if not sequences:
            return first(own)
        unclear = (degree + 1) / math.tanh(max(own * epsilon / sequences, 1e-9) / 2) ** 2
        return unclear / (unclear + nodes)

    table, other = 0.5, 0.5
    for _ in range(TURNS):
        table -= RATE * _slope(first, table)
        other -= RATE * _slope(rest, other)
        total = table + other
        table, other = table / total, other / total
        table = min(max(table, LEAST), 1 - LEAST)
        other = 1 - table
    return table


def _slope(loss: Callable[[float], float], at: float) -> float:
    step = 1e-4
    return float(loss(at + step) - loss(max(at - step, 1e-6))) / (2 * step)


def _variance(epsilon: float) -> float:
    half = math.sinh(max(epsilon, 1e-9) / 2)
    return 1 / (2 * half * half)  # of discrete Laplace noise of scale 1 / epsilon
