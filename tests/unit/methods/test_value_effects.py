"""Nodes divided by what they carry, against the same rule written out node by node."""

from __future__ import annotations

import numpy as np
import pytest

from core.methods._shared.values.effects import by_degree, by_mass


def written_out(values: np.ndarray, degrees: np.ndarray, groups: np.ndarray, parts: int) -> list[int]:
    mass = np.maximum(degrees, 1e-9)
    found: dict[int, int] = {}
    for group in np.unique(groups):
        own = sorted(np.flatnonzero(groups == group), key=lambda node: values[node])
        before, part, last = 0.0, 0, None
        for node in own:
            if values[node] != last:
                place = (before + mass[node] / 2) / mass[own].sum()
                part, last = min(int(place * parts), parts - 1), values[node]
            found[node] = group * parts + part
            before += mass[node]
    used = sorted(set(found.values()))
    return [used.index(found[node]) for node in range(len(values))]


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("nodes", [1, 2, 7, 300])
def test_parts_have_like_numbers_of_edge_ends_and_equal_values_stay_together(nodes: int, parts: int):
    rng = np.random.default_rng(nodes)
    values = rng.normal(size=nodes).astype(np.float32).astype(np.float64)
    values[rng.random(nodes) < 0.3] = 0.0
    values[rng.random(nodes) < 0.2] *= -1  # zeros too: they are one value
    degrees = rng.integers(0, 5, nodes)
    groups = np.unique(rng.integers(0, 3, nodes), return_inverse=True)[1]
    found = by_mass(values, degrees, groups, parts)
    assert found.tolist() == written_out(values, degrees, groups, parts)
    even = np.zeros(nodes, dtype=np.int64)
    assert by_degree(degrees, parts).tolist() == written_out(degrees, degrees, even, parts)
