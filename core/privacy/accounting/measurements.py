"""Noisy answers of paid reads, kept with the transcript. They are numbers, with the law of their noise.

An answer was paid for when it was drawn. To publish it is post-processing, under the guarantee of the
transcript that it belongs to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np

MOST_VALUES = 2**22
"""Most values of one answer that are kept; their number is public or paid for."""
LAPLACE, GAUSSIAN = "discrete_laplace", "discrete_gaussian"
"""Laws of noise, as they are written."""
MOST_KEPT = 2**24
"""Most values that one session keeps; 128 MiB."""


class Normal(NamedTuple):
    """Gaussian noise of that standard deviation."""

    deviation: Fraction


@dataclass(frozen=True, eq=False)
class Part:
    """One side of a cut of a cell's edges. It has those ``inside`` one group of ``labels``, or those between
    two."""

    labels: np.ndarray
    inside: bool


@dataclass(frozen=True, eq=False)
class Measurement:
    """The answer of one named query. ``values`` int64 are the truth and noise.

    That is discrete Laplace noise of ``scale``; or by its ``law`` Gaussian noise of that standard deviation,
    on a grid as fine or finer, rounded to integers.

    ``arguments`` are the query's, public or paid for, and so are the cuts in ``parts``, of which the answer
    counts the edges that lie in all. ``values`` is None where there are too many to keep, ``size`` says how
    many. ``decides``: where the noise of later answers follows from this one, the variance that they usually
    leave of the number of edges; None where none does.
    """

    edge_type: str
    step: int | None
    query: str
    arguments: Mapping[str, Any]
    parts: tuple[Part, ...]
    scale: Fraction
    size: int
    values: np.ndarray | None
    purpose: str
    decides: float | None = None
    law: str = LAPLACE


class Measurements:
    """The answers of one session, in order. Not the first too many: only the sizes say which are kept."""

    def __init__(self) -> None:
        self._kept: list[Measurement] = []
        self._room = MOST_KEPT

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self._kept)

    def keep(
        self,
        cell: tuple[str, int | None],
        query: str,
        arguments: Mapping[str, Any],
        parts: tuple[Part, ...],
        noise: Fraction | Normal,
        values: np.ndarray,
        purpose: str,
        decides: float | None = None,
    ) -> None:
        """Keep a copy of the answer that a paid read has just given. ``noise``: the scale of Laplace noise,
        or Gaussian noise."""
        scale, law = (noise.deviation, GAUSSIAN) if isinstance(noise, Normal) else (noise, LAPLACE)
        # Decided by sizes alone, which are public or paid for:
        # which answers are kept says nothing of the others.
        fits = values.size <= min(MOST_VALUES, self._room)
        if fits:
            self._room -= values.size
        own = values.copy() if fits else None
        given = {
            name: copy(value) for name, value in arguments.items()
        }  # what was asked, whatever becomes of it
        self._kept.append(
            Measurement(*cell, query, given, parts, scale, values.size, own, purpose, decides, law)
        )


def deviation(scale: Fraction) -> float:
    """Return the standard deviation of discrete Laplace noise of that scale.

    P(X = k) is proportional to q^|k| with q = exp(-1/scale), so that the variance is 2 q / (1 - q)^2.
    """
    # q = e^(-1/scale), by expm1: 1 - q would lose its digits where the scale is large.
    rate = float(1 / scale)
    return math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)
