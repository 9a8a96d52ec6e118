"""Matching of degrees and block totals, against NetworkX's graphicality test and plain counting."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.degrees.counts import integers, to_total
from core.methods._shared.matching import keyset
from core.methods._shared.matching.exact import completed, matched, one_block
from tests.support.groups import examples


@pytest.fixture
def rng():
    return np.random.default_rng(8)


def degrees_of(keys, nodes):
    return np.bincount(np.concatenate(np.divmod(keys, nodes)), minlength=nodes)


def plain(degrees, rng, taken=None):
    degrees = np.asarray(degrees, dtype=np.int64)
    return matched(degrees, np.zeros(len(degrees), dtype=np.int64), one_block(degrees.sum()), rng, taken)


@pytest.mark.parametrize(
    "graph",
    [
        nx.barabasi_albert_graph(2_000, 6, seed=1),
        nx.star_graph(60),
        nx.complete_graph(40),
        nx.complete_multipartite_graph(12, 12),
        nx.empty_graph(5),
        nx.gnp_random_graph(120, 0.9, seed=2),
    ],
    ids=["hubs", "star", "complete", "bipartite", "empty", "dense"],
)
def test_graphical_degrees_are_met_exactly(graph, rng):
    degrees = np.array([degree for _, degree in sorted(graph.degree())])
    keys = plain(degrees, rng)
    assert (np.diff(keys) > 0).all()
    np.testing.assert_array_equal(degrees_of(keys, len(degrees)), degrees)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(0, 14), min_size=15, max_size=40), st.integers(0, 2**32 - 1))
def test_any_degrees_give_a_simple_graph_within_them(degrees, seed):
    """Graphical or not: no loop, no repeat, no node above its degree."""
    nodes = len(degrees)
    keys = plain(degrees, np.random.default_rng(seed))
    low, high = np.divmod(keys, nodes)
    assert (np.diff(keys) > 0).all()
    assert (low < high).all()
    if 2 * sum(degrees) <= nodes * (nodes - 1):
        assert (degrees_of(keys, nodes) <= degrees).all()


def test_edges_that_are_taken_are_not_placed_again(rng):
    nodes = 200
    first = plain(np.full(nodes, 10), rng)
    second = plain(np.full(nodes, 10), rng, taken=first)
    assert not np.intersect1d(first, second).size
    np.testing.assert_array_equal(degrees_of(second, nodes), 10)


def test_block_totals_and_degrees_together(rng):
    """The totals and degrees of a real graph: both come out as they went in."""
    graph = nx.gnp_random_graph(300, 0.05, seed=4)
    ends = np.array(graph.edges())
    labels = rng.integers(0, 4, 300)
    low, high = np.sort(labels[ends], axis=1).T
    row, column = np.triu_indices(4)
    wanted = np.bincount(low * 4 + high, minlength=16).reshape(4, 4)[row, column]
    degrees = np.bincount(ends.ravel(), minlength=300)
    keys = matched(degrees, labels, Blocks(row, column, wanted), rng)
    np.testing.assert_array_equal(degrees_of(keys, 300), degrees)
    low, high = np.sort(labels[np.stack(np.divmod(keys, 300), axis=1)], axis=1).T
    drawn = np.bincount(low * 4 + high, minlength=16).reshape(4, 4)[row, column]
    np.testing.assert_array_equal(drawn, wanted)


def test_missing_edges_are_worked_in(rng):
    """Every edge end that was taken out comes back, on hubs that hardly have a free partner too."""
    graph = nx.barabasi_albert_graph(200, 6, seed=1)
    degrees = np.array([degree for _, degree in sorted(graph.degree())])
    keys = np.sort([min(u, v) * 200 + max(u, v) for u, v in graph.edges()])
    hubs = np.flatnonzero((np.stack(np.divmod(keys, 200)) < 8).any(axis=0))
    left = np.delete(keys, hubs[::3])
    found = completed(left, degrees, rng)
    assert (np.diff(found) > 0).all()
    np.testing.assert_array_equal(degrees_of(found, 200), degrees)


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.95])
def test_completed_graphs_are_simple_and_lack_next_to_nothing(kept, rng):
    """Half of the missing ends are of a few nodes, so that most pairs of them are there already."""
    nodes = 60
    graph = nx.gnp_random_graph(nodes, 0.3, seed=5)
    keys = np.sort([min(edge) * nodes + max(edge) for edge in graph.edges()])
    degrees = np.array([degree for _, degree in graph.degree()])
    base = keys[rng.random(len(keys)) < kept]
    found = completed(base, degrees, rng)
    low, high = np.divmod(found, nodes)
    assert (np.diff(found) > 0).all()
    assert (low < high).all()
    drawn = np.bincount(low, minlength=nodes) + np.bincount(high, minlength=nodes)
    assert (drawn <= degrees).all()
    assert degrees.sum() - drawn.sum() <= 2


def test_nodes_above_their_degree_keep_what_they_have(rng):
    keys = np.array([1, 2, 5])  # a triangle on nodes 0, 1, 2
    np.testing.assert_array_equal(completed(keys, np.array([1, 0, 2]), rng), keys)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=120), st.integers(1, 2**55))
def test_a_key_set_is_a_set(steps, factor):
    """Against Python's set; few keys, so that probes collide and gaps are closed."""
    table, model = keyset.table_for(41), set()
    for adding, number in steps:
        key = number * factor
        assert keyset.contains(table, key) == (key in model)
        if adding:
            assert keyset.add(table, key) == (key not in model)
            model.add(key)
        elif key in model:
            keyset.remove(table, key)
            model.remove(key)
    assert sorted(key for key in table if key != keyset.EMPTY) == sorted(model)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.integers(-30, 60), min_size=1, max_size=40), st.integers(0, 800), st.integers(0, 99))
def test_degrees_of_a_total(values, total, seed):
    count = len(values)
    total = min(total, count * (count - 1))
    degrees = to_total(np.array(values), total)
    assert degrees.min() >= 0
    assert degrees.max() <= count - 1
    assert degrees.sum() == pytest.approx(total, abs=1e-6)
    whole = integers(degrees, np.random.default_rng(seed))
    assert whole.sum() == total
    assert (np.abs(whole - degrees) < 1 + 1e-6).all()
