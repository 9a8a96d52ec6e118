"""Whole fits on one path: by how much all that they ask tells two neighbours apart, added up exactly.

Every read answers the same whatever the graph, so that all fits ask the same, and its true values are kept.
For fits that ask by ``discrete_laplace`` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from core.methods._shared.node_values import between as fitting_between
from core.methods._shared.node_values import fit as fitting
from core.methods.keyframe import fit as drawing_ahead
from core.privacy import entropy
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.reads import mixing_between as reading_between
from core.privacy.reads import node_values as reading

Asked = list[tuple[np.ndarray, Fraction]]


class Losses:
    """Keeps what a fit asks: true values, and nano-epsilon for each unit that they move by."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.asked: Asked = []
        patch.setattr(mechanisms, "discrete_laplace", self.answer)
        patch.setattr(entropy, "noise_generator", lambda: np.random.default_rng(5))
        patch.setattr(drawing_ahead, "noise_generator", lambda: np.random.default_rng(5))
        patch.setattr(fitting, "cap_for", lambda *_: 1)
        patch.setattr(fitting_between, "caps_for", caps_of_one)
        mixed = reading.mixed

        def by_pair(
            source: np.ndarray, target: np.ndarray, groups: np.ndarray, count: int, cap: int, *rest: Any
        ) -> np.ndarray:
            """Give every pair its own priority; of its steps the first that is listed comes first."""
            priority = (source * 5 + target * 3) % 7
            return mixed(source, target, groups, count, cap, priority, *rest[1:])

        patch.setattr(reading, "mixed", by_pair)
        crossed = reading_between.crossed

        def by_ends(ends: Any, groups: Any, shape: Any, caps: Any, priority: np.ndarray) -> np.ndarray:
            return crossed(ends, groups, shape, caps, (ends[0] * 5 + ends[1] * 3) % 7)

        patch.setattr(reading_between, "crossed", by_ends)

    def answer(self, values: np.ndarray, l1_sensitivity: int, nano_epsilon: int) -> np.ndarray:
        self.asked.append((np.array(values), Fraction(nano_epsilon, l1_sensitivity)))
        return np.arange(np.size(values)).reshape(np.shape(values)) % 5 + 1

    def of(self, fit: Callable[..., object], *arguments: object) -> Asked:
        """What one fit asks."""
        self.asked = []
        fit(*arguments)
        return self.asked


def caps_of_one(degrees: Any, rows: list[int | None], *_: Any) -> tuple[tuple[int | None, ...], float]:
    """Cap every side that has values at one edge."""
    return tuple(None if row is None else 1 for row in rows), 1.0


def loss(one: Asked, other: Asked) -> Fraction:
    """What both fits' answers tell them apart by, at most, in nano-epsilon."""
    assert [rate for _, rate in one] == [rate for _, rate in other]
    return sum(
        (
            rate * int(np.abs(ours - theirs).sum())
            for (ours, rate), (theirs, _) in zip(one, other, strict=True)
        ),
        Fraction(0),
    )
