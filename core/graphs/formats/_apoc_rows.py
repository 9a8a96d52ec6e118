"""Rows of nodes and of relationships, as Neo4j's APOC exports them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow as pa
import pyarrow.csv as pacsv

from core.graphs.formats._documents import exported, raw_graph
from core.graphs.formats._formulas import unescaped
from core.graphs.formats._tables import write_rows
from core.graphs.graph import Graph
from core.graphs.schema.names import apart
from core.graphs.uploads.batches import RawGraph, ReadRequest, read_document
from core.graphs.uploads.findings import reject, shown

_NODES, _EDGES = ("_id", "_labels"), ("_start", "_end", "_type")
Row = Sequence[str | None]


def read(request: ReadRequest) -> RawGraph:
    """Read nodes, and relationships between them, with their properties; IngestRejected where damaged.

    Columns before ``_start`` are those of nodes, columns after ``_type`` those of relationships. A finding's
    line is the row.
    """
    header, rows = _rows(request)
    start = header.index("_start")
    own, carried = header[2:start], header[start + len(_EDGES) :]
    made, edges = nx.MultiDiGraph(), list[tuple[int, Row]]()
    for line, row in enumerate(rows, start=2):
        # Only rows of relationships have no id.
        if row[0] is None:
            edges.append((line, row))
            continue
        if row[0] in made:
            reject(request.file, f"the node {shown(row[0])} is listed twice; remove one", line=line)
        labels = None if row[1] is None else row[1].strip(":")
        made.add_node(row[0], **_held(own, row[2:start], labels))
    strange = [(line, end) for line, row in edges for end in row[start : start + 2] if end not in made]
    if strange:
        problem = (
            f"the end {shown(strange[0][1])} of a relationship is no listed node ({len(strange)} such ends)"
        )
        reject(request.file, f"{problem}; list it", line=strange[0][0])
    kinds = {row[start + 2] for _, row in edges}
    unsaid = len(kinds) == 1 and not request.proposes and "type" not in request.wanted  # of the only relation
    for _, row in edges:
        kind = None if unsaid else row[start + 2]
        made.add_edge(row[start], row[start + 1], **_held(carried, row[start + len(_EDGES) :], kind))
    return raw_graph(made, request)


def _rows(request: ReadRequest) -> tuple[list[str], Iterator[Row]]:
    data = read_document(request, "apoc_csv")
    first = data.split(b"\n", 1)[0].decode("utf-8").rstrip("\r")
    try:
        header = next(csv.reader([first]), [])
    except csv.Error as error:
        reject(request.file, f"the quotes of the header do not match ({error}); export again", line=1)
    start = header.index("_start") if "_start" in header else 0
    if (tuple(header[:2]), tuple(header[start : start + len(_EDGES)])) != (_NODES, _EDGES):
        message = (
            "the header is not _id, _labels, properties of nodes, _start, _end, _type, properties of "
            "relationships; export the graph by apoc.export.csv"
        )
        reject(request.file, message, line=1)
    # By number: a property of nodes and one of relationships may have the same name.
    places = [str(place) for place in range(len(header))]
    try:
        table = pacsv.read_csv(
            pa.BufferReader(data),
            read_options=pacsv.ReadOptions(column_names=places, skip_rows_after_names=1),
            parse_options=pacsv.ParseOptions(newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(places, pa.string()), null_values=[""], strings_can_be_null=True
            ),
        )
    except pa.ArrowInvalid as error:
        reject(request.file, f"the rows cannot be split into {len(header)} fields ({error}); export again")
    columns = [column.to_pylist() for column in unescaped(table).columns]
    return header, zip(*columns, strict=True)


def _held(names: Sequence[str], row: Row, kind: str | None) -> dict[str, str]:
    """Name the properties that are there; one that is called ``type`` stays apart from the type."""
    held = {
        apart(each) if each == "type" else each: value
        for each, value in zip(names, row, strict=True)
        if value is not None
    }
    return held if kind is None else {**held, "type": kind}


def write(graph: Graph, path: Path) -> None:
    """Write nodes and edges with what they carry. Every node has its attributes (vectors as text), every edge
    its step and type."""
    made = exported(graph, lists=False)
    nodes = [(str(key), data) for key, data in made.nodes(data=True)]
    edges = [(str(source), str(target), data) for source, target, data in made.edges(data=True)]
    own, carried = (
        sorted({key for *_, data in items for key in data} - {"type"}) for items in (nodes, edges)
    )
    none = [None] * len(_EDGES), [None] * len(_NODES)
    rows: list[list[Any]] = [
        [key, _labels(data), *map(data.get, own), *none[0], *[None] * len(carried)] for key, data in nodes
    ]
    rows += [
        [*none[1], *[None] * len(own), source, target, data.get("type", "EDGE"), *map(data.get, carried)]
        for source, target, data in edges
    ]
    header = [*_NODES, *own, *_EDGES, *carried]
    columns = [pa.array([_text(row[place]) for row in rows], pa.string()) for place in range(len(header))]
    with path.open("wb") as file:
        file.write(",".join(header).encode() + b"\n")
        write_rows(pa.Table.from_arrays(columns, names=header), file, ",")


def _labels(data: dict[str, Any]) -> str:
    return f":{data.get('type', 'Node')}"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
