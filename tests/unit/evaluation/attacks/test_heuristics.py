"""Proximity scores against NetworkX and against an enumeration of paths."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.evaluation.attacks import heuristics
from tests.support.attacked_graphs import bipartite_view, clustered, clustered_bipartite, view_of
from tests.support.groups import examples

WEIGHTS = {"common": lambda d: 1.0, "adamic_adar": lambda d: 1 / math.log(d), "resource": lambda d: 1 / d}
graphs = st.tuples(st.integers(2, 16), st.sampled_from([0.1, 0.3, 0.7]), st.integers(0, 2**31))


def all_pairs(n: int):
    source, target = np.triu_indices(n, 1)
    return source.astype(np.int64), target.astype(np.int64)


@given(graphs)
@settings(deadline=None, max_examples=examples(60))
def test_neighbour_scores_are_those_of_networkx(drawn):
    n, share, seed = drawn
    graph = nx.gnp_random_graph(n, share, seed=seed)
    links = np.array(sorted(graph.edges), dtype=np.int64).reshape(-1, 2)
    view = view_of(n, (links[:, 0], links[:, 1]))
    source, target = all_pairs(n)
    ebunch = list(zip(source.tolist(), target.tolist(), strict=True))
    expected = {
        "common": [len(list(nx.common_neighbors(graph, s, t))) for s, t in ebunch],
        "adamic_adar": [value for _, _, value in nx.adamic_adar_index(graph, ebunch)],
        "resource": [value for _, _, value in nx.resource_allocation_index(graph, ebunch)],
    }
    for kind, values in expected.items():
        assert heuristics.proximity(view, source, target, kind) == pytest.approx(values)
    control = heuristics.PreferentialAttachment().score(view, source, target, 0)
    assert control.tolist() == [v for _, _, v in nx.preferential_attachment(graph, ebunch)]
    linked = heuristics.Adjacency().score(view, source, target, 0)
    assert linked.tolist() == [float(graph.has_edge(s, t)) for s, t in ebunch]


@given(st.integers(1, 7), st.integers(1, 7), st.sampled_from([0.2, 0.5, 0.9]), st.integers(0, 2**31))
@settings(deadline=None, max_examples=examples(60))
def test_bipartite_scores_count_every_path_of_three_links(left, right, share, seed):
    present = np.random.default_rng(seed).random((left, right)) < share
    view = bipartite_view(left, right, np.nonzero(present))
    degrees = view.degrees
    source, target = np.divmod(np.arange(left * right), right)
    for kind, weight in WEIGHTS.items():
        found = heuristics.proximity(view, source, target + left, kind)
        for s, t, value in zip(source, target, found, strict=True):
            paths = sum(
                weight(degrees[left + b]) * weight(degrees[a])
                for a in range(left)
                for b in range(right)
                if a != s and b != t and present[s, b] and present[a, b] and present[a, t]
            )
            assert value == pytest.approx(paths, abs=1e-9)


def test_chunks_change_nothing(monkeypatch):
    view = view_of(400, clustered())
    source, target = np.random.default_rng(2).integers(0, 400, (2, 500))
    whole = heuristics.proximity(view, source, target, "adamic_adar")
    monkeypatch.setattr(heuristics, "CHUNK", 50)
    assert heuristics.proximity(view, source, target, "adamic_adar") == pytest.approx(whole)


def test_fewer_targets_are_affordable_where_degrees_are_great(monkeypatch):
    plain, sides = view_of(400, clustered()), bipartite_view(240, 240, clustered_bipartite())
    costs = [
        np.mean([plain.degrees[u] + plain.degrees[v] for u, v in zip(plain.u, plain.v, strict=True)]),
        np.mean([sides.degrees[sides.adjacency[[u]].indices].sum() for u in sides.u]),
    ]
    for view, cost in zip((plain, sides), costs, strict=True):
        monkeypatch.setattr(heuristics, "WORK", int(5000 * cost) + 1)
        assert heuristics.affordable(view) == 5000
        monkeypatch.setattr(heuristics, "WORK", 1)
        assert heuristics.affordable(view) == heuristics.FEWEST_TARGETS


def test_no_targets_no_scores():
    view = view_of(400, clustered())
    none = np.empty(0, dtype=np.int64)
    assert [len(scorer.score(view, none, none, 0)) for scorer in heuristics.SCORERS] == [0] * 5


def test_names_differ_and_fit_the_report():
    names = [scorer.name for scorer in heuristics.SCORERS]
    assert len(set(names)) == len(names)
