"""Files for other tools hold the whole graph: read back by the tool, or by the rules of its manual."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import yaml

from core.errors import InvalidInput, NotAccepted, UnknownFormat
from core.graphs import formats
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.ingest.uploaded import UploadedFile, canonicalise
from core.graphs.schema import (
    Attribute,
    AttributeKind,
    Collection,
    CollectionGraph,
    EdgeType,
    GraphSchema,
    NodeType,
    TimeGrid,
)
from core.graphs.schema.edge_attributes import Aggregate, EdgeAttribute, EdgeAttributeKind, Multiplicity

EXPORTS = tuple(sorted(set(formats.names()).difference(formats.read_names())))
AMOUNT = EdgeAttribute(name="amount", kind=EdgeAttributeKind.NUMBER, bounds=(0, 10), aggregate=Aggregate.MAX)
HOUR = EdgeAttribute(name="hour", kind=EdgeAttributeKind.TIME_OF_DAY, aggregate=Aggregate.MIN)
MOOD = EdgeAttribute(name="mood", kind=EdgeAttributeKind.CATEGORY, categories=("good", "ba,d"))


def shop() -> Graph:
    """Two node types whose ids collide, four relations: timed, valued, with several records, with neither."""
    schema = GraphSchema(
        node_types=(
            NodeType(
                name="user",
                attributes=(
                    Attribute(name="age", kind=AttributeKind.NUMBER),
                    Attribute(name="town"),
                    Attribute(name="face", kind=AttributeKind.VECTOR),
                ),
            ),
            NodeType(name="item", attributes=(Attribute(name="price", kind=AttributeKind.NUMBER),)),
        ),
        edge_types=(
            EdgeType(name="knows", source="user", target="user", temporal=True),
            EdgeType(name="buys", source="user", target="item", temporal=True, attributes=(AMOUNT, HOUR)),
            EdgeType(
                name="rates",
                source="user",
                target="item",
                attributes=(MOOD,),
                multiplicity=Multiplicity.EACH,
                records_per_slot=3,
            ),
            EdgeType(name="follows", source="user", target="user", directed=True),
        ),
        time=TimeGrid(count=5),
    )
    nodes = {
        "user": NodeTable(
            4,
            pa.array(["a", 'b"c,;', "é", "alone"]),
            {
                "age": np.array([30.5, np.nan, 7.0, 1.0]),
                "town": pa.array(["x,y", None, "z", "z"]),
                "face": np.array([[0.5, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]], dtype=np.float32),
            },
        ),
        "item": NodeTable(3, pa.array(["a", "2", "3"]), {"price": np.array([1.0, 2.0, 3.0])}),
    }
    edges = {
        "knows": EdgeTable(np.array([0, 0, 0, 1]), np.array([1, 1, 1, 2]), np.array([0, 1, 3, 4])),
        "buys": EdgeTable(
            np.array([0, 0, 2]),
            np.array([0, 0, 2]),
            np.array([0, 4, 1]),
            EdgeValues({"amount": np.array([1.5, 2.0, 0.0]), "hour": np.array([60, 3661, 86399], np.int32)}),
        ),
        "rates": EdgeTable(
            np.array([0, 2]),
            np.array([1, 2]),
            None,
            EdgeValues({"mood": np.array([0, 1, 1], np.int32)}, np.array([0, 0, 1])),
        ),
        "follows": EdgeTable(np.array([1, 0]), np.array([0, 1])),
    }
    return Graph.build(schema, nodes, edges)


def molecules() -> Graph:
    """Three graphs that number their nodes alike, one attribute."""
    schema = GraphSchema(
        collection=Collection(
            graphs=tuple(
                CollectionGraph(id=each, label=label) for each, label in (("m-1", "x"), ("m-2", "y"))
            ),
            attributes=(Attribute(name="atom"),),
        )
    )
    nodes = {
        "graph-m-1": NodeTable(3, pa.array(["0", "1", "2"]), {"atom": pa.array(["C", "O", "C"])}),
        "graph-m-2": NodeTable(4, pa.array(["0", "1", "2", "3"]), {"atom": pa.array(["N", "O", "C", "C"])}),
    }
    edges = {
        "graph-m-1": EdgeTable(np.array([0, 1]), np.array([1, 2])),
        "graph-m-2": EdgeTable(np.array([0, 0, 2]), np.array([1, 3, 3])),
    }
    return Graph.build(schema, nodes, edges)


def plain() -> Graph:
    schema = GraphSchema(node_types=(NodeType(count=4),), edge_types=(EdgeType(attributes=(AMOUNT,)),))
    ends = EdgeTable(np.array([0, 1]), np.array([1, 2]), None, EdgeValues({"amount": np.array([0.5, 3.0])}))
    return Graph.build(schema, {}, {"edge": ends})


GRAPHS = {"shop": shop, "molecules": molecules, "plain": plain}


def rows_of(graph: Graph) -> Counter:
    """Every record: relation, keys of its ends, step, and what it carries in words of its declaration."""
    found: Counter = Counter()
    several = len(graph.nodes) > 1
    for relation in graph.schema.edge_types:
        table = graph.edges[relation.name]
        names = {
            end: [f"{end}/{each}" if several else each for each in graph.nodes[end].id_array().to_pylist()]
            for end in (relation.source, relation.target)
        }
        values = table.values
        places = range(table.count) if values is None or values.edge is None else values.edge.tolist()
        for record, row in enumerate(places):
            told: dict[str, Any] = {}
            for attribute in relation.attributes if values is not None else ():
                held = values.columns[attribute.name][record].item()
                told[attribute.name] = attribute.categories[held] if attribute.categories else held
            ends = (names[relation.source][table.source[row]], names[relation.target][table.target[row]])
            step = None if table.step is None else int(table.step[row])
            found[relation.name, *ends, step, *sorted(told.items())] += 1
    return found


def nodes_of(graph: Graph) -> dict[str, dict[str, Any]]:
    """What every node carries, by its key; what is missing left out."""
    several, found = len(graph.nodes) > 1, {}
    for kind, table in graph.nodes.items():
        for place, each in enumerate(table.id_array().to_pylist()):
            told = {name: column[place] for name, column in table.attributes.items()}
            held = {
                name: value.tolist() if isinstance(value, np.ndarray | np.generic) else value.as_py()
                for name, value in told.items()
            }
            kept = {name: value for name, value in held.items() if value is not None and value == value}
            found[f"{kind}/{each}" if several else each] = kept
    return found


def exported(graph: Graph, name: str, folder: Path) -> Path:
    path = folder / f"graph.{formats.get(name).extensions[0]}"
    formats.get(name).write(graph, path)
    assert list(folder.iterdir()) == [path]
    return path


def of_seconds(text: str) -> int:
    hours, minutes, seconds = map(int, text.split(":"))
    return hours * 3600 + minutes * 60 + seconds


@pytest.mark.parametrize("form", EXPORTS)
@pytest.mark.parametrize("which", GRAPHS)
def test_the_same_graph_is_the_same_bytes(form: str, which: str, tmp_path: Path) -> None:
    written = [exported(GRAPHS[which](), form, tmp_path).read_bytes() for _ in range(2)]
    assert written[0] == written[1]


@pytest.mark.parametrize("which", GRAPHS)
def test_networkx_reads_the_gexf(which: str, tmp_path: Path) -> None:
    graph = GRAPHS[which]()
    made = nx.read_gexf(exported(graph, "gexf", tmp_path))
    assert made.graph["mode"] == ("dynamic" if graph.schema.temporal else "static")
    found: Counter = Counter()
    undirected = {each.name for each in graph.schema.edge_types if each.homogeneous and not each.directed}
    for source, target, data in made.edges(data=True):
        relation = data.get("relation", graph.schema.edge_types[0].name)
        if not made.is_directed() and relation in undirected:
            order = list(made.nodes)
            source, target = sorted((source, target), key=order.index)
        told = {k: v for k, v in data.items() if k in ("amount", "hour", "mood")}
        if "hour" in told:
            told["hour"] = of_seconds(told["hour"])
        if "spells" in data:
            steps = [step for first, last in data["spells"] for step in range(int(first), int(last) + 1)]
        else:
            steps = [int(data["start"])] if "start" in data else [None]
            assert data.get("end") == data.get("start")
        for step in steps:
            found[relation, source, target, step, *sorted(told.items())] += 1
    assert found == rows_of(graph)
    kept = {"age", "town", "face", "price", "atom"}
    nodes = {key: {k: v for k, v in data.items() if k in kept} for key, data in made.nodes(data=True)}
    for data in nodes.values():
        if "face" in data:
            data["face"] = [float(each) for each in data["face"].split(";")]
    assert nodes == nodes_of(graph)


def test_an_edge_over_several_snapshots_stands_once_in_gexf(tmp_path: Path) -> None:
    made = nx.read_gexf(exported(shop(), "gexf", tmp_path))
    spells = [data["spells"] for *_, data in made.edges(data=True) if data["relation"] == "knows"]
    assert sorted(spells) == [[(0, 1), (3, 3)], [(4, 4)]]


@pytest.mark.parametrize("which", GRAPHS)
def test_graphframes_tables_keep_to_its_columns(which: str, tmp_path: Path) -> None:
    graph = GRAPHS[which]()
    archive = zipfile.ZipFile(exported(graph, "graphframes", tmp_path))
    assert archive.namelist() == ["edges.parquet", "vertices.parquet"]
    vertices, edges = (pl.read_parquet(archive.read(f"{each}.parquet")) for each in ("vertices", "edges"))
    assert vertices["id"].is_unique().all()
    assert vertices["id"].null_count() == 0
    assert edges.columns[: 3 if "graph_id" in edges.columns else 2][-2:] == ["src", "dst"]
    assert set(edges["src"]) | set(edges["dst"]) <= set(vertices["id"])
    kinds = {"age": pl.Float64, "price": pl.Float64, "face": pl.List(pl.Float32), "town": pl.String}
    for column, kind in kinds.items():
        if column in vertices.columns:
            read = vertices.schema[column]
            assert read == kind or (isinstance(read, pl.Array) and read.inner == pl.Float32)
    found: Counter = Counter()
    for row in edges.iter_rows(named=True):
        told = {k: v for k, v in row.items() if k in ("amount", "hour", "mood") and v is not None}
        if "hour" in told:
            told["hour"] = of_seconds(str(told["hour"]))
        relation = row.get("type") or (f"graph-{row['graph_id']}" if "graph_id" in row else "edge")
        found[relation, row["src"], row["dst"], row.get("time"), *sorted(told.items())] += 1
    assert found == rows_of(graph)
    attributes = {"age", "town", "face", "price", "atom"}
    nodes = {
        row["id"]: {k: v for k, v in row.items() if k in attributes and v is not None}
        for row in vertices.iter_rows(named=True)
    }
    assert nodes == nodes_of(graph)


# Neo4j by the rules of its manual: a header names a property and its type, and in parentheses the space of an
# id; ids are unique within a space; an empty field is no property; arrays are parted by semicolons.

FIELD = re.compile(r"(?P<name>[^:]*):(?P<type>[A-Za-z_]+(\[\])?)(\((?P<space>[^()]*)\))?")
TYPES: dict[str, Any] = {
    "long": int,
    "double": float,
    "string": str,
    "localtime": of_seconds,
    "float[]": lambda text: [float(each) for each in text.split(";")],
}


def neo4j_rows(archive: zipfile.ZipFile, file: str) -> list[list[tuple[str, str, str, Any]]]:
    """Every row as (name, type, space, value) of the fields that are not empty."""
    header, *rows = csv.reader(io.StringIO(archive.read(file).decode()))
    fields = []
    for each in header:
        matched = FIELD.fullmatch(each)
        assert matched is not None, each
        fields.append((matched["name"], matched["type"], matched["space"] or ""))
    names = [name for name, *_ in fields if name]
    assert len(set(names)) == len(names)
    for row in rows:
        assert len(row) == len(fields)
    return [
        [(*field, TYPES.get(field[1], str)(text)) for field, text in zip(fields, row, strict=True) if text]
        for row in rows
    ]


@pytest.mark.parametrize("which", GRAPHS)
def test_neo4j_imports_the_files_that_the_command_names(which: str, tmp_path: Path) -> None:
    graph = GRAPHS[which]()
    archive = zipfile.ZipFile(exported(graph, "neo4j", tmp_path))
    command = archive.read("import.txt").decode()
    node_files = dict(re.findall(r"--nodes=([\w-]+)=(\S+)", command))
    edge_files = re.findall(r"--relationships=(\S+)", command)
    assert sorted([*node_files.values(), *edge_files, "import.txt"]) == archive.namelist()
    several = len(graph.nodes) > 1
    nodes: dict[str, dict[str, Any]] = {}
    ids: set[tuple[str, str]] = set()
    for file in node_files.values():
        for row in neo4j_rows(archive, file):
            ((space, key),) = [(space, value) for _, kind, space, value in row if kind == "ID"]
            assert (space, key) not in ids
            ids.add((space, key))
            told = {
                name: value for name, kind, _, value in row if kind != "ID" and name not in ("id", "graph_id")
            }
            nodes[f"{space}/{key}" if several and space else key] = told
    assert nodes == nodes_of(graph)
    found: Counter = Counter()
    for file in edge_files:
        for row in neo4j_rows(archive, file):
            ends = {kind: (space, value) for _, kind, space, value in row if kind in ("START_ID", "END_ID")}
            assert set(ends.values()) <= ids
            ((relation),) = [value for _, kind, _, value in row if kind == "TYPE"]
            told = {name: value for name, kind, _, value in row if name}
            step, owner = told.pop("step", None), told.pop("graph_id", None)
            assert told.pop("time", None) == step  # its grid has steps 0, 1, ...
            keys = [
                f"{space}/{key}" if several and space else key
                for space, key in (ends["START_ID"], ends["END_ID"])
            ]
            found[relation if owner is None else f"graph-{owner}", *keys, step, *sorted(told.items())] += 1
    assert found == rows_of(graph)


def dgl_tables(graph: Graph, folder: Path) -> tuple[dict[str, Any], dict[str, Any], Callable[[str], list]]:
    """What ``dgl.data.CSVDataset`` reads: ``meta.yaml``, the categories, and the rows of a table."""
    (folder / "one").mkdir()
    archive = zipfile.ZipFile(exported(graph, "dgl", folder / "one"))

    def rows(name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(archive.read(name).decode())))

    said = yaml.safe_load(archive.read("meta.yaml"))
    assert (said["version"], said["separator"]) == ("1.0.0", ",")
    return said, json.loads(archive.read("categories.json")), rows


def test_dgl_has_types_times_and_values(tmp_path: Path) -> None:
    graph = shop()
    said, codes, rows = dgl_tables(graph, tmp_path)
    names = {(row["type"], row["node_id"]): f"{row['type']}/{row['id']}" for row in rows("ids.csv")}
    found: Counter = Counter()
    for table in said["edge_data"]:
        kind, relation, target = table["etype"]
        for row in rows(table["file_name"]):
            ends = names[kind, row.pop("src_id")], names[target, row.pop("dst_id")]
            told: dict[str, Any] = {name: float(value) for name, value in row.items()}
            step = told.pop("step", None)
            assert told.pop("time", None) == step
            if "mood" in told:
                told["mood"] = codes["edges"]["rates"]["mood"][int(told["mood"])]
            found[relation, *ends, step, *sorted(told.items())] += 1
    for (relation, source, target, *rest), times in rows_of(graph).items():
        if relation == "knows":
            found[relation, target, source, *rest] -= times
    assert +found == rows_of(graph)
    tables = {table["ntype"]: rows(table["file_name"]) for table in said["node_data"]}
    users = tables["user"]
    assert [row["node_id"] for row in users] == ["0", "1", "2", "3"]
    assert [row["age"] == "" for row in users] == [False, True, False, False]
    assert float(users[0]["age"]) == 30.5
    towns = [*codes["nodes"]["user"]["town"], None]
    assert [towns[int(row["town"])] for row in users] == ["x,y", None, "z", "z"]
    faces = [[float(each) for each in row["face"].split(",")] for row in users]
    assert faces == [[0.5, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]
    assert len(tables["item"]) == 3


def test_dgl_has_a_collection_as_graphs_with_labels(tmp_path: Path) -> None:
    said, codes, rows = dgl_tables(molecules(), tmp_path)
    graphs = rows(said["graph_data"]["file_name"])
    assert [codes["graphs"]["label"][int(row["label"])] for row in graphs] == ["x", "y"]
    nodes, edges = (rows(said[each][0]["file_name"]) for each in ("node_data", "edge_data"))
    parts = [[row for row in nodes if row["graph_id"] == each["graph_id"]] for each in graphs]
    assert [[row["node_id"] for row in part] for part in parts] == [["0", "1", "2"], ["0", "1", "2", "3"]]
    first = sorted((row["src_id"], row["dst_id"]) for row in edges if row["graph_id"] == "0")
    assert first == [("0", "1"), ("1", "0"), ("1", "2"), ("2", "1")]
    atoms = [[codes["nodes"]["all"]["atom"][int(row["atom"])] for row in part] for part in parts]
    assert atoms == [["C", "O", "C"], ["N", "O", "C", "C"]]


@pytest.mark.parametrize(
    ("form", "of_nodes", "of_edges"),
    [
        ("dgl", "graph_id", "src_id"),
        ("gexf", "pid", "label"),
        ("graphframes", None, "dst"),
        ("neo4j", "key", None),
    ],
)
def test_a_name_that_a_format_uses_itself_is_refused(
    form: str, of_nodes: str | None, of_edges: str | None, tmp_path: Path
) -> None:
    if of_edges is not None:
        value = EdgeAttribute(
            name=of_edges, kind=EdgeAttributeKind.NUMBER, bounds=(0, 1), aggregate=Aggregate.MAX
        )
        schema = GraphSchema(node_types=(NodeType(count=2),), edge_types=(EdgeType(attributes=(value,)),))
        assert of_edges in str(formats.get(form).refuses(schema))
        with pytest.raises(NotAccepted, match=of_edges):
            formats.get(form).write(Graph.build(schema, {}, {}), tmp_path / "g")
        assert not list(tmp_path.iterdir())
    if of_nodes is not None:
        schema = GraphSchema(node_types=(NodeType(attributes=(Attribute(name=of_nodes),)),))
        assert of_nodes in str(formats.get(form).refuses(schema))


@pytest.mark.parametrize("form", EXPORTS)
def test_what_is_only_written_is_never_read(form: str, tmp_path: Path) -> None:
    assert form in formats.names()
    assert form not in formats.read_names()
    path = exported(plain(), form, tmp_path)
    with pytest.raises(UnknownFormat, match="written, not read"):
        canonicalise({"edges": UploadedFile(path, form)}, plain().schema, tmp_path / "out")
    assert issubclass(UnknownFormat, InvalidInput)


@pytest.mark.parametrize("form", EXPORTS)
def test_a_graph_without_edges_is_written(form: str, tmp_path: Path) -> None:
    empty = Graph.build(shop().schema, shop().nodes, {})
    assert exported(empty, form, tmp_path).stat().st_size > 0
