"""Balanced flips of a cell about a paid edge count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.methods._shared.degrees import counts
from core.methods._shared.frame.plan import divide
from core.privacy.accounting.flips import MOST_ABOUT, Flips
from core.privacy.session.private_graph import PrivateCell


@dataclass(frozen=True)
class Flipped:
    """The ends of a flipped cell, sorted.

    With them are the noisy number of edges and the probabilities that made it.
    """

    ends: tuple[np.ndarray, np.ndarray]
    edges: int
    flips: Flips


def balanced(cell: PrivateCell, nano_epsilon: int, count_share: float) -> Flipped:
    """Flip the cell with about as many edges appearing as vanishing.

    It costs ``nano_epsilon`` at most. Two reads that add up: the number of edges at ``count_share`` of it,
    and the flips about that number.
    """
    count, rest = divide(nano_epsilon, count_share)
    return balanced_about(cell, counts.noisy_count(cell, count), rest)


def balanced_about(cell: PrivateCell, edges: int, nano_epsilon: int) -> Flipped:
    """Flip the cell about ``edges``, which are public or paid for.

    It costs ``nano_epsilon`` at most. About no more than MOST_ABOUT, whatever was measured: no more may
    appear.
    """
    about = min(edges, MOST_ABOUT)
    flips = Flips.balanced(nano_epsilon // cell.multiplicity, about, cell.shape.slots)
    ends = cell.randomised_response(nano_epsilon=nano_epsilon, purpose="balanced flips", flips=flips)
    return Flipped(ends, edges, flips)
