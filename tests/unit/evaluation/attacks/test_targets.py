"""Targets: half links, half pairs without one, of the same degrees."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from core.evaluation.attacks.negatives import wrong_classes
from core.evaluation.attacks.pairs import are_linked, pair_keys
from core.evaluation.attacks.targets import draw_targets
from core.evaluation.view import UndirectedView
from core.privacy.entropy import public_generator
from tests.support.attacked_graphs import bipartite_view, clustered, clustered_bipartite, view_of

KINDS = ("degree_matched", "uniform")


def hubs() -> UndirectedView:
    graph = nx.barabasi_albert_graph(500, 6, seed=3)
    pairs = np.array(sorted(graph.edges))
    return view_of(500, (pairs[:, 0], pairs[:, 1]))


VIEWS = {
    "clustered": lambda: view_of(400, clustered()),
    "hubs": hubs,
    "bipartite": lambda: bipartite_view(240, 240, clustered_bipartite()),
}


@pytest.fixture(params=VIEWS)
def view(request) -> UndirectedView:
    return VIEWS[request.param]()


@pytest.mark.parametrize("negatives", KINDS)
@pytest.mark.parametrize("limit", [400, 10**6])
def test_half_are_links_half_are_not_and_no_pair_is_there_twice(view, negatives, limit):
    targets = draw_targets(view, limit, 1, negatives)
    linked = set(zip(view.u.tolist(), view.v.tolist(), strict=True))
    for s, t, label in zip(targets.source.tolist(), targets.target.tolist(), targets.label, strict=True):
        assert s != t
        assert ((min(s, t), max(s, t)) in linked) == label
    keys = pair_keys(view.node_count, targets.source, targets.target)
    assert len(np.unique(keys)) == len(keys)
    assert targets.positives == min(limit // 2, view.edge_count)
    assert targets.negatives >= 0.99 * targets.positives
    if view.bipartite:
        assert targets.source.max() < view.source_count <= targets.target.min()


def test_every_node_stands_in_as_many_matched_negatives_as_positives(view):
    targets = draw_targets(view, 2000, 2)
    assert targets.negatives == targets.positives == 1000
    ends = np.stack([targets.source, targets.target])
    counts = [np.bincount(ends[:, chosen].ravel()) for chosen in (targets.label, ~targets.label)]
    assert np.array_equal(*(np.pad(c, (0, view.node_count - len(c))) for c in counts))


def test_uniform_negatives_are_uniform():
    # A path of four nodes: three pairs without a link, each drawn about as often.
    view = view_of(4, (np.array([0, 1, 2]), np.array([1, 2, 3])))
    seen = np.zeros(3)
    for seed in range(600):
        targets = draw_targets(view, 2, seed, "uniform")
        pair = targets.source[1], targets.target[1]
        seen[[(0, 2), (0, 3), (1, 3)].index(pair)] += 1
    assert seen.sum() == 600
    assert seen.min() > 150  # expected 200, standard deviation 11.5; the seeds are fixed


@pytest.mark.parametrize("negatives", KINDS)
def test_a_complete_graph_has_no_negatives_and_an_empty_one_no_targets(negatives):
    full = view_of(6, np.triu_indices(6, 1))
    targets = draw_targets(full, 100, 1, negatives)
    assert (targets.positives, targets.negatives) == (15, 0)
    none = np.empty(0, dtype=np.int64)
    for nodes in (0, 5):
        assert len(draw_targets(view_of(nodes, (none, none)), 100, 1, negatives).label) == 0


def test_given_links_are_the_positives_and_no_other_link_becomes_a_negative(view):
    secret = view.u[::7], view.v[::7]
    for negatives in KINDS:
        targets = draw_targets(view, 10**6, 4, negatives, positives=secret)
        chosen = pair_keys(view.node_count, targets.source[targets.label], targets.target[targets.label])
        assert set(chosen) == set(pair_keys(view.node_count, *secret))
        wrong = ~targets.label
        assert not are_linked(view, targets.source[wrong], targets.target[wrong]).any()


def test_a_seed_fixes_the_targets_and_a_smaller_limit_takes_the_first_positives():
    view = hubs()
    one, same, other = (draw_targets(view, 200, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.source, same.source)
    assert np.array_equal(one.target, same.target)
    assert not np.array_equal(one.source[:100], other.source[:100])
    assert np.array_equal(draw_targets(view, 60, 1).source[:30], one.source[:30])


def test_classes_are_dealt_wrongly_and_as_often_as_they_occur():
    classes = np.repeat([0, 1, 2, 3], [150, 90, 80, 40])
    places, wrong = wrong_classes(classes, public_generator(1))
    assert len(places) == len(classes)
    assert np.array_equal(np.bincount(wrong), np.bincount(classes))
    assert (wrong != classes[places]).all()
    # One class holds more than half: only as many places as others can be dealt to it.
    places, wrong = wrong_classes(np.repeat([0, 1], [90, 10]), public_generator(1))
    assert len(places) == 20
    assert np.bincount(wrong).tolist() == [10, 10]
