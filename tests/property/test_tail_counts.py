"""The tail counters change by 2 at most, whatever their thresholds: brute force over all small graphs."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import Cell
from core.graphs.schema import EdgeType
from core.privacy.queries import Shape, ask
from tests.support.groups import examples

UNDIRECTED = EdgeType()


def counts(nodes: int, pairs, thresholds) -> np.ndarray:
    question = ask("tail_counts", Shape(UNDIRECTED, nodes, nodes), {"thresholds": np.array(thresholds)})
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    assert (question.l1_sensitivity, question.l2_squared) == (2, 4)
    return question.measure(Cell(UNDIRECTED, None, nodes, nodes, ends[:, 0], ends[:, 1]))


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
def test_every_small_graph_and_every_choice_of_thresholds(nodes):
    """Exactly 2 in L1 and 4 in squared L2 at the worst, unless no degree comes near a threshold."""
    slots = list(itertools.combinations(range(nodes), 2))
    every = list(range(1, nodes + 1))
    chosen = [c for size in range(1, nodes + 1) for c in itertools.combinations(every, size)]
    columns = [np.array(c) - 1 for c in chosen]
    whole = {
        bits: counts(nodes, [s for i, s in enumerate(slots) if bits >> i & 1], every)
        for bits in range(2 ** len(slots))
    }
    worst = np.zeros((len(chosen), 2), dtype=int)
    for bits, before in whole.items():
        for i in range(len(slots)):
            if not bits >> i & 1:
                change = np.abs(whole[bits | 1 << i] - before)
                for row, column in enumerate(columns):
                    found = change[column]
                    worst[row] = np.maximum(worst[row], [found.sum(), (found**2).sum()])
    for thresholds, (l1, l2_squared) in zip(chosen, worst, strict=True):
        reachable = thresholds[0] < nodes
        assert (l1, l2_squared) == ((2, 4) if reachable else (0, 0)), thresholds


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_any_graph_against_networkx(data):
    nodes = data.draw(st.integers(2, 14))
    slots = list(itertools.combinations(range(nodes), 2))
    pairs = data.draw(st.lists(st.sampled_from(slots), unique=True))
    thresholds = sorted(data.draw(st.sets(st.integers(1, 40), min_size=1)))
    graph = nx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(pairs)
    degrees = np.array([degree for _, degree in graph.degree()])
    expected = [int((degrees >= least).sum()) for least in thresholds]
    assert counts(nodes, pairs, thresholds).tolist() == expected


@pytest.mark.parametrize("thresholds", [[], [0, 1], [2, 2], [3, 1], [1.5], [[1, 2]], [-1]])
def test_thresholds_that_are_none(thresholds):
    with pytest.raises(InvalidInput):
        ask("tail_counts", Shape(UNDIRECTED, 5, 5), {"thresholds": np.array(thresholds)})


def test_a_relation_between_two_types_has_no_such_counters():
    shape = Shape(EdgeType(source="a", target="b"), 4, 5)
    with pytest.raises(NotAccepted):
        ask("tail_counts", shape, {"thresholds": np.array([1])})
