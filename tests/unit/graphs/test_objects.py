"""Graphs of other libraries become canonical graphs: by their types alone, and by the rules of uploads."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data, HeteroData, TemporalData

from core.errors import IngestRejected, InvalidInput
from core.graphs.graph import Graph
from core.graphs.ingest.assembled_objects import graph_of
from core.graphs.ingest.objects import tables_of
from core.graphs.schema import GraphSchema

pytestmark = pytest.mark.extras

ENDS = [(0, 1), (1, 2), (3, 1)]
TIMED = {"edge_types": [{"temporal": True}], "time": {"start": 0, "width": 10, "count": 3}}


def made(graph: Any, schema: Any = None, **given: Any) -> Graph:
    public = given.pop("public", False)
    declared = None if schema is None else GraphSchema.model_validate(schema)
    return graph_of(tables_of(graph, **given), declared, public=public).graph


def pairs(graph: Graph, relation: str = "edge") -> set[tuple[str, ...]]:
    """The edges by the ids of their ends, in the declared direction, and the step where there is one."""
    kind, table = graph.schema.edge_type(relation), graph.edges[relation]
    ids = [graph.nodes[end].id_array().to_pylist() for end in (kind.source, kind.target)]
    found = set()
    for row in range(table.count):
        ends = (ids[0][table.source[row]], ids[1][table.target[row]])
        found.add(ends if kind.directed or not kind.homogeneous else tuple(sorted(ends)))
        if table.step is not None:
            found.remove(ends if kind.directed or not kind.homogeneous else tuple(sorted(ends)))
            found.add((*sorted(ends), str(table.step[row])))
    return found


def three_pairs() -> set[tuple[str, ...]]:
    return {("0", "1"), ("1", "2"), ("1", "3")}


def frame(kind: Any) -> Any:
    return kind({"source": [s for s, _ in ENDS], "target": [t for _, t in ENDS], "note": ["x", "y", "z"]})


def tensors(**more: Any) -> Data:
    return Data(edge_index=torch.tensor(ENDS).T, **more)


@pytest.mark.parametrize(
    ("graph", "given"),
    [
        (nx.Graph([*ENDS, (4, 4)]), {}),
        (sp.coo_matrix((np.ones(3), tuple(zip(*ENDS, strict=True))), shape=(5, 5)), {}),
        (sp.csr_array((np.ones(3), tuple(zip(*ENDS, strict=True))), shape=(5, 5)), {}),
        (frame(pd.DataFrame), {"nodes": 5}),
        (frame(pl.DataFrame), {"nodes": range(5)}),
        (frame(pa.table), {"nodes": pd.DataFrame({"id": range(5)})}),
        (
            frame(pl.DataFrame).rename({"source": "src", "target": "dst"}),
            {"nodes": ["0", "1", "2", "3", "4"]},
        ),
        (tensors(num_nodes=5), {}),
        (tensors(x=torch.rand(5, 3)), {}),
        (tensors(), {"nodes": 5}),
    ],
    ids=[
        "networkx",
        "spmatrix",
        "sparray",
        "pandas",
        "polars",
        "arrow",
        "src-dst",
        "num_nodes",
        "x",
        "nodes",
    ],
)
def test_every_library_gives_the_same_graph(graph: Any, given: dict[str, Any]) -> None:
    found = made(graph, **given)
    assert pairs(found) == three_pairs()
    assert found.nodes["node"].count == 5
    assert not found.schema.edge_types[0].directed
    assert found.schema.node_types[0].attributes == ()
    assert found.schema.edge_types[0].attributes == ()


def test_both_directions_of_tensors_are_one_edge() -> None:
    both = torch.tensor([*ENDS, *((t, s) for s, t in ENDS)]).T
    assert pairs(made(Data(edge_index=both, num_nodes=5))) == three_pairs()
    assert made(Data(edge_index=both, num_nodes=5), directed=True).edges["edge"].count == 6


def test_direction_is_told_by_the_class_or_by_the_caller_and_not_by_both() -> None:
    assert made(nx.DiGraph(ENDS)).schema.edge_types[0].directed
    assert made(nx.MultiDiGraph([*ENDS, *ENDS])).edges["edge"].count == 3
    assert made(frame(pl.DataFrame), nodes=5, directed=True).schema.edge_types[0].directed
    with pytest.raises(InvalidInput, match="direction") as refused:
        made(nx.Graph(ENDS), directed=True)
    assert refused.value.members["field"] == "directed"


def test_a_matrix_that_is_not_square_is_of_two_sorts_of_nodes() -> None:
    found = made(sp.csr_array(np.array([[1, 0, 2], [0, 3, 0]])))
    assert {name: table.count for name, table in found.nodes.items()} == {"row": 2, "column": 3}
    assert pairs(found) == {("0", "0"), ("0", "2"), ("1", "1")}


def test_hetero_data_keep_their_types() -> None:
    graph = HeteroData()
    graph["user"].num_nodes = 3
    graph["film"].x = torch.rand(4, 2)
    graph["user", "sees", "film"].edge_index = torch.tensor([[0, 2, 2], [3, 0, 1]])
    graph["user", "knows", "user"].edge_index = torch.tensor([[0, 1], [1, 2]])
    found = made(graph)
    assert {name: table.count for name, table in found.nodes.items()} == {"user": 3, "film": 4}
    assert pairs(found, "sees") == {("0", "3"), ("2", "0"), ("2", "1")}
    assert pairs(found, "knows") == {("0", "1"), ("1", "2")}
    graph["film", "sees", "user"].edge_index = torch.tensor([[0], [0]])
    names = [each.name for each in made(graph).schema.edge_types]
    assert names == ["film-sees-user", "knows", "user-sees-film"]


def temporal() -> TemporalData:
    ends = torch.tensor(ENDS)
    return TemporalData(src=ends[:, 0], dst=ends[:, 1], t=torch.tensor([0, 12, 29]), msg=torch.rand(3, 2))


@pytest.mark.parametrize("graph", [temporal(), frame(pl.DataFrame).with_columns(time=pl.Series([0, 12, 29]))])
def test_times_need_a_grid_that_somebody_declared(graph: Any) -> None:
    with pytest.raises(InvalidInput, match="grid") as refused:
        made(graph, nodes=5)
    assert refused.value.members["field"] == "schema.time"
    schema = TIMED | {"node_types": [{"count": 5}]}
    assert pairs(made(graph, schema)) == {("0", "1", "0"), ("1", "2", "1"), ("1", "3", "2")}


@pytest.mark.parametrize("graph", [tensors(), frame(pd.DataFrame), temporal()])
def test_who_is_there_is_never_read_off_the_edges(graph: Any) -> None:
    with pytest.raises(InvalidInput, match="nodes"):
        made(graph, TIMED if isinstance(graph, TemporalData) else None)


def test_of_a_public_graph_nodes_time_and_values_are_read_off_the_data() -> None:
    found = graph_of(tables_of(frame(pl.DataFrame)), public=True)
    assert found.graph.nodes["node"].count == 4
    assert [each.value for each in found.derived] == ["node_list", "edge_values"]
    assert any("exactly the nodes that have an edge" in each for each in found.warnings)
    assert [each.name for each in found.graph.schema.edge_types[0].attributes] == ["note"]
    timed = graph_of(
        tables_of(frame(pl.DataFrame).with_columns(time=pl.Series([0, 1, 2])), nodes=5), public=True
    )
    assert [each.value for each in timed.derived] == ["time_grid", "edge_values"]
    assert graph_of(tables_of(nx.path_graph(4), range(4)), public=True).derived == ()
    square = sp.csr_array(np.array([[1, 0, 2], [0, 3, 0]]))
    assert made(square, public=True).equals(made(square))


def test_declared_attributes_are_read_and_others_are_not() -> None:
    graph = nx.Graph()
    graph.add_node("a", age=3.0, town="x", secret="s")
    graph.add_node("b", town="y", secret="s")
    graph.add_edge("a", "b", weight=0.5, secret="s")
    weight = {"name": "weight", "kind": "number", "bounds": [0, 1], "aggregate": "max"}
    schema = {
        "node_types": [{"attributes": [{"name": "age", "kind": "number"}, {"name": "town"}]}],
        "edge_types": [{"attributes": [weight]}],
    }
    found = made(graph, schema)
    assert set(found.nodes["node"].attributes) == {"age", "town"}
    assert found.edges["edge"].values.columns["weight"].tolist() == [0.5]
    x = made(
        tensors(num_nodes=5, x=torch.eye(5)),
        {"node_types": [{"attributes": [{"name": "x", "kind": "vector"}]}]},
    )
    assert np.array_equal(x.nodes["node"].attributes["x"], np.eye(5))


def test_types_of_a_networkx_graph_are_its_attributes_type() -> None:
    graph = nx.MultiGraph()
    graph.add_nodes_from(["a", "b"], type="user")
    graph.add_node("c", type="item")
    graph.add_edge("a", "b", type="knows", time=3)
    graph.add_edge("c", "a", type="buys", time=25)
    schema = {
        "node_types": [{"name": "user"}, {"name": "item"}],
        "edge_types": [
            {"name": "knows", "source": "user", "target": "user", "temporal": True},
            {"name": "buys", "source": "user", "target": "item", "temporal": True},
        ],
        "time": TIMED["time"],
    }
    found = made(graph, schema)
    assert found.edges["knows"].count == found.edges["buys"].count == 1


class _Attributes(dict[str, list[Any]]):
    def attributes(self) -> list[str]:
        return list(self)


class _Igraph:
    """What igraph documents of its graphs, as far as it is asked."""

    def __init__(self, names: list[Any] | None) -> None:
        self.vs = _Attributes({} if names is None else {"name": names})
        self.es = _Attributes({"weight": [0.5, 0.5, 0.5]})

    def vcount(self) -> int:
        return 5

    def get_edgelist(self) -> list[tuple[int, int]]:
        return ENDS

    def is_directed(self) -> bool:
        return False


def test_igraph_graphs_are_read_by_their_names_or_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", SimpleNamespace(Graph=_Igraph))
    assert pairs(made(_Igraph(None))) == three_pairs()
    named = made(_Igraph(["a", "b", "c", "d", "e"]))
    assert pairs(named) == {("a", "b"), ("b", "c"), ("b", "d")}
    with pytest.raises(InvalidInput, match="cannot be named"):
        made(_Igraph(["a", None, "c", "d", "e"]))


class NotAGraph:
    pass


@pytest.mark.parametrize(
    ("graph", "given", "field", "says"),
    [
        (NotAGraph(), {}, "graph", "NetworkX"),
        ([(0, 1)], {}, "graph", "list"),
        (nx.Graph([((1, 2), (3, 4))]), {}, "graph.nodes", "cannot be named"),
        (nx.Graph([(1.5, 2)]), {}, "graph.nodes", "cannot be named"),
        (nx.Graph([(True, 2)]), {}, "graph.nodes", "cannot be named"),
        (nx.Graph([(1, "1")]), {}, "graph.nodes", "two nodes"),
        (sp.csr_array(np.array([[0, np.nan], [0, 0]])), {}, "graph", "NaN"),
        (sp.csr_array(np.ones((2, 3))), {"nodes": 3}, "nodes", "rows and columns"),
        (nx.path_graph(3), {"nodes": 2}, "nodes", "the node '2', which nodes does not list"),
        (nx.path_graph(3), {"nodes": ["0", "1"]}, "nodes", "the node '2'"),
        (pd.DataFrame({"a": [1]}), {"nodes": 3}, "graph", "no column 'source'"),
        (frame(pl.DataFrame), {"nodes": 0}, "nodes", "at least one"),
        (frame(pl.DataFrame), {"nodes": True}, "nodes", "a count"),
        (frame(pl.DataFrame), {"nodes": pl.DataFrame({"x": [1]})}, "nodes", "'id'"),
        (tensors(num_nodes=5), {"nodes": 6}, "nodes", "has 5 nodes"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_mend(
    graph: Any, given: dict[str, Any], field: str, says: str
) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        made(graph, **given)
    assert refused.value.members["field"] == field


@pytest.mark.parametrize(
    ("graph", "given", "says"),
    [
        (frame(pl.DataFrame), {"nodes": 2}, "not in"),
        (pd.DataFrame({"source": ["a"], "target": [None]}), {"nodes": ["a"]}, ""),
        (frame(pl.DataFrame), {"nodes": ["0", "0", "1", "2", "3"]}, "listed"),
    ],
)
def test_what_breaks_the_schema_is_refused_with_findings(
    graph: Any, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(IngestRejected) as refused:
        made(graph, **given)
    assert refused.value.members["findings"]


def test_a_weight_that_is_no_number_is_refused() -> None:
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=float("nan"))
    weight = {"name": "weight", "kind": "number", "bounds": [0, 1], "aggregate": "max"}
    with pytest.raises(IngestRejected):
        made(graph, {"edge_types": [{"attributes": [weight]}]})
    with pytest.raises(InvalidInput, match="weight"):
        made(nx.path_graph(2), {"edge_types": [{"attributes": [weight]}]})


def marks(graph: Any, nodes: Any = None, schema: Any = None) -> list[str]:
    declared = None if schema is None else GraphSchema.model_validate(schema)
    return [each.value for each in graph_of(tables_of(graph, nodes), declared).derived]


@pytest.mark.parametrize("graph", [nx.Graph([("0", "1")]), nx.path_graph(2), sp.csr_array(np.eye(2)[::-1])])
def test_who_an_object_has_was_not_declared_unless_somebody_says_who_is_there(graph: Any) -> None:
    """An object made of its edges has exactly those who have one, and does not say that it was."""
    assert marks(graph) == ["node_list"]
    assert marks(graph, 2) == marks(graph, ["0", "1"]) == []
    assert marks(graph, schema={"node_types": [{"count": 2}]}) == []
    if isinstance(graph, nx.Graph):
        assert marks(graph, schema={}) == ["node_list"]


def test_who_was_declared_is_there_without_an_edge_and_carries_what_the_object_says() -> None:
    graph = nx.Graph([("a", "b")])
    graph.nodes["a"]["town"] = "x"
    schema = GraphSchema.model_validate({"node_types": [{"attributes": [{"name": "town"}]}]})
    found = graph_of(tables_of(graph, ["c", "b", "a"]), schema).graph.nodes["node"]
    assert found.id_array().to_pylist() == ["a", "b", "c"]
    assert found.attributes["town"].to_pylist() == ["x", None, None]
