"""Graphs of several sorts of nodes, with time, in collections, streams and proposals: no order is released.

Of neighbours all that is published and does not come from noise is the same: tables and schema byte for byte,
the report, and the names in the manifest. Who is there is marked where nobody declared it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from torch_geometric.data import Data, HeteroData, TemporalData

from core.graphs.graph import EdgeTable, Graph
from core.graphs.ingest.assembled_objects import graph_of
from core.graphs.ingest.objects import tables_of
from core.graphs.ingest.proposal import propose
from core.graphs.ingest.snapshots import canonical_snapshot
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import Derived, GraphSchema, NodeIds
from core.graphs.schema.snapshots import tick_schema
from core.graphs.stored.fingerprint import fingerprint
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.batches import RawGraph
from core.graphs.uploads.files import IngestLimits, UploadedFile
from core.graphs.uploads.tables import columnar
from core.graphs.views.pseudonyms import reordered
from core.privacy.units import Unit
from tests.support.publishing import Fixed, publish

pytestmark = pytest.mark.extras

Rows = Sequence[tuple[str, str, str]]

NAMES = ("ann", "bob", "cid", "10", "9", "flo")
FILMS = ("up", "heat")
BOTH: Rows = (("cid", "bob", "knows"), ("bob", "up", "sees"), ("10", "ann", "knows"), ("ann", "heat", "sees"))
NEIGHBOURS: tuple[Rows, Rows] = ((("9", "heat", "sees"), ("flo", "cid", "knows"), *BOTH[1:], BOTH[0]), BOTH)
"""The first rows name other nodes, another type and another relation first."""
TYPED = GraphSchema.model_validate(
    {
        "node_types": [
            {"name": "user", "attributes": [{"name": "town", "protection": "public"}]},
            {"name": "film"},
        ],
        "edge_types": [
            {"name": "knows", "source": "user", "target": "user"},
            {"name": "sees", "source": "user", "target": "film"},
        ],
        "node_ids": "public",
    }
)
TIMED = GraphSchema.model_validate(
    {
        "edge_types": [{"temporal": True}],
        "time": {"start": 0, "width": 10, "count": 2},
        "node_ids": "public",
    }
)
COLLECTED = GraphSchema.model_validate(
    {
        "collection": {
            "graphs": [{"id": "7"}, {"id": "8"}],
            "attributes": [{"name": "town", "protection": "public"}],
        },
        "node_ids": "public",
    }
)
NOISY = ("totals", "provenance", "precision")


def seen(rows: Rows) -> list[str]:
    """All nodes, in the order in which rows name them; those that none names at the end, backwards."""
    named = [name for source, target, _ in rows for name in (source, target)]
    return list(dict.fromkeys([*named, *reversed((*NAMES, *FILMS))]))


def users(rows: Rows) -> list[str]:
    return [name for name in seen(rows) if name in NAMES]


def typed_networkx(rows: Rows) -> Graph:
    graph = nx.Graph()
    for source, target, relation in rows:
        graph.add_edge(source, target, type=relation)
    graph.add_nodes_from(seen(rows))
    for name in graph:
        graph.nodes[name]["type"] = "film" if name in FILMS else "user"
        if name in NAMES:
            graph.nodes[name]["town"] = f"town of {name}"
    return graph_of(tables_of(graph), TYPED).graph


def collection(rows: Rows, folder: Path) -> Graph:
    """Graph 7 holds the edges; graph 8 the same ones, other way round."""
    edges, nodes = ["graph_id,source,target"], ["graph_id,id,town"]
    for graph in ("8", "7"):
        edges += [f"{graph},{source},{target}" for source, target, kind in rows if kind == "knows"]
        nodes += [f"{graph},{name},town of {name} in {graph}" for name in users(rows)]
    return uploaded(edges, nodes, COLLECTED, folder)


def snapshot(rows: Rows, folder: Path) -> Graph:
    """A stream's dataset begins without an edge; its snapshots are read over the universe that it stored."""
    stored = uploaded(["source,target,time"], ["id", *users(rows)], TIMED, folder)
    (folder / "tick.csv").write_text(text(rows))
    return canonical_snapshot(
        UploadedFile(folder / "tick.csv", "csv"),
        tick_schema(TIMED, ["edge"], 1),
        stored.nodes,
        folder / "tick",
    )


def timed(rows: Rows, folder: Path) -> Graph:
    edges = [f"{line},{3 + 7 * (number % 2)}" for number, line in enumerate(text(rows).splitlines()[1:])]
    return uploaded(["source,target,time", *edges], ["id", *users(rows)], TIMED, folder)


def text(rows: Rows) -> str:
    known = [f"{source},{target}" for source, target, kind in rows if kind == "knows"]
    return "\n".join(["source,target", *known]) + "\n"


def uploaded(edges: Sequence[str], nodes: Sequence[str], schema: GraphSchema, folder: Path) -> Graph:
    for name, lines in (("edges", edges), ("nodes", nodes)):
        (folder / name).write_text("\n".join(lines) + "\n")
    files = {name: UploadedFile(folder / name, "csv") for name in ("edges", "nodes")}
    canonicalise(files, schema, folder / "graph")
    return read_graph(folder / "graph")


def document_with_its_nodes(rows: Rows, folder: Path) -> Graph:
    """The declared list stands; what the document lists is neither its nodes nor their order."""
    known = nx.Graph([(source, target) for source, target, kind in rows if kind == "knows"])
    nx.write_graphml(known, folder / "graph.graphml")
    (folder / "nodes").write_text("\n".join(["id", *users(rows)]) + "\n")
    files = {"edges": UploadedFile(folder / "graph.graphml", "graphml")}
    files["nodes"] = UploadedFile(folder / "nodes", "csv")
    canonicalise(files, GraphSchema(node_ids=NodeIds.PUBLIC), folder / "graph")
    return read_graph(folder / "graph")


class _Igraph:
    """What igraph documents of its graphs, of vertices that were named as edges came."""

    def __init__(self, rows: Rows) -> None:
        known = [(source, target) for source, target, kind in rows if kind == "knows"]
        names = list(dict.fromkeys([*(name for pair in known for name in pair), *users(rows)]))
        self.ends = [(names.index(source), names.index(target)) for source, target in known]
        self.vs = _Columns(name=names, town=[f"town of {name}" for name in names])
        self.es = _Columns()

    def vcount(self) -> int:
        return len(NAMES)

    def get_edgelist(self) -> list[tuple[int, int]]:
        return self.ends

    def is_directed(self) -> bool:
        return False


class _Columns(dict[str, list[Any]]):
    def attributes(self) -> list[str]:
        return list(self)


def igraph(rows: Rows, folder: Path) -> Graph:
    schema = {
        "node_types": [{"attributes": [{"name": "town", "protection": "public"}]}],
        "node_ids": "public",
    }
    return graph_of(tables_of(_Igraph(rows)), GraphSchema.model_validate(schema)).graph


def hetero(rows: Rows) -> HeteroData:
    """Node and edge types stand in the order in which rows name them, as a loop over rows leaves them."""
    data = HeteroData()
    numbers = {**{name: place for place, name in enumerate(sorted(NAMES))}, "up": 0, "heat": 1}
    for relation in dict.fromkeys(kind for *_, kind in rows):
        other = "film" if relation == "sees" else "user"
        data[other].num_nodes = 2 if other == "film" else len(NAMES)
        ends = [(numbers[source], numbers[target]) for source, target, kind in rows if kind == relation]
        data["user", relation, other].edge_index = torch.tensor(ends).T
    data["user"].num_nodes = len(NAMES)
    return data


KINDS: dict[str, Callable[[Rows, Path], Graph]] = {
    "networkx of two types": lambda rows, folder: typed_networkx(rows),
    "collection": collection,
    "temporal": timed,
    "snapshot": snapshot,
    "document with its nodes": document_with_its_nodes,
    "igraph": igraph,
    "HeteroData": lambda rows, folder: graph_of(tables_of(hetero(rows))).graph,
}


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_release_the_same_beside_noise(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "igraph", SimpleNamespace(Graph=_Igraph))
    graphs, released = [], []
    for number, rows in enumerate(NEIGHBOURS):
        (folder := tmp_path / f"{number}").mkdir()
        graphs.append(KINDS[kind](rows, folder))
        released.append(published(graphs[-1], folder / "out"))
    assert not graphs[0].equals(graphs[1]), "they are neighbours, not twins"
    assert released[0] == released[1]


def published(graph: Graph, out: Path) -> dict[str, Any]:
    """All that is public of a release, where what noise says is always the same or left out."""
    graph = Graph.build(public_ids(graph.schema), graph.nodes, graph.edges)
    ends = np.array([0, 1]), np.array([1, 0])
    sample = Graph.build(
        graph.schema,
        graph.nodes,
        {each.name: EdgeTable(*ends, steps(each.temporal)) for each in graph.schema.edge_types},
    )
    names = tuple(each.name for each in graph.schema.edge_types)
    unit = Unit.EVENT if graph.schema.temporal else Unit.EDGE
    publish(Fixed(sample), graph, out, unit=unit, edge_types=names, formats=())
    folder = out / "job" / "release"
    report = json.loads((folder / "public.json").read_text())
    found: dict[str, Any] = {name: part for name, part in report.items() if name not in NOISY}
    for path in folder.iterdir():
        if path.name.startswith(("nodes", "edges", "graph", "schema")):
            found[path.name] = path.read_bytes()
    listed = json.loads((out / "job" / "manifest.json").read_text())
    found["manifest"] = [(each["name"], each["role"]) for each in listed]
    return found


def public_ids(schema: GraphSchema) -> GraphSchema:
    return schema.model_copy(update={"node_ids": NodeIds.PUBLIC})


def steps(temporal: bool) -> np.ndarray | None:
    return np.zeros(2, dtype=np.int32) if temporal else None


def test_ids_of_which_some_are_no_integers_are_sorted_as_texts() -> None:
    people = typed_networkx(NEIGHBOURS[0]).nodes["user"]
    assert people.id_array().to_pylist() == sorted(NAMES)
    assert people.attributes["town"].to_pylist() == [f"town of {name}" for name in sorted(NAMES)]


def test_a_proposal_is_in_no_order_of_the_data() -> None:
    """Columns of rows that were collected one by one stand as they first came; relations too."""
    rows = [
        {"source": "a", "target": "b", "type": "knows", "since": 3, "kind": "x"},
        {"source": "b", "target": "c", "type": "sees", "kind": "y", "since": 4},
        {"source": "c", "target": "a", "type": "knows", "since": 5, "kind": "y"},
        {"source": "a", "target": "c", "type": "sees", "kind": "x", "since": 1},
    ]
    people = [{"id": "a", "town": "x", "age": 3}, {"id": "b", "age": 4, "town": "y"}, {"id": "c", "age": 1}]

    def schema(edges: list[dict[str, Any]], nodes: list[dict[str, Any]]) -> str:
        columns = [pa.Table.from_pylist(each, pa.schema(fields(each))) for each in (edges, nodes)]
        found = propose(
            lambda notes: RawGraph(*(iter([columnar(table)]) for table in columns)), IngestLimits()
        )
        return found.schema.model_dump_json()

    assert schema(rows, people) == schema(rows[1:] + rows[:1], people[1:] + people[:1])


def fields(rows: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Columns in the order in which rows first have them."""
    held = {name: value for row in rows for name, value in row.items()}
    return [(name, pa.int64() if isinstance(value, int) else pa.string()) for name, value in held.items()]


def marks(graph: object, nodes: object = None, schema: GraphSchema | None = None) -> tuple[Derived, ...]:
    return graph_of(tables_of(graph, nodes), schema).derived


HAVE_NODES: dict[str, tuple[Callable[[], object], object]] = {
    "networkx": (lambda: nx.Graph([(0, 1), (1, 2)]), range(3)),
    "networkx, counted": (lambda: nx.Graph([(0, 1), (1, 2)]), 3),
    "networkx, in a frame": (lambda: nx.Graph([("a", "b")]), pd.DataFrame({"id": ["b", "a"]})),
    "scipy": (lambda: nx.to_scipy_sparse_array(nx.path_graph(3)), 3),
    "Data": (lambda: Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3), 3),
    "Data with what nodes carry": (
        lambda: Data(edge_index=torch.tensor([[0, 1], [1, 2]]), x=torch.ones(3, 1)),
        3,
    ),
    "HeteroData": (lambda: hetero(BOTH), {"user": 6, "film": 2}),
}


@pytest.mark.parametrize("kind", HAVE_NODES)
def test_nodes_that_nobody_declared_are_marked(kind: str) -> None:
    """An object may have been made of its edges: only who says who is there has declared it."""
    graph, nodes = HAVE_NODES[kind]
    assert marks(graph()) == (Derived.NODE_LIST,)
    assert marks(graph(), nodes) == ()


def test_a_schema_that_counts_its_nodes_declares_them() -> None:
    counted = GraphSchema.model_validate({"node_types": [{"count": 3}]})
    assert marks(nx.Graph([(0, 1), (1, 2)]), schema=counted) == ()
    assert marks(nx.Graph([(0, 1), (1, 2)]), schema=GraphSchema()) == (Derived.NODE_LIST,)
    ends = torch.tensor([0, 1])
    events = TemporalData(src=ends, dst=ends + 1, t=ends, msg=torch.ones(2, 1))
    grid = {"edge_types": [{"temporal": True}], "time": {"start": 0, "count": 2}}
    assert marks(events, 4, GraphSchema.model_validate(grid | {"node_types": [{"count": 4}]})) == ()


def test_declared_nodes_without_an_edge_are_there() -> None:
    """The pendant node is in the universe whether or not its edge is in the graph."""
    people = [graph_of(tables_of(nx.Graph(ends), range(4))).graph for ends in ([(0, 1), (2, 3)], [(0, 1)])]
    assert people[0].nodes["node"].id_array().equals(people[1].nodes["node"].id_array())
    assert people[0].nodes["node"].count == 4


def test_a_fingerprint_knows_no_order() -> None:
    """What was stored in another order is the same content: an upload of it again is told from no other."""
    graph = typed_networkx(NEIGHBOURS[0])
    turned = reordered(graph, {name: np.arange(table.count)[::-1] for name, table in graph.nodes.items()})
    assert not turned.equals(graph)
    assert fingerprint(turned, bytes(32)) == fingerprint(graph, bytes(32))
    assert fingerprint(typed_networkx(NEIGHBOURS[1]), bytes(32)) != fingerprint(graph, bytes(32))
