"""The clustering ladder by brute force: exact probabilities on every small graph and its neighbours."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import NotAccepted
from core.privacy.mechanisms.clustering import Damping, damped_clustering, damping_of
from core.privacy.mechanisms.ladder import reached
from core.privacy.mechanisms.triangle_kernels import triangles_and_common
from tests.support.groups import examples

COARSE = Damping(4, 32)  # the fewest integers that the proof allows: few enough to count them all


def ends_of(pairs):
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T


def numbers(pairs, nodes, damping):
    """As they are read by themselves, and after the triangles were counted for another read."""
    ends = ends_of(pairs)
    found = damped_clustering(*ends, nodes, damping)
    assert found == damped_clustering(*ends, nodes, damping, triangles_and_common(*ends, nodes)[0])
    return found


def by_definition(graph, damping):
    """The sum and the first rung's width, from the definition."""
    pairs = {v: math.comb(max(graph.degree(v), damping.degree), 2) for v in graph}
    total = sum(t * damping.unit // pairs[v] for v, t in nx.triangles(graph).items())
    largest = max(
        (
            sum(-(-damping.unit // pairs[x]) for x in nx.common_neighbors(graph, u, v))
            for u, v in itertools.combinations(graph, 2)
        ),
        default=0,
    )
    return total, damping.ends + largest


def every_pair(nodes, damping):
    """(before, after): the numbers of every graph of that many nodes, and of it with one edge more."""
    slots = list(itertools.combinations(range(nodes), 2))
    known = [
        numbers([slot for i, slot in enumerate(slots) if bits >> i & 1], nodes, damping)
        for bits in range(2 ** len(slots))
    ]
    return {
        (known[bits], known[bits | 1 << i])
        for bits in range(2 ** len(slots))
        for i in range(len(slots))
        if not bits >> i & 1
    }


def log_law(value, first, step, epsilon, span):
    """log P(x) for every x in -span..span, from the definition."""
    q = math.exp(-epsilon / 2)
    ends = np.cumsum([0] + [first + step * t for t in range(4_000)])
    total = 1 + 2 * (first * q / (1 - q) + step * q**2 / (1 - q) ** 2)
    rungs = np.searchsorted(ends, np.abs(np.arange(-span, span + 1) - value), side="left")
    return -epsilon / 2 * rungs - math.log(total)


def within(pair, damping):
    """How much of both bounds one edge uses up, at most; AssertionError where it is more than all."""
    (one, first), (other, second) = pair
    assert abs(one - other) <= min(first, second)
    assert abs(first - second) <= damping.grain
    return abs(one - other) / min(first, second), abs(first - second) / damping.grain


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_one_edge_changes_no_probability_by_more_than_epsilon(nodes, epsilon):
    worst = 0.0
    for pair in every_pair(nodes, COARSE):
        one, other = (log_law(*found, COARSE.grain, epsilon, 3_000) for found in pair)
        worst = max(worst, np.abs(one - other).max())
        within(pair, COARSE)
    assert worst <= epsilon + 1e-9
    assert worst > (0.4 * epsilon if nodes > 2 else -1)


def test_rungs_of_a_graph_lie_within_one_rung_more_of_its_neighbour_s():
    for pair in every_pair(5, COARSE):
        for (one, first), (other, second) in (pair, pair[::-1]):
            for rung in range(12):
                far = reached(first, COARSE.grain, None, rung) + abs(one - other)
                assert far <= reached(second, COARSE.grain, None, rung + 1)


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(2, 24), st.floats(0, 1), st.sampled_from([4, 8, 16]), st.integers(0, 2**32 - 1))
def test_neighbours_with_degrees_beyond_the_damping(nodes, density, degree, seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(nodes, density, seed=seed)
    if seed % 3 == 0:  # a hub
        graph.add_edges_from((0, v) for v in range(1, nodes))
    pairs = {tuple(sorted(edge)) for edge in graph.edges()}
    slot = tuple(sorted(int(v) for v in rng.choice(nodes, 2, replace=False)))
    for damping in (damping_of(nodes, degree), Damping(degree, 32)):
        found = tuple(numbers(each, nodes, damping) for each in (pairs | {slot}, pairs - {slot}))
        within(found, damping)
        changed = nx.Graph(graph)
        changed.add_edge(*slot)
        assert found[0] == by_definition(changed, damping)


def test_both_bounds_are_met():
    """The edge closes triangles over all common neighbours of the worst pair, and opens a new common one."""
    damping = damping_of(12, 8)
    shared = [(0, x) for x in range(2, 8)] + [(1, x) for x in range(2, 8)]
    used, _ = within((numbers(shared, 12, damping), numbers([*shared, (0, 1)], 12, damping)), damping)
    assert used > 0.7
    _, grown = within((numbers([(0, 2)], 12, damping), numbers([(0, 2), (1, 2)], 12, damping)), damping)
    assert grown == 1


@pytest.mark.parametrize(("nodes", "degree"), [(10, 3), (10, 65), (2**31, 8)])
def test_what_is_too_large_is_refused(nodes, degree):
    with pytest.raises(NotAccepted):
        damping_of(nodes, degree)


def test_integers_are_as_fine_as_they_can_be():
    assert damping_of(10**5, 8) == Damping(8, 2**16)
    assert damping_of(10**7, 16).grain < 2**16
    assert damping_of(10**7, 16).grain * 120 * (10**7) ** 2 / 2 > 2**60
