"""Persons' preferences for kinds of things.

Columns of the things, and random tastes of persons along them. Columns are what is public of the things, and
one for each of the things that have the most edges by paid numbers, as many of them as the persons let be
seen through the noise. The paid second moments of persons' profiles say along which directions of the columns
persons differ, and by how much more than chance makes them. In a draw every person has a random coordinate in
each such direction; how much it counts is set so that sampled persons' profiles have the paid moments.
Post-processing.
"""

from __future__ import annotations

import numpy as np

from core.methods.profiles.draw import Drawing
from core.privacy.reads.people_things import Noisy, on_attribute_grid, summed_moments

ROUNDS = 10
START, MOST_WEIGHT = 0.3, 6.0
FAST, SLOW = 0.5, 0.35
MARGIN = 1.0
RADIUS = 2**10


def fitted_tastes(
    paid: Noisy, attributes: np.ndarray, drawing: Drawing, clip: float, sweeps: float, part: float
) -> np.ndarray:
    """Fit weighted directions (things, r) of taste.

    A person's standard normal coordinates are multiplied by them.

    ``drawing``: a graph without preferences of a ``part`` of the persons, which is swapped towards them. A
    direction is kept where the paid moments exceed those of that graph by more than chance and noise
    together would make the largest eigenvalue. The number of rounds is constant.
    """
    rows = on_attribute_grid(attributes, len(attributes))

    def moments() -> np.ndarray:
        return summed_moments(drawing.edges(), rows, clip, RADIUS) / (RADIUS**2 * part)

    width = attributes.shape[1]
    null = moments()
    values, vectors = np.linalg.eigh(paid.values - null)
    chance = float(np.sqrt(max(len(np.unique(drawing.edges().person)), 1))) / part / clip**2
    # The largest eigenvalue that noise and chance alone would have, by Wigner's law of the semicircle.
    edge = float(np.hypot(paid.deviation, chance)) * float(np.sqrt(2 * width))
    kept = values > MARGIN * edge
    if not kept.any():
        return np.zeros((len(attributes), 0))
    found, axes = values[kept], vectors[:, kept]
    # Noise lifts an eigenvalue t to t + (edge / 2)^2 / t (spiked Wigner matrix): solved for t.
    wanted = (found + np.sqrt(np.maximum(found**2 - edge**2, 0.0))) / 2
    base = np.einsum("ik,ij,jk->k", axes, null, axes)
    weight = np.full(len(wanted), START)
    for turn in range(ROUNDS):
        drawing.swap(attributes @ axes * weight, sweeps)
        excess = np.einsum("ik,ij,jk->k", axes, moments(), axes) - base
        # An excess that is not there yet must not make weights leap.
        ratio = wanted / np.maximum(excess, 0.1 * wanted)
        weight = np.minimum(weight * ratio ** (FAST if 2 * turn < ROUNDS else SLOW), MOST_WEIGHT)
    sums: np.ndarray = attributes @ axes * weight
    return sums
