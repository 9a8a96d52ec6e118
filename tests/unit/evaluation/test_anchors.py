"""The ends of the utility scale: a random graph scores about 0, the original 10."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import networkx as nx
import numpy as np
import pytest

from core.evaluation import anchors, catalogue, suite
from core.evaluation.metric import Suite
from core.graphs.graph import Cell, EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.entropy import Generator, public_generator
from core.reports.comparison import Comparison
from core.reports.measured import FAMILIES, measured_parts

Draw = Callable[[Cell, Generator], np.ndarray]
OTHER_SEED = 99  # not one of the anchors'


def quiet(stage: str, done: int, total: int) -> None:
    pass


def communities() -> Graph:
    """Six communities of thirty, with hubs and triangles: nothing that chance gives."""
    rng = np.random.default_rng(5)
    found = nx.Graph()
    found.add_nodes_from(range(180))
    for group in range(6):
        inner = nx.powerlaw_cluster_graph(30, 4, 0.8, seed=group)
        found.add_edges_from((30 * group + u, 30 * group + v) for u, v in inner.edges)
    ends = rng.integers(0, 180, (2, 40))
    found.add_edges_from((int(u), int(v)) for u, v in ends.T if u != v)
    pairs = np.array(sorted(found.edges), dtype=np.int64)
    schema = GraphSchema(node_types=(NodeType(count=180),), edge_types=(EdgeType(),))
    return Graph.build(schema, {"node": NodeTable(180)}, {"edge": EdgeTable(pairs[:, 0], pairs[:, 1])})


def typed() -> Graph:
    """A directed relation over three steps, one between two types, and a public one."""
    rng = np.random.default_rng(6)
    schema = GraphSchema(
        node_types=(NodeType(name="user", count=120), NodeType(name="film", count=40)),
        edge_types=(
            EdgeType(name="writes", source="user", target="user", directed=True, temporal=True),
            EdgeType(name="likes", source="user", target="film"),
            EdgeType(name="near", source="user", target="user", public=True),
        ),
        time=TimeGrid(count=3),
    )
    heavy = np.minimum(rng.zipf(1.7, (2, 900)) - 1, 119)
    writes = EdgeTable(heavy[0], (heavy[1] + 7) % 120, rng.integers(0, 3, 900))
    likes = EdgeTable(rng.integers(0, 120, 500), np.minimum(rng.zipf(1.6, 500) - 1, 39))
    near = EdgeTable(*rng.integers(0, 120, (2, 80)))
    nodes = {"user": NodeTable(120), "film": NodeTable(40)}
    return Graph.build(schema, nodes, {"writes": writes, "likes": likes, "near": near})


GRAPHS = {"communities": communities, "typed": typed}
every = pytest.mark.parametrize("made", GRAPHS.values(), ids=GRAPHS)


def protected(graph: Graph) -> list[EdgeType]:
    return [relation for relation in graph.schema.edge_types if not relation.public]


def drawn(graph: Graph, draw: Draw, seed: int = OTHER_SEED) -> Graph:
    return anchors.redrawn(graph, protected(graph), draw, public_generator(seed))


def score(original: Graph, other: Graph, asked: Suite = Suite.STANDARD) -> tuple[float, dict[str, float]]:
    comparison = Comparison.model_validate(suite.compare(original, other, asked, quiet))
    parts = {part.name: part.value for part in measured_parts(comparison)}
    return 10 * sum(parts.values()) / len(parts), parts


def share(part: float) -> Draw:
    return partial(anchors.resampled, share=part)


@every
@pytest.mark.parametrize("draw", [anchors.uniform, anchors.resampled], ids=["uniform", "resampled"])
def test_every_cell_keeps_its_number_of_edges_and_public_relations_stay(made, draw):
    graph = made()
    other = drawn(graph, draw)
    for ours, theirs in zip(graph.cells(), other.cells(), strict=True):
        assert theirs.count == ours.count
        if ours.edge_type.public:
            assert np.array_equal(ours.source, theirs.source)
    assert not other.equals(graph)


def kept(graph: Graph, other: Graph) -> list[float]:
    """The share of each cell's edges that the other graph has too."""
    found = []
    for ours, theirs in zip(graph.cells(), other.cells(), strict=True):
        if ours.count and not ours.edge_type.public:
            a, b = (set(zip(c.source.tolist(), c.target.tolist(), strict=True)) for c in (ours, theirs))
            found.append(len(a & b) / len(a))
    return found


@every
def test_a_resample_has_nineteen_of_twenty_edges(made):
    graph = made()
    assert all(0.93 <= found < 1 for found in kept(graph, drawn(graph, anchors.resampled)))


@every
def test_a_random_graph_scores_about_nothing(made):
    graph = made()
    for seed in range(OTHER_SEED, OTHER_SEED + 3):
        assert score(graph, drawn(graph, anchors.uniform, seed))[0] < 1


@every
@pytest.mark.parametrize("asked", [Suite.QUICK, Suite.STANDARD])
def test_the_original_scores_ten(made, asked):
    graph = made()
    found, parts = score(graph, graph, asked)
    assert found == 10
    assert set(parts.values()) == {1.0}
    assert len(parts) >= 4


@every
def test_a_graph_without_edges_scores_nothing(made):
    graph = made()
    assert score(graph, drawn(graph, lambda cell, rng: np.empty(0, dtype=np.int64)))[0] < 0.5


def test_what_keeps_more_scores_more():
    graph = communities()
    scores = [score(graph, drawn(graph, share(part)))[0] for part in (1.0, 0.5, 0.2, 0.05)]
    assert scores == sorted(scores)
    assert scores[0] < 5 < scores[-1]


def test_a_graph_twice_as_dense_pays_for_it():
    graph = communities()

    def doubled(cell: Cell, rng: Generator) -> np.ndarray:
        more = anchors.uniform(cell, rng)
        own = np.minimum(cell.source, cell.target) * np.int64(180) + np.maximum(cell.source, cell.target)
        return np.union1d(own, more)

    assert score(graph, drawn(graph, doubled))[1]["edges"] < 0.2


def test_the_same_comparison_says_the_same():
    graph = communities()
    one, two = (anchors.anchors(graph, protected(graph), Suite.QUICK, quiet) for _ in range(2))
    assert one == two


def test_a_full_cell_and_an_empty_one_are_drawn_too():
    full = np.array([(u, v) for u in range(9) for v in range(u)], dtype=np.int64)
    schema = GraphSchema(node_types=(NodeType(count=9),), edge_types=(EdgeType(),))
    for pairs in (full, full[:0], full[:1]):
        graph = Graph.build(schema, {"node": NodeTable(9)}, {"edge": EdgeTable(pairs[:, 0], pairs[:, 1])})
        for draw in (anchors.uniform, anchors.resampled):
            assert drawn(graph, draw).edges["edge"].count == len(pairs)
        assert (
            Comparison.model_validate(suite.compare(graph, graph, Suite.STANDARD, quiet)).anchors is not None
        )


def test_the_scored_metrics_are_the_anchored_ones():
    scored = {member.metric for _, _, members in FAMILIES for member in members}
    assert {name for name in scored if not name.startswith("meta_path")} == anchors.ANCHORED
    assert {metric.name for metric in catalogue.SCALARS + catalogue.DISTANCES} >= anchors.ANCHORED
