"""Every metric against NetworkX, or against a brute force over nodes, on random graphs."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.evaluation.compare import scalars_of
from core.evaluation.metric import Suite
from core.evaluation.utility import degrees, eigenvector, relative
from core.evaluation.view import UndirectedView, sides
from core.graphs.graph import Cell
from core.graphs.schema import EdgeType


@st.composite
def graphs(draw, largest=40):
    n = draw(st.integers(1, largest))
    share = draw(st.sampled_from([0.0, 0.03, 0.1, 0.3, 0.8, 1.0]))
    return nx.gnp_random_graph(n, share, seed=draw(st.integers(0, 2**31)))


def cell_of(graph: nx.Graph, directed: bool = False) -> Cell:
    n = graph.number_of_nodes()
    pairs = np.array(sorted(graph.edges), dtype=np.int64).reshape(-1, 2)
    if not directed:
        pairs.sort(axis=1)
    return Cell(EdgeType(directed=directed), None, n, n, pairs[:, 0], pairs[:, 1])


def statistics(cell: Cell) -> dict:
    return scalars_of(UndirectedView.of(cell), Suite.QUICK)


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Kernels are compiled before any clock of Hypothesis runs."""
    scalars_of(UndirectedView.of(cell_of(nx.complete_graph(4))), Suite.QUICK)


@given(graphs())
def test_clustering_and_triangles_equal_networkx(graph):
    found = statistics(cell_of(graph))
    assert found["transitivity"] == pytest.approx(nx.transitivity(graph), abs=1e-12)
    assert found["mean_local_clustering"] == pytest.approx(nx.average_clustering(graph), abs=1e-12)
    assert found["triangles"] == sum(nx.triangles(graph).values()) // 3


@given(graphs())
def test_density_and_components_equal_networkx(graph):
    found = statistics(cell_of(graph))
    assert found["density"] == pytest.approx(nx.density(graph))
    sizes = [len(part) for part in nx.connected_components(graph)]
    assert (found["components"], found["largest_component"]) == (len(sizes), max(sizes))


@given(graphs())
@settings(deadline=None)
def test_assortativity_equals_networkx_where_it_is_defined(graph):
    found = statistics(cell_of(graph))["assortativity"]
    ends = {graph.degree(v) for edge in graph.edges for v in edge}
    if len(ends) < 2:
        assert found is None
    else:
        assert found == pytest.approx(nx.degree_pearson_correlation_coefficient(graph), abs=1e-9)


@given(graphs())
def test_modularity_lies_between_one_block_and_the_largest_possible(graph):
    found = statistics(cell_of(graph))["modularity"]
    if graph.number_of_edges() == 0:
        assert found is None
    else:
        assert -1e-12 <= found < 1


@given(graphs())
@settings(deadline=None)
def test_centrality_is_the_leading_eigenvector(graph):
    view = UndirectedView.of(cell_of(graph))
    scores = eigenvector.centrality(view)
    if graph.number_of_edges() == 0:
        assert not scores.any()
        return
    largest = np.linalg.eigvalsh(nx.to_numpy_array(graph))[-1]
    assert view.adjacency @ scores == pytest.approx(largest * scores, abs=1e-5 * largest)
    assert scores.max() == 1
    assert scores.min() >= 0


@given(graphs(), graphs())
def test_degree_distances_equal_their_definitions(a, b):
    p, q = degrees.shares(*(np.array([d for _, d in g.degree]) for g in (a, b)))
    top = len(p)
    ours, theirs = nx.degree_histogram(a), nx.degree_histogram(b)
    x = [(ours[d] if d < len(ours) else 0) / len(a) for d in range(top)]
    y = [(theirs[d] if d < len(theirs) else 0) / len(b) for d in range(top)]
    assert degrees.total_variation(p, q) == pytest.approx(
        sum(abs(s - t) for s, t in zip(x, y, strict=True)) / 2
    )
    gaps = [abs(sum(x[: d + 1]) - sum(y[: d + 1])) for d in range(top)]
    assert degrees.kolmogorov_smirnov(p, q) == pytest.approx(max(gaps), abs=1e-12)
    kl = sum(s * math.log((s + 2.2e-16) / (t + 2.2e-16)) for s, t in zip(x, y, strict=True))
    assert degrees.kl_divergence(p, q) == pytest.approx(kl, abs=1e-9)


@given(graphs())
def test_a_graph_is_at_no_distance_from_itself(graph):
    cell = cell_of(graph)
    ours, theirs = UndirectedView.of(cell), UndirectedView.of(cell)
    assert list(degrees.distances(ours, theirs, Suite.QUICK).values()) == pytest.approx([0, 0, 0, 1])
    found = eigenvector.distances(ours, theirs, Suite.STANDARD)
    assert found["top_eigenvector_overlap"] == (1.0 if cell.count else None)
    assert found["eigenvector_mae"] == 0


@given(graphs(), st.integers(0, 2**31))
def test_scalars_do_not_depend_on_node_order(graph, seed):
    order = np.random.default_rng(seed).permutation(len(graph))
    renamed = nx.relabel_nodes(graph, dict(enumerate(order.tolist())))
    ours, theirs = statistics(cell_of(graph)), statistics(cell_of(renamed))
    for name in set(ours) - {"modularity", "communities"}:
        assert ours[name] == pytest.approx(theirs[name], abs=1e-9), name


@given(st.integers(1, 12), st.integers(1, 12), st.floats(0, 1), st.integers(0, 2**31))
def test_a_bipartite_relation_is_measured_on_both_sides(rows, columns, share, seed):
    present = np.random.default_rng(seed).random((rows, columns)) < share
    source, target = np.nonzero(present)
    kind = EdgeType(source="a", target="b")
    cell = Cell(kind, None, rows, columns, source, target)
    found = statistics(cell)
    assert found["density"] == pytest.approx(present.mean())
    assert found["transitivity"] is None
    found_sides = sides(cell)
    assert found_sides["source"].tolist() == present.sum(axis=1).tolist()
    assert found_sides["target"].tolist() == present.sum(axis=0).tolist()
    plain = nx.Graph(list(zip(source.tolist(), (target + rows).tolist(), strict=True)))
    plain.add_nodes_from(range(rows + columns))
    assert found["components"] == nx.number_connected_components(plain)


@given(st.integers(2, 25), st.floats(0, 1), st.integers(0, 2**31))
def test_a_directed_relation_is_measured_without_directions_but_for_its_degrees(n, share, seed):
    graph = nx.gnp_random_graph(n, share, seed=seed, directed=True)
    cell = cell_of(graph, directed=True)
    found = statistics(cell)
    plain = nx.Graph(graph)
    assert found["density"] == pytest.approx(nx.density(graph))
    assert found["transitivity"] == pytest.approx(nx.transitivity(plain), abs=1e-12)
    assert found["triangles"] == sum(nx.triangles(plain).values()) // 3
    found_sides = sides(cell)
    assert found_sides["out"].tolist() == [d for _, d in sorted(graph.out_degree)]
    assert found_sides["in"].tolist() == [d for _, d in sorted(graph.in_degree)]


@given(st.floats(-10, 10), st.floats(-10, 10))
def test_relative_error_times_the_true_value_is_the_absolute_error(true, synthetic):
    found = relative.scalar(true, synthetic)
    assert found["relative_error"] * (abs(true) + 1e-15) == pytest.approx(found["absolute_error"])


@given(st.integers(0, 200), st.integers(0, 2**31))
def test_doubling_bins_hold_every_node_once(n, seed):
    vector = np.random.default_rng(seed).zipf(1.7, n).clip(max=5000) - 1
    bins = degrees.doubling_bins(np.bincount(vector))
    assert sum(row["nodes"] for row in bins) == n
    for row in bins:
        assert row["nodes"] == np.count_nonzero((row["low"] <= vector) & (vector <= row["high"]))
