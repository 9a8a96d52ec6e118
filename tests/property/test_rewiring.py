"""Rewiring against NetworkX: degrees and block totals stay, counts are true, targets are met or neared."""

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.methods._shared.rewiring.clustering import ToldClustering
from core.methods._shared.rewiring.triangles import FULL_ENDS, Targets, proposals_for, rewired
from core.privacy.accounting.events import NANO
from core.privacy.entropy import public_generator
from tests.support.groups import examples


def keys_of(graph, nodes):
    pairs = np.array([sorted(edge) for edge in graph.edges()], dtype=np.int64).reshape(-1, 2)
    return np.sort(pairs[:, 0] * nodes + pairs[:, 1])


def graph_of(keys, nodes):
    graph = nx.empty_graph(nodes)
    graph.add_edges_from(zip(*(part.tolist() for part in np.divmod(keys, nodes)), strict=True))
    return graph


def triangles(graph):
    return sum(nx.triangles(graph).values()) // 3


def product_sum(graph):
    return sum(graph.degree(u) * graph.degree(v) for u, v in graph.edges())


def block_totals(graph, labels):
    found = {}
    for u, v in graph.edges():
        pair = tuple(sorted((int(labels[u]), int(labels[v]))))
        found[pair] = found.get(pair, 0) + 1
    return found


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_degrees_and_blocks_stay_and_triangles_come_no_further_from_the_target(data):
    nodes = data.draw(st.integers(1, 30))
    seed = data.draw(st.integers(0, 2**32 - 1))
    before = nx.gnp_random_graph(nodes, data.draw(st.floats(0, 1)), seed=seed)
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes)))
    target = data.draw(st.integers(-5, 400))
    keys = rewired(keys_of(before, nodes), nodes, labels, Targets(target), 3_000, public_generator(seed))
    after = graph_of(keys, nodes)
    assert (np.diff(keys) > 0).all()
    assert nx.number_of_selfloops(after) == 0
    assert after.number_of_edges() == before.number_of_edges() == len(keys)
    assert dict(after.degree()) == dict(before.degree())
    assert block_totals(after, labels) == block_totals(before, labels)
    start, end = triangles(before), triangles(after)
    if start < target:
        assert end >= start
    else:
        assert abs(end - target) <= abs(start - target)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_the_product_sum_comes_no_further_from_its_aim(data):
    """But where it was raised and made more triangles than there should be: it may go back as far again."""
    nodes, seed = data.draw(st.integers(4, 40)), data.draw(st.integers(0, 2**32 - 1))
    before = nx.gnp_random_graph(nodes, data.draw(st.floats(0.05, 0.6)), seed=seed)
    start = product_sum(before)
    aim = int(start * data.draw(st.floats(0.7, 1.3)))
    labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=nodes, max_size=nodes)))
    targets = Targets(data.draw(st.integers(0, 300)), aim, 0.02)
    after = graph_of(
        rewired(keys_of(before, nodes), nodes, labels, targets, 3_000, public_generator(seed)), nodes
    )
    assert dict(after.degree()) == dict(before.degree())
    assert block_totals(after, labels) == block_totals(before, labels)
    way = abs(start - aim) * (2 if aim > start else 1)
    assert abs(product_sum(after) - aim) <= max(way, int(0.02 * abs(aim)))


def test_targets_are_met_where_there_is_room():
    before = nx.barabasi_albert_graph(600, 6, seed=4)
    labels = np.arange(600) % 2
    start, products = triangles(before), product_sum(before)
    for wanted, aim in ((3 * start, None), (3 * start, int(0.97 * products)), (start // 3, products)):
        targets = Targets(wanted, aim, 0.01)
        keys = rewired(keys_of(before, 600), 600, labels, targets, 2_000_000, public_generator(5))
        after = graph_of(keys, 600)
        assert abs(triangles(after) / wanted - 1) < 0.05
        if aim is not None:
            assert abs(product_sum(after) / aim - 1) <= 0.011


def test_triangles_are_closed_where_the_product_sum_cannot_be_reached():
    """Noise may ask hubs for fewer degree products than any graph of these degrees has."""
    before = nx.barabasi_albert_graph(400, 3, seed=4)
    target = triangles(before) + 60
    targets = Targets(target, product_sum=0, band=0.01)
    keys = rewired(keys_of(before, 400), 400, np.zeros(400, dtype=int), targets, 200_000, public_generator(5))
    after = graph_of(keys, 400)
    assert abs(triangles(after) - target) <= 20
    assert product_sum(after) < product_sum(before)


def test_triangles_and_clustering_are_met_together():
    """As many triangles, at nodes of few edges or of many: rewiring to the triangles alone lies between."""
    before = nx.barabasi_albert_graph(600, 6, seed=4)
    labels, wanted = np.arange(600) % 2, 3 * triangles(before)

    def at(**aims):
        keys = rewired(
            keys_of(before, 600), 600, labels, Targets(wanted, **aims), 2_000_000, public_generator(5)
        )
        after = graph_of(keys, 600)
        assert dict(after.degree()) == dict(before.degree())
        assert block_totals(after, labels) == block_totals(before, labels)
        degrees = np.array([after.degree(v) for v in range(600)])
        weights = ToldClustering(0.0, 8, NANO).weights(degrees)
        return triangles(after), float(np.array([nx.triangles(after, v) for v in range(600)]) @ weights)

    _, alone = at()
    for factor in (0.85, 1.15):
        closed, clustering = at(clustering=ToldClustering(factor * alone, 8, 10**6 * NANO))
        assert abs(closed / wanted - 1) < 0.02
        assert abs(clustering / (factor * alone) - 1) < 0.03  # what is aimed at is itself on a grid of sums


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_degrees_and_blocks_stay_where_clustering_is_aimed_at(data):
    nodes, seed = data.draw(st.integers(4, 30)), data.draw(st.integers(0, 2**32 - 1))
    before = nx.gnp_random_graph(nodes, data.draw(st.floats(0.05, 0.9)), seed=seed)
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=nodes, max_size=nodes)))
    told = ToldClustering(data.draw(st.floats(-5, 40)), 8, 10**3 * NANO)
    aim = data.draw(st.sampled_from([None, product_sum(before)]))
    targets = Targets(data.draw(st.integers(-5, 300)), aim, 0.05, told)
    keys = rewired(keys_of(before, nodes), nodes, labels, targets, 3_000, public_generator(seed))
    after = graph_of(keys, nodes)
    assert (np.diff(keys) > 0).all()
    assert nx.number_of_selfloops(after) == 0
    assert dict(after.degree()) == dict(before.degree())
    assert block_totals(after, labels) == block_totals(before, labels)
    if aim is not None:
        assert abs(product_sum(after) - aim) <= int(0.05 * aim)


def test_same_generator_state_same_graph():
    keys, labels = keys_of(nx.gnp_random_graph(80, 0.1, seed=1), 80), np.zeros(80, dtype=np.int64)
    one, other = (rewired(keys, 80, labels, Targets(500), 5_000, public_generator(9)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, keys)


def test_no_proposals_no_change():
    keys = keys_of(nx.gnp_random_graph(50, 0.2, seed=1), 50)
    np.testing.assert_array_equal(
        rewired(keys, 50, np.zeros(50, dtype=np.int64), Targets(10**6, 10**9), 0, public_generator(1)), keys
    )


def test_proposals_grow_with_the_square_root_on_large_graphs():
    assert proposals_for(0, 40) == 0
    assert proposals_for(1_000, 40) == 80_000
    assert proposals_for(FULL_ENDS // 2, 1) == FULL_ENDS
    assert proposals_for(8 * FULL_ENDS, 1) == 4 * FULL_ENDS
