"""Objects of other libraries keep their ends and ids, whatever their attributes are called."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

import graphveil as gv
from core.errors import InvalidInput
from core.graphs.graph import Graph
from core.graphs.ingest.assembled_objects import Stored, graph_of, store
from core.graphs.ingest.framed import Said
from core.graphs.ingest.objects import tables_of
from core.graphs.schema import GraphSchema, TimeGrid
from core.graphs.stored.whole import read_graph
from core.graphs.views.convert import to_networkx
from core.ledger.amounts import epsilon_cost
from graphveil.amounts import plain

pytestmark = pytest.mark.extras


def made(graph: Any, schema: Any = None, **given: Any) -> Graph:
    declared = None if schema is None else GraphSchema.model_validate(schema)
    return graph_of(tables_of(graph, **given), declared).graph


def pairs(graph: Graph) -> set[tuple[str, str]]:
    return {tuple(sorted(ends)) for ends in to_networkx(graph).edges()}


class Sequence_(dict):
    def attributes(self) -> list[str]:
        return list(self)


class IGraph:
    """What is asked of an ``igraph.Graph``."""

    def __init__(self, count: int, ends: list[tuple[int, int]], vertices: Any = (), edges: Any = ()) -> None:
        self.vs, self.es = Sequence_(vertices), Sequence_(edges)
        self.vcount, self.get_edgelist = lambda: count, lambda: ends
        self.is_directed = lambda: False


@pytest.fixture(autouse=True)
def igraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", SimpleNamespace(Graph=IGraph))


CATEGORY = {"name": "label", "kind": "category", "protection": "public"}


def test_an_id_that_igraph_read_never_replaces_the_positions() -> None:
    given = IGraph(3, [(0, 1)], {"id": [2, 0, 1], "label": ["A", "B", "C"]}, {"source": [2], "id": [7]})
    graph = made(given, {"node_types": [{"attributes": [CATEGORY]}]})
    labels = nx.get_node_attributes(to_networkx(graph), "label")
    assert [{labels[end] for end in ends} for ends in to_networkx(graph).edges()] == [{"A", "B"}]
    kept = {"name": "id_attribute", "kind": "number", "protection": "public"}
    assert made(given, {"node_types": [{"attributes": [kept]}]}).nodes["node"].attributes[
        "id_attribute"
    ].tolist() == [2, 0, 1]


def test_igraphs_bipartite_type_is_two_sorts() -> None:
    given = IGraph(4, [(0, 2), (3, 1)], {"type": [False, True, True, False]})
    graph = made(given)
    assert {name: table.id_array().to_pylist() for name, table in graph.nodes.items()} == {
        "false": ["0", "3"],
        "true": ["1", "2"],
    }
    assert graph.edges["edge"].count == 2
    with pytest.raises(InvalidInput, match="1 edges join two of one sort; the first is '0' to '3'"):
        made(IGraph(4, [(0, 3)], {"type": [False, True, True, False]}))


def test_types_that_nobody_declared_are_left_alone() -> None:
    given = nx.Graph([("a", "b")])
    given.add_node("a", type="person", id="b", node_id="b", source="z")
    given.add_node("b", type="firm", id="a", node_id="a")
    given.edges["a", "b"].update(source="x", target="y", type="owns", id=3)
    assert pairs(made(given)) == {("a", "b")}


@pytest.mark.parametrize(
    "nodes", [pd.DataFrame({"id": ["a", "b"], "type": ["x", "y"], "node_id": ["b", "a"]})]
)
def test_frames_keep_such_columns_apart(nodes: Any) -> None:
    edges = pd.DataFrame({"source": ["a"], "target": ["b"], "source_type": ["z"], "id": [1], "type": ["q"]})
    assert pairs(made(edges, nodes=nodes)) == {("a", "b")}


def test_tensors_that_are_named_as_structure_replace_nothing() -> None:
    ends = torch.tensor([[0, 1], [1, 0]])
    given = Data(edge_index=ends, num_nodes=3, id=torch.tensor([2, 0, 1]), type=torch.tensor([1, 1, 2]))
    assert pairs(made(given, directed=False)) == {("0", "1")}


@pytest.mark.parametrize(
    ("graph", "warned"),
    [
        (sp.csr_array(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])), True),
        (sp.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])), False),
        (Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3), True),
        (Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=3), False),
    ],
)
def test_one_direction_alone_is_warned_of_where_nobody_said(graph: Any, warned: bool) -> None:
    remarks = graph_of(tables_of(graph)).remarks
    assert bool(re.search("directed=True", " ".join(remarks))) == warned
    assert graph_of(tables_of(graph, directed=True)).remarks == ()


def test_what_nobody_declared_is_never_converted() -> None:
    frame = pd.DataFrame({"source": [0, 1], "target": [1, 2], "note": [1.5, "x"]})
    assert pairs(made(frame, nodes=3)) == {("0", "1"), ("1", "2")}
    note = {"name": "note", "kind": "category", "categories": ["1", "x"], "aggregate": "max"}
    declared = {"node_types": [{"count": 3}], "edge_types": [{"attributes": [note]}]}
    with pytest.raises(InvalidInput, match="'note', whose values are of several kinds"):
        made(frame, declared)
    mixed = IGraph(2, [(0, 1)], {"note": [1, "x"]}, {"note": [[1]]})
    assert pairs(made(mixed)) == {("0", "1")}
    ends = pd.DataFrame({"source": [0, "b"], "target": ["b", 0]})
    assert pairs(made(ends, nodes=[0, "b"])) == {("0", "b")}


@pytest.mark.parametrize(
    "nodes", [3, np.int64(3), ["0", "1", "2"], pd.DataFrame({"id": [0, 1, 2], "x": 5}), "file"]
)
@pytest.mark.parametrize("declared", [False, True])
def test_nodes_beside_a_file(tmp_path: Path, nodes: Any, declared: bool) -> None:
    (tmp_path / "edges.dat").write_text("source,target,note\n0,1,x\n")
    (tmp_path / "nodes.csv").write_text("id,name\n0,a\n1,b\n2,c\n")
    given = str(tmp_path / "nodes.csv") if isinstance(nodes, str) else nodes
    stored = stored_file(tmp_path, nodes=given, schema=GraphSchema() if declared else None)
    assert dict(stored.nodes) == {"node": 3}
    assert pairs(read_graph(tmp_path / "out")) == {("0", "1")}


def stored_file(folder: Path, **given: Any) -> Stored:
    return store(str(folder / "edges.dat"), folder / "out", said=Said(format="csv"), **given)


def test_a_frame_with_dates_takes_a_grid_by_dates() -> None:
    when = pd.to_datetime(["2024-03-01", "2024-03-01 12:00", "2024-03-03"], format="ISO8601")
    frame = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "time": when})
    grid = {"start": "2024-03-01", "width": "1d", "count": 3}
    declared = {"node_types": [{"count": 3}], "edge_types": [{"temporal": True}], "time": grid}
    assert sorted(made(frame, declared).edges["edge"].step.tolist()) == [0, 0, 2]
    with pytest.raises(InvalidInput) as refused:
        made(frame, nodes=3)
    printed = json.loads(re.search(r"\"time\": (\{.*?\})\}", str(refused.value))[1])
    assert str(printed["start"]).startswith("2024-0")
    printed_schema = {**declared, "time": printed}
    assert made(frame, printed_schema).edges["edge"].count == 3


@pytest.mark.parametrize(
    ("start", "width", "seconds"),
    [
        ("1970-01-02", "1w", (86_400, 604_800)),
        ("1970-01-01T01:00:00+01:00", "15min", (0, 900)),
        (5, 7, (5, 7)),
    ],
)
def test_grids_are_kept_as_seconds(start: Any, width: Any, seconds: tuple[int, int]) -> None:
    grid = TimeGrid(start=start, width=width, count=2)
    assert (grid.start, grid.width) == seconds
    with pytest.raises(ValueError, match="no date"):
        TimeGrid(start="yesterday", count=2)


@pytest.mark.parametrize("value", [np.float64(0.5), np.float32(0.5), np.float16(0.5), "0.5", 0.5])
def test_numpys_numbers_are_numbers(value: Any) -> None:
    assert epsilon_cost(value) == 500_000_000
    assert epsilon_cost(np.float32(0.1)) == 100_000_000
    assert epsilon_cost(np.int64(2)) == 2_000_000_000
    assert plain({"a": [value, np.int32(3), np.bool_(True)]}) == {"a": [plain(value), 3, True]}
    with pytest.raises(InvalidInput):
        epsilon_cost(np.float64("nan"))


def test_a_plan_takes_numpys_numbers(tmp_path: Path) -> None:
    budget = gv.Budget(tmp_path / "budget.json", epsilon=np.float64(4), delta=np.float32(0))
    for epsilon in np.linspace(0.5, 2, 2):
        assert float(gv.plan(nx.karate_club_graph(), epsilon, budget=budget).epsilon) == epsilon


def test_doubts_are_told_to_whoever_gave_the_graph() -> None:
    matrix = sp.csr_array(np.triu(np.ones((5, 5)), 1))
    with pytest.warns(UserWarning, match="not symmetric"):
        gv.plan(matrix, 1)
