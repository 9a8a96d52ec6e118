"""What somebody can learn of one unit. They learn it from a release, and from all that its account pays
for."""

from __future__ import annotations

from core.reports.model import PublicPart
from graphveil.risk import PRIORS, RAREST, SPENT, THIS, WHOLE, Learned, at, posterior_at_most, rows

__all__ = ["PRIORS", "RAREST", "Learned", "at", "learned", "posterior_at_most"]


def learned(public: PublicPart) -> list[Learned]:
    """Bound what can be learned of a unit. It is bounded for this release, for all that its account paid for,
    and for its whole budget.

    Empty without a guarantee. The account's rows need the charge, and end where it is exposed: then nothing
    bounds all releases together.
    """
    guarantee, charge = public.guarantee, public.charge
    if guarantee.kind == "none" or guarantee.epsilon is None:
        return []
    costs = [(THIS, guarantee.epsilon, guarantee.delta)]
    if charge is not None and not charge.exposed and charge.spent_epsilon and charge.capacity_epsilon:
        costs += [
            (SPENT, charge.spent_epsilon, charge.spent_delta),
            (WHOLE, charge.capacity_epsilon, charge.capacity_delta),
        ]
    return rows(costs)
