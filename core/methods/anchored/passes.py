"""The passes that measure a relation's directions. Their number, their noise and what they cost."""

from __future__ import annotations

from fractions import Fraction

from core.privacy.accounting import dp_sgd
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.events import Event, GaussianEvent, Repeated

DIRECTIONS = "directions of a relation"
"""The purpose of a plan's allotments that pay for them."""
PASSES = 4


def noise_multiplier(
    nano_epsilon: int, delta_atto: int, accountant: Accountant, besides: tuple[Event, ...] = ()
) -> Fraction:
    """Solve for the least noise of a pass. At it all of them, and ``besides``, cost a cell at most this."""
    return dp_sgd.noise_multiplier(nano_epsilon, delta_atto, Fraction(1), PASSES, besides, accountant)


def event(multiplier: Fraction) -> Event:
    """Return the cost of measuring directions to every cell.

    That of :func:`core.methods.anchored.spectral.measure` goes to each that it reads.
    """
    return Repeated(GaussianEvent(multiplier), PASSES)
