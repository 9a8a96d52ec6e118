"""Compose the costs of events into (epsilon, delta). Ways are Rényi divergences, or privacy losses too.

Composition is adaptive throughout. Rényi divergences, dp-accounting's, add at every order, and the order is
minimised over a grid that is fixed before any data is read (Mironov 2017; Canonne, Kamath, Steinke 2020,
Proposition 12). Losses are convolved (:mod:`core.privacy.accounting.losses`). Each bound holds for the whole
of a composition, so that the lesser one does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction

from core.errors import InvalidInput
from core.late import late
from core.orders import ORDERS
from core.privacy.accounting.events import NANO, Event, parts, pure_nano_epsilon

SLACK = 1e-11
"""Relative slack of float sums. Costs are raised by it, comparisons tolerate a tenth of it: paid for."""

FINEST = 2**10
"""Least standard deviation of Gaussian noise in steps of its grid, for a plan that is counted by losses."""

# With NumPy, and dp-accounting where there is noise that it bounds: what only names events needs neither.
cell_curve = late("core.privacy.accounting.divergences:cell_curve")
counted_curve = late("core.privacy.accounting.divergences:counted_curve")
_loss_epsilon = late("core.privacy.accounting.losses:epsilon")
_compute_epsilon = late("dp_accounting.rdp:compute_epsilon")


class Accountant(StrEnum):
    """How a plan's events become (epsilon, delta), and how its meter holds a transcript to the plan.

    RENYI: curves are compared and converted. PRIVACY_LOSS: the lesser of that conversion and of the privacy
    losses'; the meter counts events. A plan that names none is older than the choice: RENYI.
    """

    RENYI = "renyi"
    PRIVACY_LOSS = "privacy-loss"


def cell_nano_epsilon(events: Sequence[Event], delta_atto: int, accountant: Accountant) -> int:
    """Price one cell's events, rounded up. It is their sum where all are pure, else converted at delta."""
    # Pure costs add up exactly: a conversion at delta would only blur them.
    if all(pure_nano_epsilon(event) is not None for event in events):
        return sum(pure_nano_epsilon(event) or 0 for event in events)
    by_curves = nano_epsilon([float(x) for x in cell_curve(events, ORDERS)], delta_atto)
    if accountant is Accountant.PRIVACY_LOSS:
        # Each bounds the whole composition, so that the lesser
        # holds; where losses say nothing, the curves do.
        return min(by_curves, loss_nano_epsilon(events, delta_atto) or by_curves)
    return by_curves


def loss_nano_epsilon(events: Sequence[Event], delta_atto: int) -> int | None:
    """Convert the composed privacy losses to epsilon in nano, rounded up. None where losses say nothing."""
    pure, counts = together(events)
    # The float of delta may have been rounded up: one step down asks for more.
    epsilon = _loss_epsilon(pure, counts, math.nextafter(delta_atto / 1e18, 0.0))
    # One nano at least: an amount of 0 would claim nothing.
    return max(1, ceil_nano(epsilon)) if math.isfinite(epsilon) else None


def together(events: Sequence[Event]) -> tuple[int, Counter[Event]]:
    """Add up pure nano-epsilon, and count the other parts. The latter by how often each happens."""
    split = [parts(event) for event in events]
    return sum(nano for nano, _ in split), sum((each for _, each in split), Counter())


def ceil_nano(value: float) -> int:
    """Convert ``value`` to nano, rounded up. It lies past any float error of the sums; InvalidInput if not
    finite."""
    if not math.isfinite(value) or value < 0:
        raise InvalidInput("a cost must be finite", field="allotments")
    # In fractions: a float product could round the slack away.
    return math.ceil(Fraction(value) * (1 + Fraction(SLACK)) * NANO)


def nano_epsilon(curve: Sequence[float], delta_atto: int) -> int:
    """Convert a Rényi curve to (epsilon, delta)-DP. Returned is the epsilon in nano, rounded up.

    ``delta_atto`` is in units of 1e-18 and positive. Errors: InvalidInput when no order yields a finite
    epsilon.
    """
    if type(delta_atto) is not int or not 0 < delta_atto < 10**18:
        raise InvalidInput("delta lies strictly between 0 and 1", field="delta_atto")
    usable = [(a, x) for a, x in zip(ORDERS, curve, strict=True) if math.isfinite(x)]
    if not usable:
        raise InvalidInput("no Rényi order yields a finite epsilon", field="allotments")
    grid, values = zip(*usable, strict=True)
    # delta rounds down, epsilon up
    epsilon, _ = _compute_epsilon(list(grid), list(values), math.nextafter(delta_atto / 1e18, 0.0))
    return max(1, ceil_nano(float(epsilon)))
