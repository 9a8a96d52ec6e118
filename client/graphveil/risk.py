"""What somebody can learn of one unit, from what they held before: a bound by the guarantee alone.

No attack is run and no graph is read. It holds for whoever knows everything else, and for each belief.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

PRIORS = (0.01, 0.1, 0.5)
"""How likely somebody holds a claim before they read: a surmise, a suspicion, a coin flip."""

RAREST = 0.01
"""Under delta: of claims that would come up at least so often if they were wrong."""

THIS, SPENT, WHOLE = "This release", "All that was paid for until now", "Once the whole budget is spent"


@dataclass(frozen=True)
class Learned:
    """What releases of (epsilon, delta) together leave: how likely a claim can become, for each prior."""

    title: str
    epsilon: str
    delta: str
    after: tuple[float, ...]


def posterior_at_most(prior: float, epsilon: float, delta: float) -> float:
    """Bound how likely a claim about one unit can become that was ``prior`` likely before.

    A claim is made on a set S of releases, and P[S] <= e^eps P'[S] + delta: the odds grow by at most
    e^eps + delta / P'[S], with P'[S] at least ``RAREST`` unless delta is 0, where it does not matter.
    """
    falling = math.exp(-epsilon)
    raised = prior * (1 + delta / RAREST * falling)
    if not raised:
        return 0.0  # what was held impossible stays so, whatever epsilon is
    return min(1.0, raised / ((1 - prior) * falling + raised))


def rows(costs: Iterable[tuple[str, str | None, str | None]]) -> list[Learned]:
    """Bound it for each title with its epsilon and delta, exact decimals; no row without an epsilon."""
    return [
        Learned(title, epsilon, delta or "0", at(PRIORS, epsilon, delta or "0"))
        for title, epsilon, delta in costs
        if epsilon is not None
    ]


def at(priors: Sequence[float], epsilon: str, delta: str) -> tuple[float, ...]:
    """Bound it for each of the priors; epsilon and delta as exact decimals."""
    return tuple(posterior_at_most(each, float(Decimal(epsilon)), float(Decimal(delta))) for each in priors)
