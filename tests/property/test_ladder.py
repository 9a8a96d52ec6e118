"""The ladder's guarantee by brute force: exact probabilities on every small graph and its neighbours."""

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.privacy.mechanisms.ladder import cap_of, reach
from core.privacy.mechanisms.triangle_kernels import triangles, triangles_and_common
from tests.support.groups import examples


def counted(adjacency):
    """Triangles, and the most common neighbours of any two nodes and of two linked ones, from the matrix."""
    paths = adjacency @ adjacency
    count = int((paths * adjacency).sum()) // 6
    np.fill_diagonal(paths, 0)
    return count, int(paths.max()), int((paths * adjacency).max())


def every_neighbour(nodes):
    """(before, after): the numbers of every graph of that many nodes, and of it with one edge more."""
    slots = list(itertools.combinations(range(nodes), 2))
    known = []
    for bits in range(2 ** len(slots)):
        adjacency = np.zeros((nodes, nodes), dtype=np.int64)
        for i, (u, v) in enumerate(slots):
            adjacency[u, v] = adjacency[v, u] = bits >> i & 1
        known.append(counted(adjacency))
    return {
        (known[bits], known[bits | 1 << i])
        for bits in range(2 ** len(slots))
        for i in range(len(slots))
        if not bits >> i & 1
    }


def rung_of(distance, first, cap):
    rung = 0
    while reach(first, cap, rung) < distance:
        rung += 1
    return rung


def log_law(count, first, cap, epsilon, span):
    """log P(x) for every x in 0..span around 0, from the definition: rungs one by one, then the tail."""
    q = math.exp(-epsilon / 2)
    rungs = cap - first + 1
    total = 1 + 2 * math.fsum(q**t * min(cap, first + t - 1) for t in range(1, rungs + 1))
    total += 2 * cap * q ** (rungs + 1) / (1 - q)
    logs = [-epsilon / 2 * rung_of(abs(x - count), first, cap) for x in range(-span, span + 1)]
    return np.array(logs) - math.log(total)


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_one_edge_changes_no_probability_by_more_than_epsilon(nodes, epsilon):
    cap, worst = cap_of(nodes), 0.0
    for before, after in every_neighbour(nodes):
        one, other = (log_law(count, min(cap, most), cap, epsilon, 60) for count, most, _ in (before, after))
        worst = max(worst, np.abs(one - other).max())
    assert worst <= epsilon + 1e-9
    # The two nodes' only graphs have no triangle and no common neighbour: the same law.
    assert worst > (0.4 * epsilon if nodes > 2 else -1)


def test_pairs_that_are_not_linked_must_count():
    """With the local sensitivity of linked pairs alone, a new edge is told."""
    epsilon, worst = 1.0, 0.0
    for before, after in every_neighbour(5):
        one, other = (log_law(count, linked, 3, epsilon, 60) for count, _, linked in (before, after))
        worst = max(worst, np.abs(one - other).max())
    assert worst > epsilon + 0.1


def test_the_ladder_inequality():
    """Rungs of a graph lie within one rung more of its neighbour's, from the numbers themselves."""
    for nodes in (3, 4, 5):
        cap = cap_of(nodes)
        for pair in every_neighbour(nodes):
            for (one, first, _), (other, second, _) in (pair, pair[::-1]):
                assert abs(one - other) <= min(cap, second)
                for rung in range(12):
                    reached = reach(min(cap, first), cap, rung) + abs(one - other)
                    assert reached <= reach(min(cap, second), cap, rung + 1)


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(1, 40), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_the_counts_are_those_of_networkx(nodes, density, seed):
    graph = nx.gnp_random_graph(nodes, density, seed=seed)
    if seed % 3 == 0 and nodes > 2:  # a hub
        graph.add_edges_from((0, v) for v in range(1, nodes))
    adjacency = nx.to_numpy_array(graph, nodelist=range(nodes), dtype=np.int64)
    source, target = np.array(graph.edges(), dtype=np.int64).reshape(-1, 2).T
    count, most, _ = counted(adjacency)
    assert count == sum(nx.triangles(graph).values()) // 3
    at_nodes, most_common = triangles_and_common(source, target, nodes)
    assert (int(at_nodes.sum()), most_common) == (3 * count, most)
    assert triangles(source, target, nodes) == count
