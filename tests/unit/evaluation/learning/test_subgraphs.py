"""Enclosing subgraphs against NetworkX, labels against values by hand."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from core.evaluation.learning.subgraphs import MAX_LABEL, Subgraphs, enclosing
from core.evaluation.view import UndirectedView
from core.privacy.entropy import public_generator


def view_of(graph: nx.Graph) -> UndirectedView:
    pairs = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2)
    return UndirectedView.of_pairs(graph.number_of_nodes(), pairs[:, 0], pairs[:, 1])


def around(view: UndirectedView, source: int, target: int, hops: int, most: int = 50) -> Subgraphs:
    return enclosing(view, np.array([source]), np.array([target]), hops, most, public_generator(0))


def labels(found: Subgraphs) -> dict[int, int]:
    return dict(zip(found.nodes.tolist(), found.labels.tolist(), strict=True))


def test_labels_by_hand():
    # Ends 0 and 1, linked. 2 neighbours both: (1, 1). 3 hangs on 2: (2, 2). 4 hangs on 0 and 2: (1, 2).
    # 5 hangs on 4 alone: (2, 3). 6 hangs on 1 alone: 0 cannot reach it but through 1.
    graph = nx.Graph([(0, 1), (0, 2), (1, 2), (2, 3), (0, 4), (2, 4), (4, 5), (1, 6)])
    # 1 + min(a, b) + (d // 2) (d // 2 + d % 2 - 1): (1,1) 2, (1,2) 3, (2,2) 5, (2,3) 7.
    assert labels(around(view_of(graph), 0, 1, 2)) == {0: 1, 1: 1, 2: 2, 3: 5, 4: 3, 5: 7, 6: 0}


def test_one_hop_holds_the_neighbours_of_both_ends_only():
    found = around(view_of(nx.path_graph(6)), 2, 3, 1)
    assert sorted(found.nodes.tolist()) == [1, 2, 3, 4]
    assert labels(found) == {2: 1, 3: 1, 1: 0, 4: 0}


@pytest.mark.parametrize("seed", range(5))
def test_subgraphs_and_labels_agree_with_networkx(seed: int):
    graph = nx.gnm_random_graph(30, 55, seed=seed)
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 30, 20)
    target = (source + rng.integers(1, 30, 20)) % 30
    found = enclosing(view_of(graph), source, target, 2, 30, public_generator(seed))
    for g in range(found.count):
        ends = int(source[g]), int(target[g])
        cut = graph.copy()
        near = {x for e in ends for x, d in nx.single_source_shortest_path_length(graph, e, 2).items()}
        cut.remove_edges_from([ends])
        part = cut.subgraph(near)
        low, high = found.starts[g], found.starts[g + 1]
        nodes = found.nodes[low:high]
        assert tuple(nodes[:2]) == ends
        assert set(nodes.tolist()) == near
        rows = np.repeat(np.arange(low, high), np.diff(found.indptr[low : high + 1]))
        columns = found.indices[found.indptr[low] : found.indptr[high]]
        arcs = {frozenset((found.nodes[i], found.nodes[j])) for i, j in zip(rows, columns, strict=True)}
        assert arcs == {frozenset(edge) for edge in part.edges}
        assert len(rows) == 2 * part.number_of_edges()
        distances = []
        for mine, other in (ends, ends[::-1]):
            rest = part.subgraph(set(part) - {other})
            distances.append(nx.single_source_shortest_path_length(rest, mine))
        for node, label in zip(nodes[2:].tolist(), found.labels[low + 2 : high].tolist(), strict=True):
            a, b = (distance.get(node) for distance in distances)
            if a is None or b is None:
                assert label == 0
            else:
                half, odd = divmod(a + b, 2)
                assert label == min(1 + min(a, b) + half * (half + odd - 1), MAX_LABEL)


def test_a_capped_subgraph_keeps_a_sample_and_no_link_to_the_rest():
    hub = view_of(nx.star_graph(100))
    found = enclosing(hub, np.zeros(50, int), np.arange(1, 51), 1, 10, public_generator(4))
    assert (np.diff(found.starts) == 10).all()
    assert len(np.unique(found.nodes)) > 60  # not always the same ones
    inside = np.repeat(np.arange(50), np.diff(found.starts))
    rows = np.repeat(np.arange(len(found.nodes)), np.diff(found.indptr))
    assert (inside[rows] == inside[found.indices]).all()
    assert len(rows) == 50 * 8 * 2  # eight spokes each: the ninth is the pair's own
