"""What somebody can learn of one unit, from what they held before: a bound by the guarantee alone.

No attack is run and no graph is read. It holds for whoever knows everything else, and for each belief.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from core.reports.model import PublicPart

PRIORS = (0.01, 0.1, 0.5)
"""How likely somebody holds a claim before they read: a surmise, a suspicion, a coin flip."""

RAREST = 0.01
"""Under delta: of claims that would come up at least so often if they were wrong."""


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


def learned(public: PublicPart) -> list[Learned]:
    """Bound it for this release, for all that its account paid for, and for its whole budget.

    Empty without a guarantee. The account's rows need the charge, and end where it is exposed: then nothing
    bounds all releases together.
    """
    guarantee, charge = public.guarantee, public.charge
    if guarantee.kind == "none" or guarantee.epsilon is None:
        return []
    rows = [("This release", guarantee.epsilon, guarantee.delta or "0")]
    if charge is not None and not charge.exposed and charge.spent_epsilon and charge.capacity_epsilon:
        rows += [
            ("All that was paid for until now", charge.spent_epsilon, charge.spent_delta or "0"),
            ("Once the whole budget is spent", charge.capacity_epsilon, charge.capacity_delta or "0"),
        ]
    return [Learned(title, epsilon, delta, at(PRIORS, epsilon, delta)) for title, epsilon, delta in rows]


def at(priors: Sequence[float], epsilon: str, delta: str) -> tuple[float, ...]:
    """Bound it for each of the priors; epsilon and delta as exact decimals."""
    return tuple(posterior_at_most(each, float(Decimal(epsilon)), float(Decimal(delta))) for each in priors)
