"""A static method without types on a typed graph over time: layers, and types that are put back."""

import numpy as np
import pytest

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.entropy import public_generator
from papers.thepuff.benchmarks.snapshot_by_snapshot import joined, layers, typed, untyped

SIZES = {"user": 30, "item": 20, "kind": 3}
FIRST = {"user": 0, "item": 30, "kind": 50}


@pytest.fixture
def shop():
    """Users buy items and follow users, in three months; items have a kind."""
    schema = GraphSchema(
        node_types=tuple(NodeType(name=name, count=count) for name, count in SIZES.items()),
        edge_types=(
            EdgeType(name="buys", source="user", target="item", temporal=True),
            EdgeType(name="follows", source="user", target="user", directed=True, temporal=True),
            EdgeType(name="is", source="item", target="kind"),
        ),
        time=TimeGrid(count=3),
    )
    rng = np.random.default_rng(3)
    bought = np.unique(rng.integers(0, 30 * 20 * 3, 150))
    followed = np.array([[0, 1, 0], [1, 0, 0], [4, 2, 2]], dtype=np.int32)
    tables = {
        "buys": EdgeTable(*(each.astype(np.int32) for each in np.unravel_index(bought, (30, 20, 3)))),
        "follows": EdgeTable(*followed.T),
        "is": EdgeTable(np.arange(20, dtype=np.int32), np.arange(20, dtype=np.int32) % 3),
    }
    return Graph.build(schema, {name: NodeTable(count) for name, count in SIZES.items()}, tables)


def test_a_layer_has_all_nodes_and_its_relations_alone(shop):
    assert list(layers(shop)) == [(None, ["is"]), *((step, ["buys", "follows"]) for step in range(3))]
    still = joined(shop, None, ["is"])
    assert still.nodes["node"].count == 53
    ends = {(30 + item, 50 + item % 3) for item in range(20)}
    table = still.edges["edge"]
    assert set(zip(table.source.tolist(), table.target.tolist(), strict=True)) == ends
    first = joined(shop, 0, ["buys", "follows"]).edges["edge"]
    assert first.count == len(shop.cell("buys", 0).source) + 1  # who follow one another are one pair


def test_types_are_put_back_and_what_no_relation_has_is_counted(shop):
    low = np.array([0, 5, 1, 31, 40, 51])
    high = np.array([30, 49, 2, 52, 45, 52])
    found, lost = typed(shop, ["buys", "follows"], low, high, public_generator(1))
    assert lost == 3  # item with kind in a step, two items, two kinds
    assert [each.tolist() for each in found["buys"]] == [[0, 5], [0, 19]]
    assert sorted(each.item() for each in found["follows"]) == [1, 2]
    still, left = typed(shop, ["is"], low, high, public_generator(1))
    assert left == 5
    assert [each.tolist() for each in still["is"]] == [[1], [2]]


def test_a_pair_of_equal_types_points_either_way(shop):
    low, high = np.zeros(400, int), np.ones(400, int)
    found, _ = typed(shop, ["follows"], low, high, public_generator(2))
    assert 140 < (found["follows"][0] == 0).sum() < 260


@pytest.mark.parametrize(
    ("method", "parameters", "kind"),
    [("dpggan", {"variant": "paper", "most_steps": 3}, "none"), ("dpggan", {}, "pure"), ("tmf", {}, "pure")],
)
def test_every_layer_is_released(shop, method, parameters, kind):
    made = untyped(method, parameters, shop, 200.0)
    assert made.kind == kind
    assert made.graph.schema == shop.schema
    edges = sum(table.count for table in made.graph.edges.values())
    assert edges == made.pairs - made.lost
    layers_of = [joined(shop, step, names).edges["edge"].count for step, names in layers(shop)]
    assert abs(made.pairs - sum(layers_of)) <= 2
    assert {"buys", "follows", "is"} == set(made.graph.edges)


def test_a_graph_comes_back_where_nothing_is_hidden(shop):
    made = untyped("tmf", {}, shop, 400.0)
    for step in range(3):
        ours, theirs = (graph.cell("buys", step) for graph in (shop, made.graph))
        pairs = [set(zip(c.source.tolist(), c.target.tolist(), strict=True)) for c in (ours, theirs)]
        assert len(pairs[0] ^ pairs[1]) <= 4
