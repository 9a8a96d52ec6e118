"""Vectors of nodes, original against synthetic: each figure beside the plain formula that defines it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.evaluation import node_vectors
from core.evaluation.metric import Suite
from core.evaluation.node_vectors import compare_vectors, described
from core.evaluation.suite import compare
from core.graphs.columns import node_places
from core.graphs.columns.node_places import counts_of_places
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType

TOWN = Attribute(name="town", protection="protected", categories=("x", "y"))
PLACE = Attribute(name="place", kind="vector", protection="protected", bounds=(-2, 2), length=5)
NODES = 120


def graph_of(seed: int, apart: float = 1.0, homogeneous: bool = True) -> Graph:
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 2, NODES)
    rows = np.clip(rng.normal(apart * (2 * town[:, None] - 1), 0.5, (NODES, 5)), -2, 2).astype(np.float32)
    rows[:3] = 0
    kinds: tuple[NodeType, ...] = (NodeType(count=NODES, attributes=(TOWN, PLACE)),)
    relation, across = EdgeType(), NODES
    columns: dict[str, Any] = {"town": pa.array(np.array(["x", "y"])[town].tolist()), "place": rows}
    nodes = {"node": NodeTable(NODES, None, columns)}
    if not homogeneous:
        kinds += (NodeType(name="thing", count=40),)
        relation, across = EdgeType(source="node", target="thing"), 40
        nodes["thing"] = NodeTable(40, None, {})
    near = town[:, None] == town[None, :across] if homogeneous else np.ones((NODES, across), dtype=bool)
    drawn = rng.random((NODES, across)) < np.where(near, 0.1, 0.02)
    source, target = np.nonzero(np.triu(drawn, 1) if homogeneous else drawn)
    schema = GraphSchema(node_types=kinds, edge_types=(relation,))
    return Graph.build(schema, nodes, {"edge": EdgeTable(source, target)})


def row_of(original: Graph, synthetic: Graph) -> dict[str, Any]:
    (found,) = compare_vectors(original, synthetic, original.schema.edge_types[0])
    assert found["kind"] == "vector"
    return dict(found["row"])


def by_hand(graph: Graph) -> dict[str, Any]:
    rows = np.asarray(graph.nodes["node"].attributes["place"], dtype=np.float64)
    lengths = [float(np.sqrt((row**2).sum())) for row in rows]
    edge = graph.edges["edge"]

    def cosine(one: int, other: int) -> float:
        return float(rows[one] @ rows[other]) / lengths[one] / lengths[other]

    held = [k for k in range(NODES) if lengths[k] > 0]
    ends = list(zip(edge.source.tolist(), edge.target.tolist(), strict=True))
    near = np.mean([cosine(a, b) for a, b in ends if lengths[a] > 0 and lengths[b] > 0])
    chance = np.mean([cosine(a, b) for a in held for b in held if a != b])
    return {
        "node_vector_norm": np.mean(lengths),
        "node_vector_cosine": near,
        "node_vector_homophily": near - chance,
    }


@pytest.mark.parametrize("at_once", [7, node_vectors.AT_ONCE], ids=["in parts", "at once"])
def test_figures_are_those_of_their_definitions(at_once: int, monkeypatch: pytest.MonkeyPatch):
    for room in (node_vectors, node_places):
        monkeypatch.setattr(room, "AT_ONCE", at_once)
    ours, theirs = graph_of(1), graph_of(2, apart=0.3)
    row = row_of(ours, theirs)
    for side, graph in (("original", ours), ("synthetic", theirs)):
        for name, value in by_hand(graph).items():
            assert row["scalars"][name][side] == pytest.approx(value, rel=1e-5)
    one, other = (np.asarray(each.nodes["node"].attributes["place"], float) for each in (ours, theirs))
    bins = np.linspace(-2, 2, 9)
    shares = [[np.histogram(each[:, place], bins)[0] / NODES for place in range(5)] for each in (one, other)]
    told, away = row["distances"], np.abs(np.array(shares[0]) - np.array(shares[1]))
    assert told["node_vector_distance"] == pytest.approx(away.sum(axis=1).mean() / 2)
    apart = np.linalg.norm(one.mean(0) - other.mean(0)) / np.linalg.norm(one.mean(0))
    assert told["node_vector_mean_distance"] == pytest.approx(apart, rel=1e-4)
    upper = np.triu_indices(5, 1)
    off = np.abs(np.corrcoef(one.T) - np.corrcoef(other.T))[upper].mean()
    assert told["node_vector_correlation_distance"] == pytest.approx(off, rel=1e-4)
    lengths = [np.linalg.norm(each, axis=1) for each in (one, other)]
    steps = [max(abs((lengths[0] <= x).mean() - (lengths[1] <= x).mean()) for x in each) for each in lengths]
    assert told["node_vector_norm_distance"] == pytest.approx(max(steps))
    towns = [np.array(each.nodes["node"].attributes["town"].to_pylist()) for each in (ours, theirs)]
    by_town = [
        np.linalg.norm(one[towns[0] == town].mean(0) - other[towns[1] == town].mean(0))
        / np.linalg.norm(one[towns[0] == town].mean(0))
        for town in ("x", "y")
    ]
    weights = [(towns[0] == town).mean() for town in ("x", "y")]
    assert told["node_vector_group_distance"] == pytest.approx(np.average(by_town, weights=weights), rel=1e-4)


def test_a_graph_is_at_no_distance_from_itself_and_zeros_are_at_one():
    graph = graph_of(3)
    assert set(row_of(graph, graph)["distances"].values()) == {0.0}
    columns = dict(graph.nodes["node"].attributes) | {"place": np.zeros((NODES, 5), np.float32)}
    zeros = Graph.build(graph.schema, {"node": NodeTable(NODES, None, columns)}, graph.edges)
    row = row_of(graph, zeros)
    assert row["distances"]["node_vector_mean_distance"] == pytest.approx(1)
    assert row["distances"]["node_vector_norm_distance"] > 0.9
    assert row["scalars"]["node_vector_cosine"]["synthetic"] is None


def test_between_two_types_nothing_is_said_of_neighbours():
    row = row_of(graph_of(4, homogeneous=False), graph_of(5, homogeneous=False))
    assert set(row["scalars"]) == {"node_vector_norm"}


def test_counts_by_place_are_of_the_declared_bins():
    rows = np.array([[-2, 0], [2, 0], [1.9, -0.1]], dtype=np.float32)
    declared = PLACE.model_copy(update={"length": 2, "cuts": (-1, 1)})
    assert counts_of_places(declared, rows).tolist() == [[1, 0, 2], [0, 3, 0]]


def test_the_comparison_of_a_release_holds_them_beside_other_values():
    found = compare(graph_of(6), graph_of(7), Suite.QUICK, lambda *_: None)
    values = found["edge_types"][0]["node_values"]
    assert [each["name"] for each in values] == ["town", "place"]
    assert described().items() <= found["metrics"].items()
