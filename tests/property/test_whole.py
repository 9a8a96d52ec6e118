"""Whole-graph figures against brute force: sums over all pairs, paths walked one by one."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.evaluation.whole import meta_paths, paper_paths
from core.evaluation.whole.layers import Layer
from core.evaluation.whole.mmd import squared_mmd, squared_mmd_of_counts
from core.evaluation.whole.overlap import edge_overlap, overlap_rate
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from tests.support.groups import examples

COUNTS = (3, 2, 3)
SCHEMA = GraphSchema(
    node_types=tuple(NodeType(name=name, count=count) for name, count in zip("abc", COUNTS, strict=True)),
    edge_types=(
        EdgeType(name="ab", source="a", target="b", temporal=True),
        EdgeType(name="bc", source="b", target="c"),
        EdgeType(name="ca", source="c", target="a", directed=True, temporal=True),
        EdgeType(name="aa", source="a", target="a", temporal=True),
        EdgeType(name="cc", source="c", target="c", directed=True),
    ),
    time=TimeGrid(count=2),
)
KINDS = np.repeat(range(3), COUNTS)


def drawn(share: float, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    edges = {}
    for edge_type in SCHEMA.edge_types:
        sizes = [COUNTS["abc".index(end)] for end in (edge_type.source, edge_type.target)]
        steps = 2 if edge_type.temporal else 1
        step, source, target = np.nonzero(rng.random((steps, *sizes)) < share)
        apart = (source != target) | (not edge_type.homogeneous)
        edges[edge_type.name] = EdgeTable(
            source[apart], target[apart], step[apart] if edge_type.temporal else None
        )
    return Graph.build(SCHEMA, {}, edges)


def arcs(graph: Graph, step: int) -> set[tuple[int, int]]:
    """Global pairs as stored, both ways for an undirected relation within one type."""
    start = dict(zip("abc", (0, 3, 5), strict=True))
    found = set()
    for edge_type in SCHEMA.edge_types:
        cell = graph.cell(edge_type.name, step if edge_type.temporal else None)
        for s, t in zip(cell.source.tolist(), cell.target.tolist(), strict=True):
            pair = (start[edge_type.source] + s, start[edge_type.target] + t)
            found |= {pair, pair[::-1]} if edge_type.name == "aa" else {pair}
    return found


def undirected(graph: Graph, step: int) -> set[frozenset[int]]:
    return {frozenset(pair) for pair in arcs(graph, step)}


shares_of_edges = st.floats(0, 1)
seeds = st.integers(0, 2**31)


@given(share=shares_of_edges, seed=seeds, step=st.integers(0, 1), length=st.sampled_from((2, 3, 4)))
@settings(max_examples=examples(60), deadline=None)
def test_meta_paths_equal_paths_walked_one_by_one(share, seed, step, length):
    graph = drawn(share, seed)
    pairs = undirected(graph, step)
    walked = Counter()
    for path in permutations(range(sum(COUNTS)), length):
        if path[0] < path[-1] and all(frozenset(hop) in pairs for hop in pairwise(path)):
            kinds = tuple(int(KINDS[node]) for node in path)
            walked[min(kinds, kinds[::-1])] += 1
    assert meta_paths.counts(Layer.of(graph, SCHEMA.edge_types, step), length) == walked


def shares(paths: Counter, listed: tuple, total: float) -> list[float]:
    found = [paths[path] / total if total else 0.0 for path in listed]
    return [*found, 1 - sum(found)]


@given(share=shares_of_edges, seed=seeds, step=st.integers(0, 1))
@settings(max_examples=examples(40), deadline=None)
def test_published_shares_equal_their_definition(share, seed, step):
    graph = drawn(share, seed)
    pairs, chains = paper_paths.listed_paths(graph, SCHEMA.edge_types)
    one = Layer.of(graph, SCHEMA.edge_types, step)
    stored = arcs(graph, step)
    both = stored | {(v, u) for u, v in stored}
    for found, edges, weight in (
        (paper_paths.directed_shares(one, pairs, chains), stored, 1),
        (paper_paths.symmetrised_shares(one, pairs, chains), both, 2),
    ):
        twos = Counter((int(KINDS[u]), int(KINDS[v])) for u, v in edges)
        hops = [(u, v, y) for u, v in edges for x, y in edges if x == v]
        threes = Counter(tuple(int(KINDS[node]) for node in path) for path in hops)
        assert found[0] == pytest.approx(shares(twos, pairs, weight * len(edges)))
        assert found[1] == pytest.approx(shares(threes, chains, weight**2 * len(hops)))


def brute_mmd(x: list[float], y: list[float]) -> float:
    def kernel(a: float, b: float) -> float:
        return math.exp(-4 * ((a - b) ** 2 + 1e-5))

    def within(z: list[float]) -> float:
        n = len(z)
        return sum(kernel(z[i], z[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))

    return within(x) + within(y) - 2 * sum(kernel(a, b) for a in x for b in y) / (len(x) * len(y))


@given(*[st.lists(st.integers(0, 40), min_size=2, max_size=12)] * 2)
def test_discrepancy_of_histograms_equals_the_sum_over_all_pairs(x, y):
    found = squared_mmd_of_counts(np.bincount(x), np.bincount(y))
    assert found == pytest.approx(brute_mmd(x, y), abs=1e-12)
    assert squared_mmd(np.array(x), np.array(y)) == pytest.approx(found, abs=1e-12)


@given(*[st.lists(st.floats(-3, 3), min_size=2, max_size=12)] * 2)
def test_discrepancy_of_any_numbers_equals_the_sum_over_all_pairs(x, y):
    assert squared_mmd(np.array(x), np.array(y)) == pytest.approx(brute_mmd(x, y), abs=1e-12)


@given(share=shares_of_edges, first=seeds, second=seeds)
@settings(max_examples=examples(40), deadline=None)
def test_overlaps_equal_set_operations(share, first, second):
    graphs = drawn(share, first), drawn(share, second)
    for step in (0, 1):
        ours, theirs = (undirected(graph, step) for graph in graphs)
        layers = (Layer.of(graph, SCHEMA.edge_types, step) for graph in graphs)
        assert overlap_rate(*layers) == (len(ours & theirs) / len(theirs) if theirs else None)
    rows = []
    for graph in graphs:
        tables = graph.edges.items()
        found = set()
        for name, table in tables:
            steps = table.step.tolist() if table.step is not None else [None] * table.count
            found |= set(
                zip([name] * table.count, table.source.tolist(), table.target.tolist(), steps, strict=True)
            )
        rows.append(found)
    expected = len(rows[0] & rows[1]) / len(rows[1]) if rows[1] else None
    assert edge_overlap(*graphs, SCHEMA.edge_types, (0, 1)) == expected
