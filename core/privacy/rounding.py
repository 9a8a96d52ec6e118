"""What floating point adds to a gradient by place. It is what a row's place in a batch may add, in steps of
the grid.

Computed of public facts: the noise, the device and the network's size. Nothing heavy is imported here, as the
guarantee prints what training allows for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from core.errors import PrivacyViolation
from core.privacy.limits import MAX_SIGMA

MAX_RADIUS = 2**20
"""The clipping norm in grid steps, at most."""

SLACK = 32
"""Grid steps that an edge's vector stays below the radius: what one other row's place may come to."""

ROUNDOFF = 2.0**-24
"""Of float32, the format of gradients: half the distance from 1 to the next number."""

LONGEST_CHAIN = 1024
"""Terms of all sums that follow one another on the way to a gradient's entry, together, at most: a network of
longer ones is refused (:func:`require_covered`)."""

MOST_CANCELLING = 8
"""The norm that a gradient would have if nothing in those sums cancelled, over the one it has, at most: what
networks of MOST_TENSORS stay below in tests/device. One of more is refused."""

MOST_TENSORS = 10
"""Tensors of parameters of the largest network that was measured."""


def place_slack(radius: int, device: str, values: int) -> int:
    """Bound how far a row's place moves its gradient. The bound is in grid steps; the place is one in a
    batch, the gradient has ``values`` entries; ``device``: cpu or cuda.

    A sum of n terms, in whatever order and with whatever parts, is off by at most g_n = n u / (1 - n u) times
    the sum of their sizes, u the unit roundoff (Higham 2002, section 4.2); sums that follow one another add
    their n, in both directions of the network. So two orders give gradients at most 2 g_n k R steps apart, k
    for what cancels, R the clipping norm in steps; the cut onto the grid moves every entry that crosses a
    whole number by one step more, which is the root of ``values`` in L2 where all of them do. On a CPU a
    place changes the order of a product's last rows alone, and about one step was measured: SLACK stands for
    all of it. On CUDA the order may change everywhere: the bound is taken as it is, for the longest chain and
    the most cancelling that are allowed for, and for every entry cut. It holds for products in float32 alone:
    see :func:`core.privacy.mechanisms.gradients.require_float32`.
    """
    # Less where the grid is coarse: 32 steps would be much of such a norm.
    cut = min(SLACK, radius // 512)
    if device == "cpu":
        return cut
    off = LONGEST_CHAIN * ROUNDOFF / (1 - LONGEST_CHAIN * ROUNDOFF)
    return math.ceil(2 * off * MOST_CANCELLING * radius) + max(cut, math.isqrt(values - 1) + 1)


def radius_of(noise_multiplier: Fraction) -> int:
    """Choose the clipping norm in grid steps. The grid is as fine as the noise's sampler takes."""
    return min(MAX_RADIUS, int(MAX_SIGMA / noise_multiplier))


def chain_of(shapes: Sequence[tuple[int, ...]]) -> int:
    """Count the terms of a network's sums. They are all those that follow one another in both directions of
    it, at most.

    ``shapes``: those of its tensors of parameters. A product with a matrix sums over one of its sides on the
    way there, and over the other on the way back; a vector is summed over, or added to what is.
    """
    return sum(sum(shape) if shape else 1 for shape in shapes)


def covered(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Tell whether :func:`place_slack` covers the network. It is one of that size off the CPU."""
    return chain_of(shapes) <= LONGEST_CHAIN and len(shapes) <= MOST_TENSORS


def require_covered(shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise PrivacyViolation for a network beyond the size that :func:`place_slack` allows for."""
    if (chain := chain_of(shapes)) > LONGEST_CHAIN:
        raise PrivacyViolation(
            f"the network's sums have up to {chain} terms one after another, and the rounding allowed for "
            f"is that of {LONGEST_CHAIN}: train a smaller network, or on a CPU"
        )
    if len(shapes) > MOST_TENSORS:
        raise PrivacyViolation(
            f"the network has {len(shapes)} tensors of parameters, and how far sums cancel is known for "
            f"{MOST_TENSORS}: train a smaller network, or on a CPU"
        )
