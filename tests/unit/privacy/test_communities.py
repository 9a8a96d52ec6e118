import math
import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare

from core.errors import InvalidInput
from core.privacy.accounting.events import NANO
from core.privacy.mechanisms.communities import exponential_pass
from tests.support.groups import in_part


def adjacency(n, pairs):
    rows, columns = np.array(pairs).reshape(-1, 2).T
    upper = sp.coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n, n))
    return (upper + upper.T).tocsr()


def partition_law(graph, labels, order, kappa):
    """Exact law of the final partition, by following every sequence of picks."""
    dense = graph.toarray()
    law = {}

    def walk(state, at, probability):
        if at == len(order):
            key = tuple(np.unique(state, return_inverse=True)[1])
            law[key] = law.get(key, 0) + probability
            return
        v = order[at]
        others = [u for u in range(len(state)) if u != v]
        candidates = sorted({state[u] for u in others}) or [state[v]]
        weights = [math.exp(kappa * sum(dense[v, u] for u in others if state[u] == c)) for c in candidates]
        for c, weight in zip(candidates, weights, strict=True):
            after = list(state)
            after[v] = c
            walk(after, at + 1, probability * weight / sum(weights))

    walk(list(labels), 0, 1.0)
    return law


CASES = {
    "path": (4, [(0, 1), (1, 2), (2, 3)], [0, 0, 1, 1], [2, 0, 3, 1], 1.0),
    "star": (5, [(0, 1), (0, 2), (0, 3), (0, 4)], [0, 1, 1, 2, 3], [0, 1, 2, 3, 4], 2.5),
    "alone": (3, [(0, 1)], [0, 1, 2], [1, 0, 2], 3.0),
    "empty": (3, [], [0, 0, 1], [0, 1, 2], 0.7),
    "clique, steep": (4, [(a, b) for a in range(4) for b in range(a)], [0, 0, 0, 1], [0, 3, 1, 2], 8.0),
}


@in_part("case", CASES, 2, ids=str)
def test_the_exact_law(case):
    n, pairs, labels, order, epsilon = CASES[case]
    graph = adjacency(n, pairs)
    rng = np.random.default_rng(7)
    runs = 8_000
    law = partition_law(graph, labels, order, epsilon / 2)
    counts = dict.fromkeys(law, 0)
    for _ in range(runs):
        moved = exponential_pass(graph, np.array(labels), np.array(order), int(epsilon * NANO), rng=rng)
        counts[tuple(moved.tolist())] += 1  # KeyError: a partition that cannot be
    keys = [k for k in law if law[k] * runs >= 10]
    expected = np.array([law[k] for k in keys])
    observed = np.array([counts[k] for k in keys], dtype=float)
    if len(keys) > 1:
        assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-6
    assert observed.sum() / runs == pytest.approx(expected.sum(), abs=0.02)


@pytest.mark.parametrize("epsilon", [2.0, 8.0, 30.0])
def test_the_law_among_many_communities(epsilon):
    """One node with 3 neighbours in community 0, 1 in community 1, and 998 communities without any."""
    k, kappa = 1000, epsilon / 2
    n = 1 + 3 + k - 1
    labels = np.concatenate([[0, 0, 0, 0], np.arange(1, k)])
    graph = adjacency(n, [(0, 1), (0, 2), (0, 3), (0, 4)])
    order = np.arange(n)
    rng = np.random.default_rng(3)
    runs = 3000
    first = np.empty(runs, dtype=int)
    for i in range(runs):
        # isolated nodes move at random afterwards; the first pick is read off through a frozen copy
        first[i] = _first_pick(graph, labels, order, int(epsilon * NANO), rng)
    weights = np.array([math.exp(3 * kappa), math.exp(kappa), k - 2.0])
    expected = runs * weights / weights.sum()
    observed = np.bincount(np.minimum(first, 2), minlength=3)
    keep = expected >= 5
    assert abs(observed - expected)[~keep].sum() <= 25
    if keep.sum() > 1:
        scaled = expected[keep] * observed[keep].sum() / expected[keep].sum()
        assert chisquare(observed[keep], scaled).pvalue > 1e-6
    rest = first[first >= 2]
    if len(rest) > 500:
        quarters = np.bincount((rest - 2) * 4 // (k - 2), minlength=4)
        assert chisquare(quarters).pvalue > 1e-6


def _first_pick(graph, labels, order, nano, rng):
    from core.privacy.mechanisms.communities import _pass

    g = math.gcd(nano, 2 * NANO)
    moved = _pass(
        graph.indptr.astype(np.int64), graph.indices, labels.copy(), order[:1], nano // g, 2 * NANO // g, rng
    )
    return moved[0]


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0.0, 1.0, 2.0], [[0, 1, 2]]])
def test_every_node_picks_exactly_once(order):
    with pytest.raises(InvalidInput):
        exponential_pass(adjacency(3, [(0, 1)]), np.zeros(3, dtype=int), np.array(order), NANO)


def test_labels_come_back_compact_and_inputs_stay():
    graph = adjacency(6, [(0, 1), (2, 3)])
    labels, order = np.array([9, 9, 4, 4, 70, 70]), np.arange(6)
    moved = exponential_pass(graph, labels, order, NANO)
    assert labels.tolist() == [9, 9, 4, 4, 70, 70]
    assert moved.dtype == np.int64
    assert sorted(set(moved.tolist())) == list(range(moved.max() + 1))


def test_thousands_of_communities_stay_linear():
    """200 000 nodes cost a thousand times as many communities hardly more: nodes x communities would."""
    rng = np.random.default_rng(1)
    n, m = 200_000, 800_000
    graph = sp.coo_array((np.ones(m, dtype=np.int8), rng.integers(0, n, (2, m))), shape=(n, n)).tocsr()
    graph = (graph + graph.T).tocsr()
    exponential_pass(adjacency(3, [(0, 1)]), np.zeros(3, dtype=int), np.arange(3), NANO)

    def cpu_seconds(communities: int) -> float:
        labels, order = rng.integers(0, communities, n), rng.permutation(n)
        start = time.process_time()
        exponential_pass(graph, labels, order, NANO)
        return time.process_time() - start

    assert cpu_seconds(10_000) < 20 * cpu_seconds(10)
