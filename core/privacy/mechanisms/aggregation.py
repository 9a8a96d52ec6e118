"""Noisy sums of features over neighbours. They have one row for each node, exact integers under discrete
Gaussian noise.

Features are public or already paid for. They are cut to an integer grid, so that sum, sensitivity and noise
are integers throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import Cell
from core.privacy import entropy, limits
from core.privacy.accounting.accountant import FINEST
from core.privacy.accounting.events import positive_fraction
from core.privacy.entropy import Generator
from core.privacy.limits import MAX_SIGMA
from core.privacy.mechanisms import samplers
from core.privacy.queries import Shape

MAX_RADIUS = 2**20
"""Length one in grid steps, at most."""

MAX_MULTIPLIER = 2**10


@dataclass(frozen=True)
class Aggregation:
    """What is requested, checked against public facts only.

    ``points`` int64 (nodes of the other side, d): features on the grid, every row's L2 norm at most
    ``radius``, checked in integers. ``scale``: the noise's standard deviation in grid steps, an integer.
    """

    side: str
    points: np.ndarray
    rows: int
    radius: int
    scale: int


def question_of(
    shape: Shape, features: np.ndarray, side: str, noise_multiplier: Fraction | float, multiplicity: int = 1
) -> Aggregation:
    """Check the question for the nodes of ``side`` ("source", "target"; "both" where undirected).

    ``features`` (nodes of the other side, d): finite, rows of L2 norm at most 1 (longer ones are refused by
    more than rounding, and shortened within it). ``multiplicity``: the edges that one unit may have. Raises
    InvalidInput, NotAccepted.
    """
    if (side == "both") != shape.undirected or side not in ("source", "target", "both"):
        raise NotAccepted("an undirected relation has side 'both', others 'source' or 'target'", field="side")
    rows, others = shape.source_count, shape.target_count
    if side == "target":
        rows, others = others, rows
    values = np.asarray(features)
    if values.ndim != 2 or len(values) != others or not values.shape[1] >= 1:
        raise InvalidInput(f"features are a matrix of {others} rows", field="features")
    limits.check_values(rows * values.shape[1], field="features")
    values = values.astype(np.float64)
    # 1e-6 of room for rows of length 1 that float32 has rounded.
    if not np.isfinite(values).all() or (np.square(values).sum(axis=1) > 1 + 1e-6).any():
        raise InvalidInput("features are finite rows of L2 norm at most 1", field="features")
    sigma = positive_fraction(noise_multiplier, "noise_multiplier")
    if sigma > MAX_MULTIPLIER:
        raise InvalidInput(f"a noise multiplier is at most {MAX_MULTIPLIER}", field="noise_multiplier")
    # An undirected edge adds to two rows: sqrt(2) of the radius. The root is taken of integers, rounded up.
    squared = sigma**2 * (2 if side == "both" else 1) * multiplicity**2
    radius, scale = scale_of(squared)
    return Aggregation(side, on_grid(values, radius), rows, radius, scale)


def scale_of(squared: Fraction) -> tuple[int, int]:
    """Choose length one and the noise's standard deviation. Both are in grid steps: the latter an integer,
    its square at least ``squared`` times that of the former. InvalidInput where it would be below FINEST, or
    length one below a step.
    """
    # The finest grid on which the noise stays within what the sampler takes.
    radius = min(MAX_RADIUS, math.isqrt(int(MAX_SIGMA**2 / squared)))
    if radius < 1:
        raise NotAccepted(
            "so much noise has no grid: let the read have a larger share", field="noise_multiplier"
        )
    # The root rounded up, in integers: isqrt by itself rounds down.
    scale = math.isqrt(math.ceil(squared * radius**2) - 1) + 1
    if scale < FINEST:
        raise InvalidInput("so little noise cannot be accounted for", field="noise_multiplier")
    return radius, scale


def on_grid(values: np.ndarray, radius: int) -> np.ndarray:
    """Cut the rows to grid steps, towards zero. One that is still too long is cut by a step or two more."""
    # Towards zero: cutting makes no row longer.
    points: np.ndarray = np.trunc(values * radius).astype(np.int64)
    for _ in range(2):
        long = np.square(points).sum(axis=1) > radius**2
        points[long] = np.trunc(points[long] * (1 - 2e-6)).astype(np.int64)
    # Zero is short enough whatever the floats did; the lengths are compared in integers.
    points[np.square(points).sum(axis=1) > radius**2] = 0
    return points


def noisy_sums(cells: Sequence[Cell], question: Aggregation, *, rng: Generator | None = None) -> np.ndarray:
    """Sum features of each node's neighbours over ``cells``, with noise. All ``cells`` count together;
    float64, a row for every node of the side.

    A neighbour counts as often as it is linked. ``rng`` is for tests of the law alone. O(edges * d).

    Sensitivity: one edge adds one row of L2 norm at most ``radius`` to one row of the sum (undirected: one to
    each end's row: sqrt(2) times that in L2). Unit: one edge of one of the cells (of one cell: times the
    edges that a unit may have in it).
    Proof: integers plus discrete Gaussian noise of standard deviation at least noise_multiplier times that
    distance, independent in every entry (Canonne, Kamath, Steinke 2020, Theorem 14); the way back from the
    grid is post-processing. Which rows and columns there are is public.
    """
    columns = len(question.points)
    source = np.concatenate([cell.source for cell in cells]).astype(np.int64)
    target = np.concatenate([cell.target for cell in cells]).astype(np.int64)
    here, there = (target, source) if question.side == "target" else (source, target)
    if question.side == "both":
        here, there = np.concatenate([source, target]), np.concatenate([target, source])
    ones = np.ones(len(here), dtype=np.int64)
    # Equal pairs add up in it: a neighbour counts as often as it is linked.
    links = sp.csr_matrix((ones, (here, there)), shape=(question.rows, columns))
    sums = np.asarray(links @ question.points, dtype=np.int64)
    noisy = samplers.add_discrete_gaussian_wide(
        rng or entropy.noise_generator(), sums.ravel(), question.scale
    )
    return noisy.reshape(sums.shape) / question.radius
