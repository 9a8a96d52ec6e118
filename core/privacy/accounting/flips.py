"""Coins over the slots of a cell, and their cost. Their two probabilities are exact to a unit of 2^-64.

Light: a plan asks for it, and :mod:`core.privacy.mechanisms.randomised_response` throws the coins.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext

from core.errors import InvalidInput
from core.privacy.accounting.events import NANO, check_nano_epsilon
from core.privacy.queries import Shape

WORD = 2**64
MAX_ADDITIONS = 2**28
"""Most expected additions of one call; 4 GiB of ends."""
MOST_ABOUT = MAX_ADDITIONS - 1
"""About so many edges slots may be flipped: no more are expected to appear, probabilities rounded up."""

_DIGITS = 60  # decimal digits of logarithms and exponentials; a last digit is never what is printed


@dataclass(frozen=True)
class Flips:
    """The two probabilities of a coin, in units of 2^-64. They are ``add`` of an absent edge to appear,
    ``drop`` of a present one to go.

    Raises InvalidInput unless 0 < add, 0 < drop and add + drop <= 2^64: beyond that a coin would tell more by
    being inverted.
    """

    add: int
    drop: int

    def __post_init__(self) -> None:
        if type(self.add) is not int or type(self.drop) is not int or self.add < 1 or self.drop < 1:
            raise InvalidInput("flip probabilities are positive integers over 2^64", field="flips")
        if self.add + self.drop > WORD:
            raise InvalidInput("flip probabilities add up to at most 1", field="flips")

    @classmethod
    def symmetric(cls, nano_epsilon: int) -> Flips:
        """Set p_add = p_drop = 1 / (1 + e^eps). Both are rounded up: the true epsilon is at most the stated
        one."""
        with localcontext(prec=_DIGITS):
            share = 1 / (1 + _exp(check_nano_epsilon(nano_epsilon)))
            # At most one half each, since the two add up to at most 1.
            both = min(WORD // 2, _over_word(share))
        return cls(both, both)

    @classmethod
    def balanced(cls, nano_epsilon: int, edges: int, slots: int) -> Flips:
        """Let as many edges appear as vanish, on average. There are ``edges`` slots taken (THEPUFF, Eq. 4).

        With r = (slots - edges) / edges: p_add = 1 / (e^eps + r), p_drop = r / (e^eps + r), both rounded up;
        the symmetric form above half of the slots. ``edges`` must be public or already paid for, and is held
        within 1..slots.
        """
        edges = min(max(int(edges), 1), slots)
        # With r below 1 the second ratio, (e^eps + r - 1) / r, would exceed e^eps.
        if 2 * edges >= slots:
            return cls.symmetric(nano_epsilon)
        with localcontext(prec=_DIGITS):
            ratio = Decimal(slots - edges) / edges
            whole = _exp(check_nano_epsilon(nano_epsilon)) + ratio
            drop = _over_word(ratio / whole)
            # Where rounding up makes their sum exceed 1, it is cut to 1: such a coin reveals nothing.
            add = min(_over_word(1 / whole), WORD - drop)
        return cls(add, drop)

    @property
    def nano_epsilon(self) -> int:
        """Compute the epsilon of the coin in nano, rounded up. It is max(ln((1 - p_drop) / p_add), ln((1 -
        p_add) / p_drop)), and at least 1.

        From the actual probabilities. Exact to 60 digits before it is rounded up.
        """
        with localcontext(prec=_DIGITS):
            ratios = (Decimal(WORD - self.drop) / self.add, Decimal(WORD - self.add) / self.drop)
            # Past the last digit of the logarithm, so that rounding up never ends below the true value.
            nano = max(ratios).ln() * NANO + Decimal("1e-40")
            return max(1, int(nano.to_integral_value(ROUND_CEILING)))


def _exp(nano_epsilon: int) -> Decimal:
    return (Decimal(nano_epsilon) / NANO).exp()


def _over_word(share: Decimal) -> int:
    """Convert ``share`` to units of 2^-64, rounded up past any error of the decimals."""
    return int((share * WORD * (1 + Decimal("1e-50"))).to_integral_value(ROUND_CEILING))


def check_size(shape: Shape, flips: Flips) -> None:
    """Raise InvalidInput when more than MAX_ADDITIONS edges are expected to appear. Public facts only."""
    if shape.slots * flips.add > MAX_ADDITIONS * WORD:
        raise InvalidInput(f"more than {MAX_ADDITIONS} edges would appear at this epsilon", field="epsilon")
