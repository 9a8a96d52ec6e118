"""Distances of all pairs, the diameter and the sampled mean against NetworkX, SciPy and NetworKit."""

from __future__ import annotations

from itertools import chain

import networkit as nk
import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

from core.evaluation.metric import Estimate, Suite
from core.evaluation.utility import paths
from core.evaluation.utility.paths.diameter import diameter
from core.evaluation.utility.paths.layout import laid_out
from core.evaluation.view import UndirectedView

UNLIMITED = 10**18


def view_of(graph: nx.Graph) -> UndirectedView:
    pairs = np.array(sorted(graph.edges), dtype=np.int64).reshape(-1, 2)
    return UndirectedView.of_pairs(len(graph), pairs[:, 0], pairs[:, 1])


@st.composite
def graphs(draw):
    """Up to four random parts side by side, dense or long, with nodes of their own left over."""
    part = st.one_of(
        st.builds(nx.gnp_random_graph, st.integers(1, 25), st.floats(0, 1), st.integers(0, 2**31)),
        st.builds(nx.path_graph, st.integers(1, 40)),
        st.builds(nx.cycle_graph, st.integers(3, 30)),
        st.builds(nx.star_graph, st.integers(0, 12)),
    )
    whole = nx.disjoint_union_all(draw(st.lists(part, min_size=1, max_size=4)))
    order = np.random.default_rng(draw(st.integers(0, 2**31))).permutation(len(whole))
    return nx.relabel_nodes(whole, dict(enumerate(order.tolist())))


def distances_of(graph: nx.Graph) -> np.ndarray:
    """Of every ordered pair that a path joins, a node and itself included."""
    found = chain.from_iterable(lengths.values() for _, lengths in nx.all_pairs_shortest_path_length(graph))
    return np.array(list(found))


@given(graphs())
@example(nx.empty_graph(1))
@example(nx.empty_graph(5))
@settings(deadline=None)
def test_all_pairs_are_counted_as_networkx_finds_them(graph):
    every = distances_of(graph)
    found = paths.path_lengths(view_of(graph))
    assert found.counts.tolist() == np.bincount(every).tolist()
    assert found.error is None
    if every.any():
        assert found.mean == pytest.approx(every[every > 0].mean())
    else:
        assert found.mean is None


@given(graphs())
@settings(deadline=None)
def test_the_mean_is_the_published_mean_over_components_weighted_by_their_pairs(graph):
    parts = [graph.subgraph(nodes) for nodes in nx.connected_components(graph) if len(nodes) > 1]
    weights = [len(part) * (len(part) - 1) for part in parts]
    found = paths.scalars(view_of(graph), Suite.STANDARD)["characteristic_path_length"]
    if parts:
        means = [nx.average_shortest_path_length(part) for part in parts]
        assert found == pytest.approx(np.average(means, weights=weights))
    else:
        assert found is None


@given(graphs())
@settings(deadline=None)
def test_both_ways_to_the_diameter_agree_with_networkx(graph):
    expected = max(nx.diameter(graph.subgraph(nodes)) for nodes in nx.connected_components(graph))
    view = view_of(graph)
    assert paths.scalars(view, Suite.STANDARD)["diameter"] == expected
    assert diameter(laid_out(view), UNLIMITED) == expected


@given(graphs(), graphs())
@settings(deadline=None)
def test_distances_between_distributions_equal_their_definitions(a, b):
    ours, theirs = (np.bincount(distances_of(graph), minlength=140) for graph in (a, b))
    p, q = ours / ours.sum(), theirs / theirs.sum()
    found = paths.distances(view_of(a), view_of(b), Suite.STANDARD)
    assert found["distance_total_variation"] == pytest.approx(sum(abs(p - q)) / 2)
    gaps = [abs(p[: d + 1].sum() - q[: d + 1].sum()) for d in range(140)]
    assert found["distance_kolmogorov_smirnov"] == pytest.approx(max(gaps), abs=1e-12)
    floor = 2.2e-16
    kl = sum(x * np.log((x + floor) / (y + floor)) for x, y in zip(p, q, strict=True))
    assert found["distance_kl_divergence"] == pytest.approx(kl, abs=1e-9)


LARGE = {
    "hubs, two batches and a half": nx.barabasi_albert_graph(1300, 3, seed=1),
    "sparse, many components": nx.gnm_random_graph(1500, 1100, seed=2),
    "one long path": nx.path_graph(1100),
    "a grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(30, 40)),
    "dense": nx.gnp_random_graph(600, 0.3, seed=3),
    "two parts that share bits": nx.disjoint_union(nx.cycle_graph(700), nx.balanced_tree(2, 9)),
}


@pytest.mark.parametrize("name", LARGE)
def test_several_batches_equal_scipys_distances(name):
    view = view_of(LARGE[name])
    lengths = shortest_path(view.adjacency, unweighted=True)
    every = lengths[np.isfinite(lengths)].astype(int)
    found = paths.path_lengths(view)
    assert found.counts.tolist() == np.bincount(every).tolist()
    assert found.mean == pytest.approx(every[every > 0].mean())
    assert found.diameter == every.max()
    assert diameter(laid_out(view), UNLIMITED) == every.max()


@pytest.mark.parametrize("seed", range(3))
def test_the_diameter_of_a_larger_graph_equals_networkits(seed):
    view = view_of(nx.barabasi_albert_graph(4000, 2, seed=seed))
    search = nk.distance.Diameter(view.networkit, algo=nk.distance.DiameterAlgo.EXACT)
    assert diameter(laid_out(view), UNLIMITED) == search.run().getDiameter()[0]


def test_a_diameter_beyond_its_work_is_not_guessed():
    assert diameter(laid_out(view_of(nx.gnp_random_graph(400, 0.05, seed=1))), -1) is None


@given(graphs())
@settings(deadline=None)
def test_a_sample_of_every_node_is_exact(graph):
    n = len(graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "SAMPLE", (n,) if n < 2 else (1, n - 1))
        found = paths._sampled(laid_out(view_of(graph)))
    exact = paths.path_lengths(view_of(graph))
    assert found.counts.tolist() == exact.counts.tolist()
    assert found.diameter == exact.diameter
    assert found.mean == (None if exact.mean is None else pytest.approx(exact.mean))
    assert found.error in (None, 0.0)


def test_two_standard_errors_cover_the_true_mean_as_often_as_they_should(monkeypatch):
    """Over 200 samples of 60 sources: a normal estimate is within 2 standard errors 95 % of the time."""
    view = view_of(nx.gnm_random_graph(600, 780, seed=5))
    truth = paths.path_lengths(view)
    monkeypatch.setattr(paths, "EXACT_WORK", 0)
    monkeypatch.setattr(paths, "SAMPLE", (20, 40))
    within, means = 0, []
    for seed in range(200):
        monkeypatch.setattr(paths, "SEED", seed)
        found = paths.scalars(view_of(nx.gnm_random_graph(600, 780, seed=5)), Suite.STANDARD)
        estimate = found["characteristic_path_length"]
        assert isinstance(estimate, Estimate)
        within += abs(estimate.value - truth.mean) <= 2 * estimate.standard_error
        means.append(estimate.value)
        assert found["diameter"] == truth.diameter
    assert within >= 178  # 95 % of 200 less three standard deviations
    # Unbiased: the mean of 200 estimates is within 4 of its own standard errors.
    assert abs(np.mean(means) - truth.mean) <= 4 * np.std(means) / np.sqrt(200)


def test_long_paths_are_left_with_the_first_batch_of_sources(monkeypatch):
    monkeypatch.setattr(paths, "EXACT_WORK", 0)
    monkeypatch.setattr(paths, "SAMPLE_WORK", 0)
    found = paths.path_lengths(view_of(nx.path_graph(1200)))
    assert found.counts[0] == paths.SAMPLE[0]
    assert abs(found.mean - 1201 / 3) <= 4 * found.error
    assert found.diameter == 1199
