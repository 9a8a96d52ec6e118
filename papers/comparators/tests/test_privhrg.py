"""PrivHRG: budget, dendrograms, the chain that sees noisy counts only, and graphs at the limits."""

import networkx as nx
import numpy as np
import pytest
from pydantic import ValidationError

from core.methods.base import no_progress
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.entropy import public_generator
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateCell
from papers.comparators.privhrg import GENERATOR, PrivHRGParams, markov_chain
from papers.comparators.privhrg.draw import ancestors, draw, layout
from papers.comparators.privhrg.markov_chain import balanced, fitted
from tests.support.metered_outputs import fit_static, static_graph

HUGE = 900.0


@pytest.fixture
def rng():
    return np.random.default_rng(6)


def sampled(graph: nx.Graph, params=None, epsilon=HUGE) -> nx.Graph:
    count = graph.number_of_nodes()
    params = params or PrivHRGParams()
    model, _ = fit_static(GENERATOR, params, static_graph(count, graph.edges()), epsilon)
    table = model.sample(public_generator(3), no_progress).edges["edge"]
    drawn = nx.empty_graph(count)
    drawn.add_edges_from(zip(table.source.tolist(), table.target.tolist(), strict=True))
    return drawn


def test_the_budget_is_spent_to_the_last_nano():
    params = PrivHRGParams(adjust_share=0.5, evidence_share=0.1)
    _, meter = fit_static(GENERATOR, params, static_graph(60, [(0, 1), (1, 2)]), 2.0)
    assert {e.purpose: pure_nano_epsilon(e.event) for e in meter.transcript} == {
        "leaves": 1_000_000_000,
        "evidence": 200_000_000,
        "edges of dendrogram nodes": 800_000_000,
    }


@pytest.mark.parametrize("leaves", [1, 2, 3, 7, 16, 33])
def test_every_walk_ends_in_a_dendrogram(leaves, rng):
    """A binary tree over all leaves, whose ancestors agree with a plain search."""
    weights = rng.random((leaves, leaves)) * 9
    children = fitted(weights + weights.T, np.full(leaves, 4), 500, rng)
    tree = nx.DiGraph([(n, int(c)) for n, pair in enumerate(children) for c in pair if c >= 0])
    tree.add_node(2 * leaves - 2)
    assert nx.is_arborescence(tree)
    assert sorted(n for n in tree if tree.out_degree(n) == 0) == list(range(leaves))
    position, spans = layout(children, leaves)
    assert sorted(position.tolist()) == list(range(leaves))
    table = ancestors(spans, leaves)
    pairs = [(a, b) for a in range(leaves) for b in range(a, leaves)]
    for (a, b), found in nx.tree_all_pairs_lowest_common_ancestor(tree, 2 * leaves - 2, pairs):
        assert table[position[a], position[b]] == table[position[b], position[a]] == found


def test_the_chain_finds_planted_groups(rng):
    """Four dense groups of eight leaves: after the walk, most dense pairs meet low in the dendrogram."""
    group = rng.permutation(np.repeat(np.arange(4), 8))
    dense = group[:, None] == group
    weights = np.where(dense, 40.0, 0.5)
    np.fill_diagonal(weights, 0)

    def size_at_meeting(children):
        position, spans = layout(children, 32)
        met = ancestors(spans, 32)[np.ix_(position, position)]
        return (spans[:, 2] - spans[:, 0])[met][dense].mean()

    start = size_at_meeting(balanced(32))
    found = size_at_meeting(fitted(weights, np.full(32, 10), 32 * 1_000, rng))
    assert found < 0.6 * start


def test_steps_are_fixed_before_any_data_is_read(monkeypatch):
    """The published program stops when its private likelihood looks settled."""
    seen = []
    true = markov_chain._walk
    monkeypatch.setattr(markov_chain, "_walk", lambda *given: seen.append(given[3]) or true(*given))
    params = PrivHRGParams.varied(leaves=8, steps_per_leaf=25, adjust_share=1e-9)
    for graph in (nx.empty_graph(40), nx.star_graph(39), nx.complete_graph(40)):
        fit_static(GENERATOR, params, static_graph(40, graph.edges()), 1.0)
    assert seen == [200, 200, 200]


def test_the_chain_reads_noisy_counts_only(monkeypatch):
    """With the same leaves and noisy evidence, two different graphs walk to the same dendrogram."""
    told = []

    def constant(values, l1_sensitivity, nano_epsilon, **options):
        told.append(values.copy())
        return np.arange(len(values)) % 5

    monkeypatch.setattr(mechanisms, "discrete_laplace", constant)
    monkeypatch.setattr("core.privacy.entropy.noise_generator", lambda: np.random.default_rng(1))
    monkeypatch.setattr(PrivateCell, "exponential_labels", lambda self, **given: given["labels"])
    params = PrivHRGParams.varied(leaves=6)
    models = [
        fit_static(GENERATOR, params, static_graph(30, graph.edges()), 1.0)[0]
        for graph in (nx.empty_graph(30), nx.path_graph(30))
    ]
    assert told[0].sum() == 0 < told[2].sum() == 29
    first, second = (model.cells["edge", None] for model in models)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def test_totals_of_dendrogram_nodes_come_back():
    graph = nx.gnp_random_graph(300, 0.05, seed=3)
    drawn = sampled(graph)
    assert abs(drawn.number_of_edges() - graph.number_of_edges()) <= 1


def test_communities_come_back():
    """Two dense halves with a few edges between: they are as dense in the drawn graph."""
    graph = nx.planted_partition_graph(2, 60, 0.5, 0.01, seed=1)
    half = np.arange(120) // 60

    def across() -> int:
        return sum(half[u] != half[v] for u, v in sampled(graph, PrivHRGParams.varied(leaves=6)).edges())

    # Unrelated halves would have half of all 1800 edges across. One chain of forty gets stuck there.
    assert np.median([across() for _ in range(11)]) < 600


def test_a_leaf_and_a_rectangle_are_drawn_inside_their_spans():
    columns = {
        "order": np.array([4, 2, 0, 1, 3]),
        "start": np.array([0, 2, 0]),
        "middle": np.array([0, 2, 2]),
        "stop": np.array([2, 5, 5]),
        "edges": np.array([1.0, 3.0, 6.0]),
    }
    assert len(draw(columns, 5, PrivHRGParams(), public_generator(1))) == 10
    columns["edges"] = np.array([1.0, 0.0, 0.0])
    assert draw(columns, 5, PrivHRGParams(), public_generator(1)).tolist() == [2 * 5 + 4]


@pytest.mark.parametrize(
    "graph",
    [nx.empty_graph(1), nx.empty_graph(2), nx.empty_graph(30), nx.complete_graph(30), nx.path_graph(2)],
    ids=["one", "two", "empty", "complete", "pair"],
)
def test_graphs_at_the_limits_come_back(graph):
    drawn = sampled(graph)
    assert drawn.number_of_nodes() == graph.number_of_nodes()
    assert drawn.number_of_edges() == graph.number_of_edges()


@pytest.mark.parametrize(
    "wrong",
    [{"adjust_share": 0}, {"adjust_share": 0.8, "evidence_share": 0.2}],
)
def test_parameters_have_bounds(wrong):
    with pytest.raises(ValidationError):
        PrivHRGParams.model_validate(wrong)
