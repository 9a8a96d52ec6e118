"""What a node can change under a declared bound, and of packed triangles: all graphs on five nodes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from core.errors import InvalidInput
from core.privacy.mechanisms import packing
from core.privacy.mechanisms.siphash import fresh_key
from core.privacy.mechanisms.triangle_kernels import triangles
from core.privacy.reads import bounded
from tests.property.test_projection import GRAPHS, NODES, PAIRS, degrees, families

PRESENT = np.array([np.isin(np.arange(len(PAIRS)), edges) for edges in GRAPHS])


def answers(measure) -> np.ndarray:
    return np.array([measure(*PAIRS[edges].T, NODES) for edges in GRAPHS]).astype(np.int64)


def farthest(values: np.ndarray, allowed: np.ndarray) -> int:
    """The largest L1 distance between neighbours that are both ``allowed``, a mask over all graphs."""
    members, both = values[families()], allowed[families()]
    far = np.abs(members[:, :, None] - members[:, None]).sum(axis=-1)
    return int((far * (both[:, :, None] & both[:, None])).max())


@pytest.mark.parametrize("bound", [1, 2, 3, 4])
def test_no_replacement_under_the_bound_moves_the_triangles_by_more_than_their_sensitivity(bound):
    allowed = degrees(PRESENT).max(axis=1) <= bound
    declared, measure = bounded.triangles(bound)
    most = farthest(answers(measure), allowed)
    assert most <= declared
    assert most == declared or bound == 1  # not merely a loose bound


def alike() -> np.ndarray:
    """A number for each graph, the same for graphs that differ in their nodes' names alone."""
    place = {frozenset(pair): i for i, pair in enumerate(PAIRS.tolist())}
    names = [
        [place[frozenset((order[u], order[v]))] for u, v in PAIRS.tolist()]
        for order in itertools.permutations(range(NODES))
    ]
    return np.min([PRESENT[:, each] @ (1 << np.arange(len(PAIRS))) for each in names], axis=0)


@pytest.mark.parametrize("tau", [1, 2, 3])
def test_no_replacement_moves_packed_triangles_by_more_than_tau_and_one(tau):
    kinds, place = np.unique(alike(), return_inverse=True)
    values = []
    for kind in kinds:
        source, target = PAIRS[GRAPHS[kind]].T
        found = packing.chosen_triangles(source, target, NODES, 1.0, fresh_key())
        assert len(found) == triangles(source, target, NODES)
        values.append(packing.packed(found, NODES, tau))
    everyone = np.ones(len(GRAPHS), dtype=bool)
    most = farthest(np.array(values)[place][:, None], everyone)
    assert tau <= most <= packing.sensitivity(tau)


def test_a_packing_holds_all_triangles_where_nobody_has_too_many():
    low, high = np.triu_indices(6, 1)
    found = packing.chosen_triangles(low, high, 6, 1.0, fresh_key())
    assert len(found) == 20 == packing.packed(found, 6, 10)  # each node is in 10 of them
    assert packing.packed(found, 6, 5) == 10
    assert packing.packed(found[:0], 6, 5) == 0


def test_which_triangles_are_looked_at_does_not_hang_on_the_graph():
    low, high = np.triu_indices(40, 1)
    key, some = fresh_key(), np.random.default_rng(3).random(len(low)) < 0.6
    whole = {tuple(sorted(t)) for t in packing.chosen_triangles(low, high, 40, 0.3, key).tolist()}
    part = {tuple(sorted(t)) for t in packing.chosen_triangles(low[some], high[some], 40, 0.3, key).tolist()}
    every = packing.chosen_triangles(low[some], high[some], 40, 1.0, key).tolist()
    assert part == whole & {tuple(sorted(t)) for t in every}
    assert abs(len(whole) / 9880 - 0.3) < 0.05  # eleven standard deviations


@pytest.mark.parametrize("bad", [0, 2**19 + 1, 1.5])
def test_limits(bad):
    with pytest.raises(InvalidInput):
        packing.sensitivity(bad)
    with pytest.raises(InvalidInput):
        packing.check_share(0 if bad == 0 else 2)
    with pytest.raises(InvalidInput):
        bounded.triangles(1_449)
