"""Motif counts in closed form, sampled ones against exact ones, and the distances."""

from __future__ import annotations

from math import comb

import networkx as nx
import numpy as np
import pytest

from core.evaluation.metric import Estimate, Suite
from core.evaluation.utility import motifs
from core.evaluation.utility.motifs import five, four, graphlets, sampled
from core.evaluation.utility.relative import plain
from core.evaluation.view import UndirectedView
from tests.support.groups import in_part


def view(graph: nx.Graph) -> UndirectedView:
    pairs = np.array(list(nx.convert_node_labels_to_integers(graph).edges), dtype=np.int64).reshape(-1, 2)
    return UndirectedView.of_pairs(graph.number_of_nodes(), pairs[:, 0], pairs[:, 1])


def sides(a: int, b: int) -> UndirectedView:
    """The complete bipartite relation between a and b nodes."""
    u, v = np.divmod(np.arange(a * b), b)
    return UndirectedView(a + b, u, v + a, True, a, a * b, a * b, {})


def counts(graph: nx.Graph | UndirectedView) -> dict:
    """All motifs that occur."""
    seen = graph if isinstance(graph, UndirectedView) else view(graph)
    return {name: value for name, value in motifs.scalars(seen, Suite.FULL).items() if value != 0}


def clustered(seed: int, n: int = 300) -> nx.Graph:
    return nx.powerlaw_cluster_graph(n, 5, 0.6, seed=seed)


def test_the_29_graphlets_are_all_connected_graphs_on_3_to_5_nodes():
    atlas = [g for g in nx.graph_atlas_g() if 3 <= len(g) <= 5 and nx.is_connected(g)]
    drawn = [nx.Graph(graphlet.edges) for graphlet in graphlets.GRAPHLETS]
    assert len(atlas) == len(drawn) == 29
    for graph in atlas:
        assert sum(nx.is_isomorphic(graph, other) for other in drawn) == 1


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("motif_4_paw", nx.Graph([(0, 1), (1, 2), (2, 0), (0, 3)])),
        ("motif_4_diamond", nx.Graph([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)])),
        ("motif_5_bull", nx.bull_graph()),
        ("motif_5_house", nx.house_graph()),
        ("motif_5_wheel", nx.wheel_graph(5)),
        ("motif_5_lollipop", nx.lollipop_graph(3, 2)),
        ("motif_5_clique_pendant", nx.lollipop_graph(4, 1)),
        ("motif_5_banner", nx.tadpole_graph(4, 1)),
        ("motif_5_butterfly", nx.windmill_graph(2, 3)),
        ("motif_5_k23", nx.complete_bipartite_graph(2, 3)),
        ("motif_5_book", nx.complete_multipartite_graph(1, 1, 3)),
        ("motif_5_clique_minus_edge", nx.turan_graph(5, 4)),
        ("motif_5_fork", nx.Graph([(0, 1), (0, 2), (0, 3), (3, 4)])),
        ("motif_5_gem", nx.complement(nx.Graph([(0, 1), (1, 2), (2, 3), (4, 4)]))),
        ("motif_5_kite", nx.complement(nx.Graph([(0, 1), (0, 2), (0, 3), (3, 4)]))),
        ("motif_5_braced_house", nx.complement(nx.Graph([(0, 1), (1, 2), (3, 4)]))),
    ],
)
def test_a_graph_with_a_name_is_the_one_motif_of_that_name(name, graph):
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    of_its_size = {key: value for key, value in counts(graph).items() if f"_{len(graph)}_" in key}
    assert of_its_size == {name: 1}


def test_complete_graphs_cycles_stars_and_bipartite_cliques_have_their_closed_forms():
    assert counts(nx.complete_graph(70)) == {
        "motif_3_triangle": comb(70, 3),
        "motif_4_clique": comb(70, 4),
        "motif_5_clique": comb(70, 5),
    }
    assert counts(nx.cycle_graph(90)) == {f"motif_{size}_path": 90 for size in (3, 4, 5)}
    assert counts(nx.star_graph(80)) == {
        "motif_3_path": comb(80, 2),
        "motif_4_star": comb(80, 3),
        "motif_5_star": comb(80, 4),
    }
    for found in (counts(nx.complete_bipartite_graph(9, 14)), counts(sides(9, 14))):
        assert found == {
            "motif_3_path": 9 * comb(14, 2) + 14 * comb(9, 2),
            "motif_4_star": 9 * comb(14, 3) + 14 * comb(9, 3),
            "motif_4_cycle": comb(9, 2) * comb(14, 2),
            "motif_5_star": 9 * comb(14, 4) + 14 * comb(9, 4),
            "motif_5_k23": comb(9, 2) * comb(14, 3) + comb(9, 3) * comb(14, 2),
        }


def test_the_petersen_graph_has_its_twelve_pentagons():
    assert counts(nx.petersen_graph()) == {
        "motif_3_path": 30,
        "motif_4_path": 60,
        "motif_4_star": 10,
        "motif_5_path": 60,
        "motif_5_fork": 60,
        "motif_5_cycle": 12,
    }


def test_without_edges_there_are_no_motifs_and_no_distances():
    for graph in (nx.empty_graph(0), nx.empty_graph(6), nx.path_graph(2)):
        assert counts(graph) == {}
        found = motifs.distances(view(graph), view(nx.complete_graph(6)), Suite.FULL)
        assert found == dict.fromkeys(("motif_total_variation_4", "motif_total_variation_5", "motif_cosine"))


def test_a_suite_computes_its_own_sizes_only():
    seen = view(clustered(1))
    standard = motifs.scalars(seen, Suite.STANDARD)
    assert list(standard) == [m.name for m in motifs.SCALARS if m.suite is Suite.STANDARD]
    assert len(standard) == 8
    assert len(motifs.scalars(seen, Suite.FULL)) == 29
    assert list(motifs.distances(seen, seen, Suite.STANDARD)) == ["motif_total_variation_4"]


def test_distances_are_zero_to_itself_and_largest_to_a_graph_without_common_shapes():
    ours, theirs = view(nx.complete_graph(9)), view(nx.cycle_graph(9))
    assert motifs.distances(ours, ours, Suite.FULL) == {
        "motif_total_variation_4": 0.0,
        "motif_total_variation_5": 0.0,
        "motif_cosine": pytest.approx(1.0),
    }
    assert motifs.distances(ours, theirs, Suite.FULL) == {
        "motif_total_variation_4": 1.0,
        "motif_total_variation_5": 1.0,
        "motif_cosine": 0.0,
    }


def test_a_distance_is_computed_from_shares():
    ours, theirs = view(nx.star_graph(5)), view(nx.Graph([(0, 1), (0, 2), (0, 3), (3, 4)]))
    # Star of 5: only 4-stars. The fork: two paths of 4 nodes, one star.
    assert motifs.distances(ours, theirs, Suite.STANDARD)["motif_total_variation_4"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(("size", "exact"), [(4, four.induced_four), (5, five.induced_five)])
def test_the_error_bars_of_sampled_counts_cover_the_exact_ones(size, exact):
    within, scores = [], []
    for seed in range(12):
        seen = view(clustered(seed))
        true = exact(seen)
        for name, estimate in sampled.induced(seen, size, seed=seed, draws=20_000).items():
            gap = estimate.value - true[name]
            within.append(abs(gap) <= 1.96 * estimate.standard_error)
            if estimate.value > 25 * estimate.standard_error:
                scores.append(gap / estimate.standard_error)
    assert np.mean(within) > 0.9
    # Where hits are many the scores are standard normal: neither biased nor with too wide or narrow a bar.
    assert abs(np.mean(scores)) < 4 / np.sqrt(len(scores))
    assert 0.8 < np.std(scores) < 1.2


def test_sampled_counts_are_repeatable_and_know_what_cannot_be():
    seen = view(clustered(3))
    assert sampled.induced(seen, 5, draws=500) == sampled.induced(seen, 5, draws=500)
    assert set(sampled.induced(view(nx.empty_graph(9)), 5).values()) == {0}
    both = sampled.induced(sides(6, 9), 5, draws=5_000)
    assert both["motif_5_house"] == 0
    assert isinstance(both["motif_5_k23"], Estimate)
    assert both["motif_5_k23"].value == pytest.approx(15 * 84 + 20 * 36, rel=0.05)


@in_part("module", [four, five], 1)
def test_above_its_bound_a_size_is_sampled(monkeypatch, module):
    monkeypatch.setattr(module, "MOST_COST", 10)
    exact, found = (motifs.scalars(view(clustered(5)), suite) for suite in (Suite.STANDARD, Suite.FULL))
    assert all(isinstance(value, Estimate) == (module is four) for value in list(exact.values())[2:])
    assert all(isinstance(value, Estimate) for value in list(found.values())[8:])
    assert all(isinstance(found[f"motif_3_{name}"], int) for name in ("path", "triangle"))
    monkeypatch.undo()
    true = motifs.scalars(view(clustered(5)), Suite.FULL)
    shares = {name: plain(value) / true[name] for name, value in found.items() if true[name] > 1e5}
    assert len(shares) > 8
    assert list(shares.values()) == pytest.approx([1.0] * len(shares), rel=0.05)


def test_too_many_triangles_for_their_lists_are_sampled(monkeypatch):
    monkeypatch.setattr(five, "MOST_LISTED", 3 * comb(8, 3) - 1)
    assert five.induced_five(view(nx.complete_graph(8))) is None
    assert five.induced_five(view(nx.complete_graph(7))) is not None


def test_totals_are_exact_beyond_64_bits():
    assert four.total(np.full(9, 2**62)) == 9 * 2**62
    assert four.total(np.array([-5, 2**62, -(2**62)])) == -5
    assert four.stars(np.array([10**6, 2]), 4) == comb(10**6, 4)


def test_rows_of_many_words_and_unequal_neighbours_are_intersected_alike():
    """A hub with 3 000 leaves and a clique: long bit rows, and neighbours found by bisection."""
    graph = nx.disjoint_union(nx.complete_graph(12), nx.star_graph(3_000))
    graph.add_edges_from((node, 12) for node in range(12))
    found = counts(graph)
    assert found["motif_4_clique"] == comb(13, 4)
    assert found["motif_5_clique"] == comb(13, 5)
    assert found["motif_5_clique_pendant"] == 3_000 * comb(12, 3)
    assert found["motif_5_cricket"] == comb(12, 2) * comb(3_000, 2)
