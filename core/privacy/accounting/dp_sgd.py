"""What a DP-SGD training will cost, fixed before any data is read. No torch here: the api plans too.

One edge is one example (unit edge or event). The session that trains stands in
:mod:`core.privacy.mechanisms.gradients`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from core.errors import InvalidInput, NotAccepted
from core.privacy.accounting.accountant import Accountant, cell_nano_epsilon, loss_nano_epsilon
from core.privacy.accounting.events import (
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
UNKNOWN = 2**62
"""The cost where an accountant has nothing to say: more than any."""
GRAIN = 1000
"""A solved noise multiplier is a whole number of thousandths: coarse enough that every machine agrees."""


@dataclass(frozen=True)
class DpSgd:
    """The public facts of a training by DP-SGD. Each of ``steps`` steps keeps an edge with probability
    ``rate``.

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
        accountant: Accountant = Accountant.PRIVACY_LOSS,
    ) -> DpSgd:
        """Plan the least noise that fits (epsilon, delta). With it the training and ``besides`` cost a cell
        at most this."""
        sigma = noise_multiplier(nano_epsilon, delta_atto, rate, steps, besides, accountant)
        return cls(positive_fraction(rate, "rate"), sigma, steps)


def noise_multiplier(
    nano_epsilon: int,
    delta_atto: int,
    rate: Fraction | float,
    steps: int,
    besides: tuple[Event, ...] = (),
    accountant: Accountant = Accountant.PRIVACY_LOSS,
) -> Fraction:
    """Find the least noise multiplier for (epsilon, delta), in thousandths. It is the least at which the
    training costs at most that.

    ``besides`` are the other events of the same cell: all are composed and converted once, as ``accountant``
    does for the plan. Rounded up; about 20 evaluations by Rényi divergences and as few by losses as a secant
    takes, remembered. Raises NotAccepted when no multiplier up to MAX_NOISE_MULTIPLIER will do.
    """
    exact = positive_fraction(rate, "rate")
    return _solved(check_nano_epsilon(nano_epsilon), delta_atto, exact, steps, tuple(besides), accountant)


@lru_cache(maxsize=1024)
def _solved(
    nano_epsilon: int,
    delta_atto: int,
    rate: Fraction,
    steps: int,
    besides: tuple[Event, ...],
    accountant: Accountant,
) -> Fraction:
    def events(thousandths: int) -> tuple[Event, ...]:
        return (*besides, DpSgd(rate, Fraction(thousandths, GRAIN), steps).event)

    def by_curves(thousandths: int) -> int:
        return cell_nano_epsilon(events(thousandths), delta_atto, Accountant.RENYI)

    def by_losses(thousandths: int) -> int:
        return loss_nano_epsilon(events(thousandths), delta_atto) or UNKNOWN

    most = MAX_NOISE_MULTIPLIER * GRAIN
    if accountant is Accountant.RENYI:
        if by_curves(most) > nano_epsilon:
            raise NotAccepted(
                "no noise keeps this training to the epsilon and delta asked for", field="epsilon"
            )
        return Fraction(_least_enough(by_curves, nano_epsilon, most, 0.01), GRAIN)
    # Enough by either bound is enough, and losses rarely need less than four fifths of the curves' noise.
    try:
        high, near = (
            int(_solved(nano_epsilon, delta_atto, rate, steps, besides, Accountant.RENYI) * GRAIN),
            0.8,
        )
    except NotAccepted:
        if by_losses(most) > nano_epsilon:
            raise
        high, near = most, 0.01
    return Fraction(_least_enough(by_losses, nano_epsilon, high, near), GRAIN)


def _least_enough(cost: Callable[[int], int], most: int, high: int, near: float) -> int:
    """Find the least number of thousandths, MIN_NOISE_MULTIPLIER at least, whose cost is ``most`` or less.

    ``cost`` falls, and ``high`` is known to be enough. Goes down by factors of ``near`` until one is too
    little; in between it follows the chord of the costs, and halves every third time.
    """
    least = math.ceil(MIN_NOISE_MULTIPLIER * GRAIN)
    low, costs, turn = least - 1, {high: cost(high)}, 0
    while high - low > 1:
        if low not in costs:
            middle = int(high * near)
        # Halved every third time: chords may creep towards the crossing from one side only.
        elif turn % 3 == 2 or not costs[high] <= most < costs[low]:
            middle = (low + high) // 2
        else:
            # Costs fall steeply with the noise: their logarithms lie nearer to a line.
            part = math.log(costs[low] / most) / math.log(costs[low] / costs[high])
            middle = low + round(part * (high - low))
        turn += low in costs
        # Strictly inside, so that each turn narrows the interval.
        middle = min(max(middle, low + 1), high - 1)
        costs[middle] = cost(middle)
        low, high = (low, middle) if costs[middle] <= most else (middle, high)
    return high
