"""What a DP-SGD training will cost, fixed before any data is read. No torch here: the api plans too.

One edge is one example (unit edge or event). The session that trains stands in :mod:`core.privacy.gradients`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from core.errors import InvalidInput, NotAccepted
from core.privacy import accountant
from core.privacy.events import (
    Event,
    GaussianEvent,
    PoissonSampled,
    Repeated,
    check_nano_epsilon,
    positive_fraction,
)

MAX_STEPS = 1_000_000
MIN_NOISE_MULTIPLIER = Fraction(1, 20)
MAX_NOISE_MULTIPLIER = 1024
GRAIN = 1000
"""A solved noise multiplier is a whole number of thousandths: coarse enough that every machine agrees."""


@dataclass(frozen=True)
class DpSgd:
    """The public facts of a training: each of ``steps`` steps keeps an edge with probability ``rate``.

    ``noise_multiplier`` is the noise's standard deviation over the clipping norm. Equal values, equal events.
    """

    rate: Fraction
    noise_multiplier: Fraction
    steps: int

    def __post_init__(self) -> None:
        rate = positive_fraction(self.rate, "rate")
        sigma = positive_fraction(self.noise_multiplier, "noise_multiplier")
        if rate > 1 or rate < Fraction(1, 10**9):
            raise InvalidInput("a sampling rate lies in [1e-9, 1]", field="rate")
        if not MIN_NOISE_MULTIPLIER <= sigma <= MAX_NOISE_MULTIPLIER:
            raise InvalidInput(
                f"a noise multiplier lies in [{float(MIN_NOISE_MULTIPLIER)}, {MAX_NOISE_MULTIPLIER}]",
                field="noise_multiplier",
            )
        if type(self.steps) is not int or not 1 <= self.steps <= MAX_STEPS:
            raise InvalidInput(f"steps is an integer in [1, {MAX_STEPS}]", field="steps")
        object.__setattr__(self, "rate", rate)
        object.__setattr__(self, "noise_multiplier", sigma)

    @property
    def event(self) -> Event:
        """What the training costs every cell whose edges it reads."""
        return Repeated(PoissonSampled(self.rate, GaussianEvent(self.noise_multiplier)), self.steps)

    @classmethod
    def within(
        cls,
        nano_epsilon: int,
        delta_atto: int,
        rate: Fraction | float,
        steps: int,
        besides: tuple[Event, ...] = (),
    ) -> DpSgd:
        """The training with the least noise that, together with ``besides``, costs a cell at most this."""
        sigma = noise_multiplier(nano_epsilon, delta_atto, rate, steps, besides)
        return cls(positive_fraction(rate, "rate"), sigma, steps)


def noise_multiplier(
    nano_epsilon: int,
    delta_atto: int,
    rate: Fraction | float,
    steps: int,
    besides: tuple[Event, ...] = (),
) -> Fraction:
    """The least noise multiplier, in thousandths, at which the training costs at most (epsilon, delta).

    ``besides`` are the other events of the same cell: all of them are composed at every Rényi order and
    converted once. Rounded up; about 20 evaluations of the accountant, remembered. Raises NotAccepted when no
    multiplier up to MAX_NOISE_MULTIPLIER will do.
    """
    exact = positive_fraction(rate, "rate")
    return _solved(check_nano_epsilon(nano_epsilon), delta_atto, exact, steps, tuple(besides))


@lru_cache(maxsize=256)
def _solved(
    nano_epsilon: int, delta_atto: int, rate: Fraction, steps: int, besides: tuple[Event, ...]
) -> Fraction:
    def enough(thousandths: int) -> bool:
        event = DpSgd(rate, Fraction(thousandths, GRAIN), steps).event
        curve = accountant.cell_curve((*besides, event), accountant.ORDERS)
        return accountant.nano_epsilon([float(x) for x in curve], delta_atto) <= nano_epsilon

    low, high = math.ceil(MIN_NOISE_MULTIPLIER * GRAIN) - 1, MAX_NOISE_MULTIPLIER * GRAIN
    if not enough(high):
        raise NotAccepted("no noise keeps this training to the epsilon and delta asked for", field="epsilon")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return Fraction(high, GRAIN)
