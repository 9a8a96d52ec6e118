"""Motif counts of small random graphs against the enumeration of all node subsets."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.evaluation.metric import Suite
from core.evaluation.utility import motifs
from core.evaluation.utility.motifs import graphlets
from core.evaluation.view import UndirectedView
from tests.support.groups import examples


def key(graph: nx.Graph) -> tuple:
    """Every node's degree and its neighbours': enough to tell the 29 graphlets apart."""
    degree = dict(graph.degree)
    return tuple(sorted((degree[u], *sorted(degree[v] for v in graph[u])) for u in graph))


NAMES = {key(nx.Graph(graphlet.edges)): graphlet.name for graphlet in graphlets.GRAPHLETS}


@st.composite
def graphs(draw, most: int = 10) -> nx.Graph:
    n = draw(st.integers(0, most))
    density = draw(st.floats(0, 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return nx.from_numpy_array(np.triu(rng.random((n, n)) < density, 1).astype(int))


def view(graph: nx.Graph, order: np.ndarray | None = None) -> UndirectedView:
    pairs = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2)
    pairs = pairs if order is None else order[pairs]
    return UndirectedView.of_pairs(graph.number_of_nodes(), pairs[:, 0], pairs[:, 1])


def enumerated(graph: nx.Graph) -> dict[str, int]:
    """Every connected induced subgraph on 3 to 5 nodes, named by its key."""
    found = dict.fromkeys((metric.name for metric in motifs.SCALARS), 0)
    for size in (3, 4, 5):
        for nodes in combinations(graph, size):
            part = graph.subgraph(nodes)
            if part.number_of_edges() >= size - 1 and nx.is_connected(part):
                found[NAMES[key(part)]] += 1
    return found


def test_the_key_tells_all_graphlets_apart():
    assert len(NAMES) == 29


@settings(max_examples=examples(60), deadline=None)
@given(graphs(most=9))
def test_all_29_counts_equal_the_enumeration(graph):
    assert motifs.scalars(view(graph), Suite.FULL) == enumerated(graph)


@settings(max_examples=examples(60), deadline=None)
@given(graphs(most=40), st.integers(0, 2**32 - 1))
def test_counts_do_not_depend_on_the_order_of_the_nodes(graph, seed):
    order = np.random.default_rng(seed).permutation(graph.number_of_nodes())
    assert motifs.scalars(view(graph), Suite.FULL) == motifs.scalars(view(graph, order), Suite.FULL)


@settings(max_examples=examples(40), deadline=None)
@given(graphs(most=30))
def test_paths_and_stars_among_the_motifs_add_up_to_those_of_the_graph(graph):
    """Every copy of a path or a star lies in one induced subgraph: counted from degrees, and from motifs."""
    found = motifs.scalars(view(graph), Suite.FULL)
    degree = dict(graph.degree)
    stars = sum(d * (d - 1) * (d - 2) // 6 for d in degree.values())
    triangles = sum(nx.triangles(graph).values()) // 3
    paths = sum((degree[u] - 1) * (degree[v] - 1) for u, v in graph.edges) - 3 * triangles
    spanned = {name.removeprefix("motif_4_"): n for name, n in found.items() if "_4_" in name}
    assert stars == spanned["star"] + spanned["paw"] + 2 * spanned["diamond"] + 4 * spanned["clique"]
    assert paths == (
        spanned["path"]
        + 4 * spanned["cycle"]
        + 2 * spanned["paw"]
        + 6 * spanned["diamond"]
        + 12 * spanned["clique"]
    )


@settings(max_examples=examples(40), deadline=None)
@given(graphs(most=25))
def test_every_subset_is_connected_or_not(graph):
    """The counts on 3 and 4 nodes add up to the connected subsets, found by growing them node by node."""
    found = motifs.scalars(view(graph), Suite.STANDARD)
    subsets = {frozenset([node]) for node in graph}
    for size in (2, 3, 4):
        subsets = {s | {other} for s in subsets for node in s for other in graph[node] if other not in s}
        if size > 2:
            assert len(subsets) == sum(n for name, n in found.items() if f"_{size}_" in name)
