"""Structural metrics on graphs whose figures are known in closed form."""

from __future__ import annotations

import re
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

from core.evaluation import catalogue
from core.evaluation.compare import compared, scalars_of
from core.evaluation.metric import Suite, of_suite
from core.evaluation.utility import (
    clustering,
    communities,
    cores,
    degrees,
    eigenvector,
    inequality,
    paths,
    ranks,
)
from core.evaluation.view import UndirectedView


def view_of(graph: nx.Graph) -> UndirectedView:
    pairs = np.array(sorted(graph.edges), dtype=np.int64).reshape(-1, 2)
    return UndirectedView.of_pairs(len(graph), pairs[:, 0], pairs[:, 1])


def test_a_star_is_unequal_in_its_known_measure():
    found = inequality.scalars(view_of(nx.star_graph(9)), Suite.QUICK)  # degrees 9, 1, ..., 1
    assert found["mean_degree"] == 1.8
    assert found["degree_variance"] == pytest.approx(6.4)
    # Half of all ends at one node of ten: the Lorenz curve's area by hand.
    assert found["gini"] == pytest.approx(0.4)
    assert found["gini_dpggan"] == pytest.approx(0.4 - 2 / 10)
    assert found["relative_edge_entropy"] == pytest.approx((np.log(2) + np.log(18)) / 2 / np.log(10))


@pytest.mark.parametrize("graph", [nx.cycle_graph(12), nx.complete_graph(7)])
def test_equal_degrees_have_no_inequality(graph):
    found = inequality.scalars(view_of(graph), Suite.QUICK)
    assert found["gini"] == pytest.approx(0)
    assert found["gini_dpggan"] == pytest.approx(-2 / len(graph))
    assert found["relative_edge_entropy"] == pytest.approx(1)
    assert found["degree_variance"] == 0


def test_nodes_without_an_edge_raise_the_inequality():
    graph = nx.cycle_graph(4)
    graph.add_nodes_from(range(4, 8))
    found = inequality.scalars(view_of(graph), Suite.QUICK)
    assert found["gini"] == pytest.approx(0.5)
    assert found["relative_edge_entropy"] == pytest.approx(np.log(4) / np.log(8))


@pytest.mark.parametrize(
    ("graph", "mean", "longest"),
    [
        (nx.path_graph(50), 51 / 3, 49),
        (nx.cycle_graph(9), 2.5, 4),
        (nx.complete_graph(8), 1.0, 1),
        (nx.star_graph(10), 20 / 11, 2),
        (nx.petersen_graph(), 5 / 3, 2),
        (nx.complete_bipartite_graph(3, 4), (24 + 2 * 6 + 2 * 12) / 42, 2),
        (nx.disjoint_union(nx.path_graph(2), nx.path_graph(3)), (2 + 4 + 4) / 8, 2),
        (nx.empty_graph(4), None, 0),
    ],
)
def test_path_lengths_in_closed_form(graph, mean, longest):
    found = paths.scalars(view_of(graph), Suite.STANDARD)
    assert found["characteristic_path_length"] == (None if mean is None else pytest.approx(mean))
    assert found["diameter"] == longest


def test_no_node_no_distance():
    nothing = view_of(nx.empty_graph(0))
    assert set(paths.scalars(nothing, Suite.STANDARD).values()) == {None}
    assert set(paths.distances(nothing, nothing, Suite.STANDARD).values()) == {None}


def test_path_lengths_of_a_ring_and_a_clique_differ_by_their_known_distance():
    ring, clique = view_of(nx.cycle_graph(5)), view_of(nx.complete_graph(5))
    found = paths.distances(ring, clique, Suite.STANDARD)
    # Shares at distance 0, 1, 2: 1/5, 2/5, 2/5 against 1/5, 4/5, 0.
    assert found["distance_total_variation"] == pytest.approx(0.4)
    assert found["distance_kolmogorov_smirnov"] == pytest.approx(0.4)
    assert found["distance_kl_divergence"] == pytest.approx(0.4 * np.log(0.5) + 0.4 * np.log(0.4 / 2.2e-16))


def test_the_same_cliques_are_the_same_communities_and_other_ones_are_not():
    cliques = nx.disjoint_union_all([nx.complete_graph(8)] * 4)
    woven = nx.relabel_nodes(cliques, {v: (v % 8) * 4 + v // 8 for v in range(32)})
    ours, theirs = view_of(cliques), view_of(woven)
    assert communities.distances(ours, view_of(cliques), Suite.STANDARD)["partition_nmi"] == 1
    # Each woven clique has two nodes of each of ours: knowing one says nothing of the other.
    assert communities.distances(ours, theirs, Suite.STANDARD)["partition_nmi"] == pytest.approx(0, abs=1e-12)
    one, halves = np.zeros(10, dtype=int), np.arange(10) % 2
    assert communities.mutual_information(one, one) == 1
    assert communities.mutual_information(one, halves) == 0


def test_centralities_of_a_star_and_a_clique_differ_by_their_known_error():
    star, clique = view_of(nx.star_graph(49)), view_of(nx.complete_graph(50))
    empty = view_of(nx.empty_graph(50))
    # The hub of a star has 1/sqrt(2); equal nodes have 1/sqrt(n) each, without edges too.
    assert eigenvector.distances(star, clique, Suite.STANDARD)["eigenvector_mae"] == pytest.approx(
        1 / np.sqrt(2) - 1 / np.sqrt(50), abs=1e-9
    )
    assert eigenvector.distances(clique, empty, Suite.STANDARD)["eigenvector_mae"] == pytest.approx(
        0, abs=1e-9
    )


def test_two_partitions_that_know_nothing_of_each_other_have_nothing_above_chance():
    few, many = np.arange(240) // 60, np.arange(240) // 2
    rng = np.random.default_rng(2)
    assert communities.above_chance(few, few) == 1
    # Many small parts share information with any others: chance alone.
    shuffled = rng.permutation(many)
    assert communities.mutual_information(many, shuffled) > 0.7
    assert communities.above_chance(many, shuffled) == pytest.approx(0, abs=0.05)
    assert (
        communities.above_chance(few, np.where(rng.random(240) < 0.3, rng.integers(4, size=240), few)) > 0.3
    )
    one = np.zeros(9, dtype=int)
    assert communities.above_chance(one, one) is None


def test_ranks_of_a_star_and_of_its_own_renaming():
    star, other = view_of(nx.star_graph(49)), view_of(nx.relabel_nodes(nx.star_graph(49), {0: 1, 1: 0}))
    same, moved = (ranks.distances(star, each, Suite.STANDARD) for each in (star, other))
    assert same == {"degree_spearman": pytest.approx(1), "top_pagerank_overlap": 1}
    # One node of fifty is above the ties of all others: -1/49 where it is another one.
    assert moved == {"degree_spearman": pytest.approx(-1 / 49), "top_pagerank_overlap": 0}
    ring = view_of(nx.cycle_graph(50))
    assert ranks.distances(ring, star, Suite.STANDARD)["degree_spearman"] is None


def test_cores_and_clustering_by_degree_in_closed_form():
    clique, path = view_of(nx.complete_graph(4)), view_of(nx.path_graph(4))
    assert cores.distances(clique, path, Suite.STANDARD)["core_total_variation"] == 1
    paw = view_of(nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)]))
    # Core numbers 2, 2, 2, 1 against 1, 1, 1, 1.
    assert cores.distances(paw, path, Suite.STANDARD)["core_total_variation"] == pytest.approx(0.75)
    # Degrees 2, 2, 3 share a bin: 1, 1 and 1/3 against none.
    found = clustering.distances(paw, path, Suite.STANDARD)["clustering_by_degree"]
    assert found == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert clustering.distances(clique, paw, Suite.STANDARD)["clustering_by_degree"] == pytest.approx(
        1 - (1 + 1 + 1 / 3) / 3
    )
    wheel = view_of(nx.wheel_graph(6))  # the hub's bin, 4-7, is not in the path: its coefficient counts whole
    assert clustering.distances(wheel, path, Suite.STANDARD)["clustering_by_degree"] == pytest.approx(
        (5 * 2 / 3 + 1 / 2) / 6
    )
    assert clustering.distances(path, clique, Suite.STANDARD)["clustering_by_degree"] == 1


@pytest.mark.parametrize(
    ("graph", "radius"), [(nx.complete_graph(50), 49), (nx.star_graph(49), 7), (nx.empty_graph(5), 0)]
)
def test_the_spectral_radius_in_closed_form(graph, radius):
    assert eigenvector.scalars(view_of(graph), Suite.STANDARD)["spectral_radius"] == pytest.approx(radius)


def test_the_largest_degree_counts_in_the_cosine():
    """In the published loop these two would be one: it leaves out each graph's own largest degree."""
    tail = np.array([1] * 4 + [2] * 3)
    ours, theirs = np.append(tail, 9), np.append(tail, 30)
    assert degrees.cosine(ours, theirs) == pytest.approx(25 / 26)
    assert degrees.cosine(np.append(tail, 49), np.append(tail, 3000)) == 1
    assert degrees.cosine(np.array([0, 0]), np.array([1, 1])) == 0
    assert degrees.cosine(np.array([], dtype=int), tail) is None


def test_every_metric_has_its_own_name_and_says_what_it_means():
    metrics = catalogue.SCALARS + catalogue.DISTANCES
    names = [metric.name for metric in metrics]
    assert len(set(names)) == len(names)
    for metric in metrics:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", metric.name)
        assert metric.title
        assert len(metric.definition) > 10
    assert all(metric.better is None for metric in catalogue.SCALARS)
    assert all(metric.better in ("lower", "higher") for metric in catalogue.DISTANCES)


@pytest.mark.parametrize("suite", [Suite.QUICK, Suite.STANDARD])
@pytest.mark.parametrize("graph", [nx.empty_graph(0), nx.empty_graph(3), nx.karate_club_graph()])
def test_every_suite_gives_every_one_of_its_metrics(graph, suite):
    row = compared(view_of(graph), view_of(graph), suite)
    assert list(row["scalars"]) == [metric.name for metric in of_suite(catalogue.SCALARS, suite)]
    assert list(row["distances"]) == [metric.name for metric in of_suite(catalogue.DISTANCES, suite)]


def test_the_karate_club_has_its_published_figures():
    found = scalars_of(view_of(nx.karate_club_graph()), Suite.STANDARD)
    assert (found["edges"], found["triangles"], found["diameter"]) == (78, 45, 5)
    assert found["characteristic_path_length"] == pytest.approx(2.4082, abs=5e-5)
    assert found["transitivity"] == pytest.approx(0.2557, abs=5e-5)
    assert found["mean_local_clustering"] == pytest.approx(0.5706, abs=5e-5)
    assert found["assortativity"] == pytest.approx(-0.4756, abs=5e-5)
    assert found["modularity"] == pytest.approx(0.4198, abs=5e-5)  # the maximum (Brandes et al. 2008)


def test_the_catalogue_imports_no_heavy_library():
    heavy = {"torch", "networkit", "numba", "sklearn", "networkx"}
    script = f"import core.evaluation.catalogue, sys; print(sorted({heavy!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_suite_quick_partitions_no_graph_that_would_take_minutes(monkeypatch):
    view = UndirectedView.of_pairs(4, np.array([0, 1, 2]), np.array([1, 2, 3]))
    assert communities.scalars(view, Suite.QUICK)["modularity"] is not None
    monkeypatch.setattr(communities, "QUICK_EDGES", 2)
    assert communities.scalars(view, Suite.QUICK) == {"modularity": None, "communities": None}
    assert communities.scalars(view, Suite.STANDARD)["modularity"] is not None
