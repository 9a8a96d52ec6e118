"""Released graphs in other libraries: each holds the whole graph, typed, temporal, with what is carried."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from torch_geometric.data import Data, HeteroData, TemporalData

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.views import tensors
from tests.unit.graphs.test_exports import AMOUNT, molecules, nodes_of, plain, rows_of, shop

pytestmark = pytest.mark.extras


def test_scipy_has_one_relation_of_one_step_or_of_all() -> None:
    graph = shop()
    knows = tensors.to_scipy(graph, "knows")
    assert knows.shape == (4, 4)
    assert (knows != knows.T).nnz == 0
    assert knows.toarray()[0].tolist() == [0, 1, 0, 0]  # three steps, one entry
    assert tensors.to_scipy(graph, "knows", 4).nnz == 2
    assert tensors.to_scipy(graph, "follows").toarray()[0].tolist() == [0, 1, 0, 0]
    assert tensors.to_scipy(graph, "rates").shape == (4, 3)
    assert tensors.to_scipy(plain()).toarray()[1].tolist() == [0.5, 0, 3.0, 0]
    for asked in (
        {},
        {"relation": "nothing"},
        {"relation": "follows", "step": 0},
        {"relation": "knows", "step": 5},
    ):
        with pytest.raises(InvalidInput):
            tensors.to_scipy(graph, **asked)


def test_pyg_has_types_times_and_values() -> None:
    graph = shop()
    made = tensors.to_pyg(graph)
    assert isinstance(made, HeteroData)
    made.validate()
    assert made["user"].num_nodes == 4
    assert made["user"].face.shape == (4, 2)
    age = graph.nodes["user"].attributes["age"].astype(np.float32)
    assert np.array_equal(made["user"].age.numpy(), age, equal_nan=True)
    towns = [*made["user"].categories["town"], None]
    assert [towns[code] for code in made["user"].town.tolist()] == ["x,y", None, "z", "z"]
    found: Counter = Counter()
    names = {
        kind: [f"{kind}/{each}" for each in table.id_array().to_pylist()]
        for kind, table in graph.nodes.items()
    }
    for source, relation, target in made.edge_types:
        store = made[source, relation, target]
        for row, (u, v) in enumerate(store.edge_index.T.tolist()):
            told = {name: store[name][row].item() for name in ("amount", "hour", "mood") if name in store}
            if "mood" in told:
                told["mood"] = store.categories["mood"][told["mood"]]
            step = store.time[row].item() if "time" in store else None
            found[relation, names[source][u], names[target][v], step, *sorted(told.items())] += 1
    for (relation, source, target, *rest), times in rows_of(graph).items():
        if relation == "knows":  # the other direction
            found[relation, target, source, *rest] -= times
    assert +found == rows_of(graph)


def test_pyg_of_one_relation_is_data_or_temporal_data_and_of_a_collection_a_list() -> None:
    made = tensors.to_pyg(plain())
    assert isinstance(made, Data)
    made.validate()
    assert made.is_undirected()
    assert made.edge_index.shape == (2, 4)
    assert sorted(made.amount.tolist()) == [0.5, 0.5, 3.0, 3.0]
    schema = GraphSchema(
        node_types=(NodeType(count=5),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=3)
    )
    ends = EdgeTable(np.array([0, 3, 0]), np.array([1, 4, 1]), np.array([2, 0, 1]))
    timed = tensors.to_pyg(Graph.build(schema, {}, {"edge": ends}))
    assert isinstance(timed, TemporalData)
    assert list(zip(timed.src.tolist(), timed.dst.tolist(), timed.t.tolist(), strict=True)) == [
        (3, 4, 0), (0, 1, 1), (0, 1, 2),
    ]  # fmt: skip
    several = tensors.to_pyg(molecules())
    assert [each.num_nodes for each in several] == [3, 4]
    assert [each.classes[each.y.item()] for each in several] == ["x", "y"]
    assert [[each.categories["atom"][code] for code in each.atom.tolist()] for each in several] == [
        ["C", "O", "C"], ["N", "O", "C", "C"],
    ]  # fmt: skip


def test_published_weights_are_kept() -> None:
    schema = GraphSchema(node_types=(NodeType(count=3),))
    graph = Graph.build(schema, {}, {"edge": EdgeTable(np.array([0, 1]), np.array([1, 2]))})
    graph = graph.weighted({"edge": np.array([0.25, 1.0], dtype=np.float32)})
    assert tensors.to_pyg(graph).weight.tolist() == [0.25, 1.0, 0.25, 1.0]
    assert tensors.to_scipy(graph).toarray()[0].tolist() == [0, 0.25, 0]


class _Igraph:
    """What igraph documents of its constructor: vertices are numbered, attributes are lists by name."""

    def __init__(self, n: int, edges: list[Any], directed: bool, vertex_attrs: Any, edge_attrs: Any) -> None:
        assert all(0 <= end < n and type(end) is int for edge in edges for end in edge)
        assert all(len(values) == n for values in vertex_attrs.values())
        assert all(len(values) == len(edges) for values in edge_attrs.values())
        self.edges, self.directed, self.vs, self.es = edges, directed, vertex_attrs, edge_attrs


@pytest.mark.parametrize("which", [shop, plain])
def test_igraph_is_given_what_it_documents(which: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "igraph", SimpleNamespace(Graph=_Igraph))
    graph = which()
    made = tensors.to_igraph(graph)
    assert made.directed == (which is shop)
    found: Counter = Counter()
    for row, (u, v) in enumerate(made.edges):
        told = {name: values[row] for name, values in made.es.items() if values[row] is not None}
        relation, step = told.pop("type", "edge"), told.pop("step", None)
        assert told.pop("time", None) == step  # its grid has steps 0, 1, ...
        if "hour" in told:
            hours, minutes, seconds = map(int, told["hour"].split(":"))
            told["hour"] = hours * 3600 + minutes * 60 + seconds
        found[relation, made.vs["name"][u], made.vs["name"][v], step, *sorted(told.items())] += 1
    assert found == rows_of(graph)
    attributes = {"age", "town", "face", "price"}
    nodes = {
        name: {k: held[row] for k, held in made.vs.items() if k in attributes and held[row] is not None}
        for row, name in enumerate(made.vs["name"])
    }
    assert nodes == nodes_of(graph)


def test_igraph_takes_no_collection_and_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotAccepted, match="many graphs"):
        tensors.igraph_arguments(molecules())
    monkeypatch.setitem(__import__("sys").modules, "igraph", None)
    with pytest.raises(InvalidInput, match="pip install igraph"):
        tensors.to_igraph(plain())


def test_values_of_several_records_stand_beside_one_another() -> None:
    schema = GraphSchema(node_types=(NodeType(count=2),), edge_types=(EdgeType(attributes=(AMOUNT,)),))
    table = EdgeTable(np.array([0]), np.array([1]), None, EdgeValues({"amount": np.array([2.5])}))
    assert tensors.igraph_arguments(Graph.build(schema, {}, {"edge": table}))["edge_attrs"] == {
        "amount": [2.5]
    }
