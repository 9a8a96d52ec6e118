"""Values dealt by the margins of the mixing matrix: put right for its cap, no further than noise allows."""

from __future__ import annotations

import numpy as np
import pytest

from core.methods._shared.node_values.ends import MOST_LEVELS, Ends, Told, by_level, over_steps, tilted
from core.privacy.reads.node_values import mixed

NODES = 1200
GROUPS = np.array([0, 1, 1])
"""Of three values, the last two are one group of mixing."""


def drawn(directed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges, and a value for every node: the first is that of a third, with nearly half of the ends."""
    rng = np.random.default_rng(4)
    values = np.arange(NODES) % 3
    out, into = ((values == 0) * more + 1 + rng.random(NODES) for more in (1, 2 if directed else 1))
    source, target = (rng.choice(NODES, 9000, p=weight / weight.sum()) for weight in (out, into))
    kept = source != target
    source, target = source[kept], target[kept]
    if not directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    source, target = np.divmod(np.unique(source * NODES + target), NODES)
    return source, target, values


def told_of(
    source: np.ndarray, target: np.ndarray, values: np.ndarray, cap: int, scale: float, directed: bool
) -> Told:
    counts = mixed(
        source, target, GROUPS[values], 2, cap, np.random.default_rng(5).permutation(len(source)), directed
    )
    sides = [np.bincount(side, minlength=NODES).astype(float) for side in (source, target)]
    return Told(counts, cap, scale, Ends(*sides) if directed else Ends(sides[0] + sides[1]))


def ends_dealt(
    levels: np.ndarray, shares: np.ndarray, degrees: np.ndarray, groups: np.ndarray = GROUPS
) -> np.ndarray:
    """The share of edge ends that each group has where values are dealt by these shares."""
    found = degrees @ shares[levels]
    return np.bincount(groups, weights=found) / found.sum()


@pytest.mark.parametrize("cap", [25, 1000])
@pytest.mark.parametrize("directed", [False, True])
def test_groups_have_as_many_ends_as_in_the_original_where_classes_say_nothing(directed: bool, cap: int):
    source, target, values = drawn(directed)
    told = told_of(source, target, values, cap, 1.0, directed)
    one, third = np.zeros(NODES, dtype=np.int64), np.full((1, 3), 1 / 3)
    levels, shares = by_level(one, third, GROUPS, [told])
    true = np.eye(3)[values]
    for side in told.ends if directed else told.ends[:1]:
        wanted, found = (ends_dealt(*each, side) for each in ((np.arange(NODES), true), (levels, shares)))
        assert wanted[0] > 0.44
        assert found[0] == pytest.approx(wanted[0], abs=0.01 if cap > 500 else 0.06)
    assert np.bincount(levels) @ shares == pytest.approx([NODES / 3] * 3, rel=0.01)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares[:, 1] == pytest.approx(shares[:, 2])  # as the classes divide the group


@pytest.mark.parametrize("scale", [1e4, 1e9])
def test_where_noise_leaves_nothing_of_the_margins_values_are_dealt_as_classes_say(scale: float):
    source, target, values = drawn(False)
    told = told_of(source, target, values, 1000, scale, False)
    classes = np.arange(NODES) % 2
    given = np.array([[0.5, 0.25, 0.25], [0.2, 0.4, 0.4]])
    levels, shares = by_level(classes, given, GROUPS, [told])
    assert shares[levels] == pytest.approx(given[classes], abs=0.02)


def test_relations_for_whose_degrees_there_is_no_room_are_left_out():
    rng = np.random.default_rng(6)
    own = [2.0 ** rng.integers(0, 12, NODES) for _ in range(8)]
    told = [Told(np.diag([90, 30]), 10**6, 1.0, Ends(*own[at : at + 2])) for at in range(0, 8, 2)]
    levels, shares = by_level(np.zeros(NODES, np.int64), np.full((1, 3), 1 / 3), GROUPS, told)
    assert 100 < levels.max() < MOST_LEVELS
    assert np.isfinite(shares).all()


def test_a_level_without_edges_and_a_group_without_nodes_stay_as_they_are():
    degrees, size = np.array([0.0, 1, 8]), np.array([50.0, 30, 20])
    shares = np.array([[0.5, 0.5, 0], [0.4, 0.6, 0], [0.5, 0.5, 0]])
    found = tilted(shares, size, [degrees], [np.array([0.7, 0.3, 0])])
    assert (size * degrees) @ found == pytest.approx([0.7 * 190, 0.3 * 190, 0], abs=1)
    assert size @ found == pytest.approx(size @ shares, abs=0.1)
    none = np.zeros(3)
    assert tilted(shares, size, [none], [np.array([0.7, 0.3, 0])]) == pytest.approx(shares, abs=1e-6)


def test_degrees_of_a_relation_are_those_of_all_its_steps():
    one, two = np.array([1, 0, 2], dtype=np.float32), np.array([0, 4, 1], dtype=np.float32)
    found = over_steps([("knows", one, None), ("tells", one, two), ("knows", two, None), ("tells", one, one)])
    assert found["knows"].source.tolist() == found["knows"].both.tolist() == [1, 4, 3]
    assert found["knows"].target is None
    assert found["tells"].both.tolist() == [3, 4, 7]
    assert found["tells"].source.dtype == np.float64
