"""Inequality, communities, centralities and typed relations against independent implementations."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import entropy, spearmanr
from sklearn.metrics import normalized_mutual_info_score

from core.evaluation.metric import Suite
from core.evaluation.utility import (
    assortativity,
    clustering,
    communities,
    components,
    cores,
    degrees,
    eigenvector,
    inequality,
    ranks,
)
from core.evaluation.view import UndirectedView
from core.graphs.graph import Cell
from core.graphs.schema import EdgeType
from tests.support.groups import examples


@st.composite
def graphs(draw, largest=40):
    n = draw(st.integers(1, largest))
    share = draw(st.sampled_from([0.0, 0.03, 0.1, 0.3, 0.8, 1.0]))
    return nx.gnp_random_graph(n, share, seed=draw(st.integers(0, 2**31)))


def view_of(graph: nx.Graph) -> UndirectedView:
    pairs = np.array(sorted(graph.edges), dtype=np.int64).reshape(-1, 2)
    return UndirectedView.of_pairs(len(graph), pairs[:, 0], pairs[:, 1])


def degrees_of(graph: nx.Graph) -> np.ndarray:
    return np.array([graph.degree(node) for node in range(len(graph))])


@given(graphs())
@example(nx.empty_graph(0))
@example(nx.empty_graph(1))
@settings(deadline=None)
def test_inequality_equals_its_definitions(graph):
    vector, n = degrees_of(graph), len(graph)
    found = inequality.scalars(view_of(graph), Suite.QUICK)
    assert found["mean_degree"] == pytest.approx(vector.mean() if n else 0)
    assert found["degree_variance"] == (pytest.approx(vector.var(ddof=1)) if n > 1 else None)
    if not graph.number_of_edges():
        assert found["gini"] is found["gini_dpggan"] is found["relative_edge_entropy"] is None
        return
    # Gini's own definition: the mean absolute difference of two nodes over twice the mean.
    differences = np.abs(vector[:, None] - vector[None, :]).mean()
    assert found["gini"] == pytest.approx(differences / (2 * vector.mean()), abs=1e-12)
    published = 2 * sum(i * d for i, d in enumerate(sorted(vector))) / (n * vector.sum()) - (n + 1) / n
    assert found["gini_dpggan"] == pytest.approx(published, abs=1e-12)
    assert found["relative_edge_entropy"] == pytest.approx(entropy(vector) / np.log(n), abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=200))
@settings(deadline=None)
def test_mutual_information_equals_scikit_learns(pairs):
    a, b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    expected = normalized_mutual_info_score(a, b, average_method="arithmetic")
    assert communities.mutual_information(a, b) == pytest.approx(expected, abs=1e-9)


@given(graphs())
@settings(deadline=None)
def test_modularity_is_networkxs_of_the_same_partition(graph):
    view = view_of(graph)
    found = communities.scalars(view, Suite.QUICK)
    if not graph.number_of_edges():
        assert found == {"modularity": None, "communities": None}
        return
    labels = view.once(communities.partition).labels
    groups = [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    assert found["modularity"] == pytest.approx(nx.community.modularity(graph, groups), abs=1e-9)
    assert found["communities"] == sum(any(graph.degree(v) for v in group) for group in groups)


@given(graphs())
@settings(deadline=None)
def test_a_partition_agrees_with_itself_wherever_there_is_an_edge(graph):
    found = communities.distances(view_of(graph), view_of(graph), Suite.STANDARD)["partition_nmi"]
    assert found == (pytest.approx(1.0) if graph.number_of_edges() else None)


def leading(graph: nx.Graph) -> np.ndarray:
    """The all-ones vector projected onto the leading eigenspace, by a dense decomposition."""
    values, vectors = np.linalg.eigh(nx.to_numpy_array(graph, nodelist=range(len(graph))))
    near = values > values[-1] - 1e-6
    # A second eigenvalue next to the first leaves every iteration undecided.
    assume(not ((values > values[-1] - 1e-3) & ~near).any())
    # So does one equal to it in a graph that is not decomposed whole: Lanczos may end at any vector of
    # the eigenspace.
    assume(near.sum() == 1 or len(graph) <= eigenvector.DENSE)
    found = np.abs(vectors[:, near] @ (vectors[:, near].T @ np.ones(len(graph))))
    return found / np.linalg.norm(found)


@given(graphs(largest=60), graphs(largest=60))
@settings(deadline=None)
def test_the_error_of_the_highest_centralities_equals_its_definition(a, b):
    found = eigenvector.distances(view_of(a), view_of(b), Suite.STANDARD)["eigenvector_mae"]
    highest = leading(a).max(), leading(b).max()  # below 200 nodes, one node is the top 1 %
    assert found == pytest.approx(abs(highest[0] - highest[1]), abs=1e-6)


@given(graphs(largest=60))
@settings(deadline=None, max_examples=examples(30))
def test_centralities_are_on_networkxs_scale(graph):
    expected = leading(graph)  # leaves out what power iteration cannot decide
    values = nx.eigenvector_centrality(graph, max_iter=200_000, tol=1e-11)
    found = view_of(graph).once(eigenvector.leading)
    assert found == pytest.approx(expected, abs=1e-6)
    assert found == pytest.approx(np.array([values[v] for v in range(len(graph))]), abs=1e-4)


@given(graphs(), graphs())
@settings(deadline=None)
def test_ranks_cores_and_coefficients_are_scipys_and_networkxs(a, b):
    found = ranks.spearman(degrees_of(a), degrees_of(b)) if len(a) == len(b) else None
    if found is not None:
        assert found == pytest.approx(spearmanr(degrees_of(a), degrees_of(b)).statistic)
    view = view_of(a)
    assert view.once(cores.core_numbers).tolist() == list(nx.core_number(a).values())
    assert view.once(clustering.coefficients) == pytest.approx(list(nx.clustering(a).values()))
    if a.number_of_edges():
        expected = nx.pagerank(a, 0.85, tol=1e-12, max_iter=10_000)
        scale = max(expected.values())
        assert view.once(ranks.pagerank) == pytest.approx([v / scale for v in expected.values()], abs=1e-6)


@given(graphs(), graphs())
def test_the_cosine_of_fifty_bins_equals_its_definition(a, b):
    x, y = (np.histogram(np.minimum(degrees_of(g), 49), bins=50, range=(0, 50))[0] for g in (a, b))
    found = degrees.cosine(degrees_of(a), degrees_of(b))
    assert found == pytest.approx(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


@given(graphs())
@settings(deadline=None)
def test_triangles_are_counted_at_every_node(graph):
    found = view_of(graph).once(clustering.triangles)
    assert found.tolist() == [nx.triangles(graph, node) for node in range(len(graph))]


@given(graphs())
@settings(deadline=None)
def test_components_have_networkxs_nodes(graph):
    labels = view_of(graph).once(components.labels)
    for nodes in nx.connected_components(graph):
        members = sorted(nodes)
        assert np.flatnonzero(labels == labels[members[0]]).tolist() == members


@given(st.integers(1, 12), st.integers(1, 12), st.floats(0, 1), st.integers(0, 2**31))
@settings(deadline=None)
def test_assortativity_between_two_types_is_the_correlation_of_both_ends(rows, columns, share, seed):
    present = np.random.default_rng(seed).random((rows, columns)) < share
    source, target = np.nonzero(present)
    cell = Cell(EdgeType(source="a", target="b"), None, rows, columns, source, target)
    found = assortativity.scalars(UndirectedView.of(cell), Suite.QUICK)["assortativity"]
    x, y = present.sum(axis=1)[source], present.sum(axis=0)[target]
    if len(x) == 0 or np.ptp(x) == 0 or np.ptp(y) == 0:
        assert found is None
    else:
        assert found == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)
