"""A cell's evidence of its own edges.

It is symmetric randomised response on every slot.

Evidence is columns. Materialised: ``y`` int64, the sorted keys ``source * target_count + target`` of the
slots that came out present (``low * n + high`` where undirected). Lazy: ``edge``, the sorted keys of the
true edges, filled up to a paid-for number with keys beyond the last slot, and ``prf_key``, the state of a
pseudo-random function; see :mod:`core.privacy.mechanisms.lazy_response`. Both: ``flips`` uint64 (2,), the
probabilities of an absent edge to appear and of a present one to go, over 2^64.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from core.privacy.accounting.flips import WORD, Flips
from core.privacy.queries import Shape

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateCell

Columns = Mapping[str, np.ndarray]

MAX_MATERIALISED = 2**25
"""Most slots that may be expected to appear in all materialised cells together; 256 MiB of keys."""

PURPOSE = "evidence"


def additions(shape: Shape, nano_epsilon: int, *, multiplicity: int = 1) -> int:
    """Compute the expected number of flipped absent slots, rounded up. Public facts only."""
    # A unit may change as many slots as the multiplicity says: each answers with that part of epsilon.
    flips = Flips.symmetric(nano_epsilon // multiplicity)
    return -(-shape.slots * flips.add // WORD)


def measure(cell: PrivateCell, nano_epsilon: int, *, room: int | None = None) -> Columns:
    """Measure the evidence of a whole cell, within ``nano_epsilon``.

    Lazy where ``room`` is given, a paid-for number of keys to hold; see
    :func:`core.privacy.mechanisms.lazy_response.room_for`. Materialised columns are paid-for output. Lazy
    ones hold the edges themselves: private content, of which
    :func:`core.methods._shared.slots.markov_chain.rewired` looks at answers only.
    """
    if room is not None:
        response = cell.lazy_response(nano_epsilon=nano_epsilon, purpose=PURPOSE, room=room)
        return {
            "edge": response.edge,
            "prf_key": response.prf_key,
            "flips": flips_column(response.flips),
        }
    # The parts of all slots that one unit may change sum to no more than ``nano_epsilon``.
    flips = Flips.symmetric(nano_epsilon // cell.multiplicity)
    source, target = cell.randomised_response(nano_epsilon=nano_epsilon, purpose=PURPOSE, flips=flips)
    return {"y": source * cell.shape.target_count + target, "flips": flips_column(flips)}


def flips_column(flips: Flips) -> np.ndarray:
    """Store the two probabilities as a column of a model."""
    return np.array([flips.add, flips.drop], dtype=np.uint64)


def flips_of(columns: Columns) -> Flips:
    """Read the two probabilities of stored evidence."""
    add, drop = (int(value) for value in columns["flips"])
    return Flips(add, drop)


def log_likelihood_ratio(flips: Flips) -> float:
    """Compute the log likelihood gained by one more hit.

    It is what one answer more of "present" among the edges adds to a graph's. A graph's likelihood is a
    product over slots. Making a slot an edge multiplies it by P(y | edge) / P(y | no edge): (1 - p_drop) /
    p_add where y = 1, p_drop / (1 - p_add) where y = 0. Of graphs with the same number of edges only the
    difference of the two logarithms counts, once for each edge with y = 1: ln((1 - p_drop) / p_add) -
    ln(p_drop / (1 - p_add)). Symmetric flips at epsilon: 2 epsilon.
    """
    add, drop = flips.add / WORD, flips.drop / WORD
    # log1p, as a probability may be too small to change 1 when it is taken from it.
    return math.log1p(-drop) - math.log(add) + math.log1p(-add) - math.log(drop)


def log_likelihood_of_absence(flips: Flips) -> float:
    """Compute ln(P(y = 0 | edge) / P(y = 0 | no edge)). It is what an edge in an absent slot costs."""
    add, drop = flips.add / WORD, flips.drop / WORD
    return math.log(drop) - math.log1p(-add)
