"""The tables of an archive for Neo4j, and the command that imports them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from core.errors import NotAccepted
from core.graphs.formats import _archives
from core.graphs.formats._tables import edge_tables, typed_node_tables, write_text
from core.graphs.formats.neo4j import refuses
from core.graphs.graph import Graph
from core.graphs.schema import GRAPH_ID, STEP
from core.graphs.views.convert import node_keys


def write(graph: Graph, path: Path) -> None:
    """Write the files of nodes and edges. They have properties typed, missing values empty (Neo4j keeps no
    nulls)."""
    if reason := refuses(graph.schema):
        raise NotAccepted(reason, field="format")
    with _archives.archived(path) as folder:
        lines = _collection(graph, folder) if graph.schema.collection else _typed(graph, folder)
        command = " \\\n  ".join(["neo4j-admin database import full", *lines, "neo4j"])
        (folder / "import.txt").write_text(command + "\n", encoding="utf-8")


def _typed(graph: Graph, folder: Path) -> list[str]:
    """Write one file for each node type and relation, and return their arguments of the command."""
    lines = []
    for kind, table in typed_node_tables(graph).items():
        file = f"nodes-{kind}.csv"
        _write(iter([table]), folder / file, {"id": f"id:ID({kind})"})
        lines.append(f"--nodes={kind}={file}")
    for relation in graph.schema.edge_types:
        file = f"edges-{relation.name}.csv"
        ends = {"source": f":START_ID({relation.source})", "target": f":END_ID({relation.target})"}
        carried = {attribute.name for attribute in relation.attributes} | {"source", "target", "weight"}
        if relation.temporal:
            carried |= {"time", STEP}
        rows = (
            _typed_rows(each, carried, relation.name) for each in edge_tables(graph, None, [relation.name])
        )
        _write(rows, folder / file, ends)
        lines.append(f"--relationships={file}")
    return lines


def _collection(graph: Graph, folder: Path) -> list[str]:
    """Write one file of nodes and one of edges for all graphs, and return their arguments of the command."""
    keys = {kind: pa.array(names, type=pa.string()) for kind, names in node_keys(graph).items()}
    nodes = (table.add_column(0, "key", keys[kind]) for kind, table in typed_node_tables(graph).items())
    _write(nodes, folder / "nodes.csv", {"key": "key:ID"})
    ends = {"source": ":START_ID", "target": ":END_ID"}
    rows = (_typed_rows(each, set(each.column_names), "EDGE") for each in edge_tables(graph, keys))
    _write(rows, folder / "edges.csv", ends)
    return ["--nodes=Node=nodes.csv", "--relationships=edges.csv"]


def _typed_rows(table: pa.Table, kept: set[str], relation: str) -> pa.Table:
    """Keep those columns, and say the type of the relationships."""
    names = [each for each in table.column_names if each in kept]
    return table.select(names).add_column(
        2 + (GRAPH_ID in names), ":TYPE", pa.repeat(relation, table.num_rows)
    )


def _write(tables: Iterator[pa.Table], path: Path, ends: dict[str, str]) -> None:
    """Write the rows under headers that say what each column is."""

    def headed() -> Iterator[pa.Table]:
        for table in tables:
            names = [
                ends.get(field.name)
                or (field.name if field.name == ":TYPE" else f"{field.name}:{_kind(field.type)}")
                for field in table.schema
            ]
            yield _texts(table).rename_columns(names)

    write_text(headed(), path, ",")


def _kind(kind: pa.DataType) -> str:
    """Name Neo4j's type of the property."""
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return "float[]"
    if pa.types.is_floating(kind):
        return "double"
    if pa.types.is_integer(kind):
        return "long"
    return "localtime" if pa.types.is_time(kind) else "string"


def _texts(table: pa.Table) -> pa.Table:
    """Write vectors as text, with Neo4j's delimiter of arrays."""
    for place, field in enumerate(table.schema):
        if pa.types.is_fixed_size_list(field.type):
            rows = table.column(place).to_pylist()
            texts = pa.array([";".join(map(str, row)) for row in rows], type=pa.string())
            table = table.set_column(place, field.name, texts)
    return table
