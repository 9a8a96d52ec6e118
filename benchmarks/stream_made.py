"""Made streams of few nodes and many edges, such as contacts at a school or an office. Nothing is read.

Every pair has a weight: log-normal, larger inside groups. A node is present on a day or not. Of the pairs
whose two nodes are present, each has an edge in a step by its weight and the hour; nights are empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

HOURS = 12  # steps of a day


@dataclass(frozen=True)
class Contacts:
    """``edges``: of the fullest step; ``open``: how many of a day's steps have any."""

    nodes: int
    groups: int
    edges: int
    days: int
    open: int
    present: float
    spread: float
    inside: float


MADE = {
    "made-school": Contacts(240, 10, 1500, 4, 8, 0.95, 1.5, 20),
    "made-office": Contacts(150, 12, 150, 6, 6, 0.7, 2.0, 10),
    "made-classes": Contacts(126, 4, 250, 5, 9, 0.85, 2.0, 15),
    "made-ward": Contacts(70, 3, 120, 5, 12, 0.5, 1.0, 4),
}


def contacts(made: Contacts, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ends of edges, int64 (m, 2), and their steps."""
    rng = np.random.default_rng(seed)
    one, other = np.triu_indices(made.nodes, 1)
    group = rng.integers(0, made.groups, made.nodes)
    sociable = rng.lognormal(0, 0.5, made.nodes)
    weight = rng.lognormal(0, made.spread, len(one)) * np.where(group[one] == group[other], made.inside, 1.0)
    weight *= sociable[one] * sociable[other]
    ends, steps = [], []
    for day in range(made.days):
        here = rng.random(made.nodes) < made.present
        for hour in range(made.open):
            full = np.sin(np.pi * (hour + 0.5) / made.open) * rng.lognormal(0, 0.3)
            rate = weight * here[one] * here[other]
            linked = rng.random(len(one)) < -np.expm1(-_scaled(rate, full * made.edges) * rate)
            ends.append(np.column_stack([one[linked], other[linked]]))
            steps.append(np.full(int(linked.sum()), day * HOURS + hour))
    return np.concatenate(ends), np.concatenate(steps)


def _scaled(rate: np.ndarray, edges: float) -> float:
    """Find the factor at which so many edges are expected."""
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if -np.expm1(-middle * rate).sum() < edges else (low, middle)
    return high
