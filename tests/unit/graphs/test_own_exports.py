"""A release's files can be uploaded again under the release's own ``schema.json``, whatever their format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from core.errors import IngestRejected
from core.graphs import formats
from core.graphs.formats import csv
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
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.batches import ListsNodes
from core.graphs.views.convert import to_networkx

MARCH = TimeGrid(start=1_709_251_200, width=86_400, count=28)
GRIDS = {"days": MARCH, "numbers": TimeGrid(start=-6, width=3, count=9), "steps": TimeGrid(count=9)}
VALUES = (
    EdgeAttribute(name="mood", kind=EdgeAttributeKind.CATEGORY, categories=("good", "ba,d", "1")),
    EdgeAttribute(name="calls", kind=EdgeAttributeKind.INTEGER, bounds=(-5, 5)),
    EdgeAttribute(name="amount", kind=EdgeAttributeKind.NUMBER, bounds=(0, 10)),
    EdgeAttribute(name="hour", kind=EdgeAttributeKind.TIME_OF_DAY),
)
N = 9


def edges(count: int, *, grid: TimeGrid | None = None, values: bool = False) -> EdgeTable:
    """Distinct pairs of one universe, or of two."""
    place = np.arange(count, dtype=np.int64)
    step = None if grid is None else (place * 5) % grid.count
    carried = None
    if values:
        columns = {
            "mood": (place % 3).astype(np.int64),
            "calls": place % 11 - 5,
            "amount": (place % 7) / 4,
            "hour": (place * 1_234) % 86_400,
        }
        carried = EdgeValues(columns)
    return EdgeTable(place % (N - 1), place % (N - 1) + 1, step, values=carried)


def plain(
    name: str,
    *,
    directed: bool = False,
    grid: TimeGrid | None = None,
    values: bool = False,
    count: int = N - 1,
) -> Graph:
    schema = GraphSchema(
        node_types=(NodeType(count=N),),
        edge_types=(
            EdgeType(
                directed=directed,
                temporal=grid is not None,
                attributes=VALUES if values else (),
                **({"multiplicity": Multiplicity.EACH, "records_per_slot": 2} if values else {}),
            ),
        ),
        time=grid,
    )
    return Graph.build(schema, {}, {"edge": edges(count, grid=grid, values=values)})


def named() -> Graph:
    """Two node types whose ids collide, with attributes; relations with times, values, both and neither."""
    attributes = (Attribute(name="town"), Attribute(name="age", kind=AttributeKind.NUMBER))
    schema = GraphSchema(
        node_types=(NodeType(name="user", attributes=attributes), NodeType(name="item")),
        edge_types=(
            EdgeType(name="knows", source="user", target="user", temporal=True),
            EdgeType(
                name="buys",
                source="user",
                target="item",
                temporal=True,
                attributes=VALUES,
                multiplicity=Multiplicity.EACH,
                records_per_slot=3,
            ),
            EdgeType(name="likes", source="user", target="item", directed=True),
        ),
        time=MARCH,
    )
    ids = pa.array(["a", "b c", 'd"e', "é,f", "#g", "007", "7", "h;i", "None"])
    columns = {"town": pa.array(["x", None, "y,z"] * 3), "age": np.array([1.5, np.nan, 3.0] * 3)}
    tables = {"user": NodeTable(N, ids, columns), "item": NodeTable(N, ids)}
    held = {
        "knows": edges(8, grid=MARCH),
        "buys": edges(8, grid=MARCH, values=True),
        "likes": edges(6),
    }
    return Graph.build(schema, tables, held)


def collected() -> Graph:
    schema = GraphSchema(
        collection=Collection(graphs=(CollectionGraph(id="one", nodes=N), CollectionGraph(id="2", nodes=N))),
    )
    return Graph.build(schema, {}, {each.name: edges(6) for each in schema.edge_types})


def odd() -> Graph:
    """Names, categories and numbers that formats write in ways of their own; a grid in nanoseconds."""
    texts = ("true", "TRUE", "=1+1", "'", '"', "a b", "1,5", "NA", "None", "5%")
    attributes = (
        EdgeAttribute(
            name="said", kind=EdgeAttributeKind.CATEGORY, categories=texts, aggregate=Aggregate.LAST
        ),
        EdgeAttribute(
            name="known",
            kind=EdgeAttributeKind.CATEGORY,
            categories=("false", "true"),
            aggregate=Aggregate.LAST,
        ),
        EdgeAttribute(
            name="exact", kind=EdgeAttributeKind.NUMBER, bounds=(-1e15, 1e15), aggregate=Aggregate.LAST
        ),
        EdgeAttribute(
            name="large",
            kind=EdgeAttributeKind.INTEGER,
            bounds=(-(2**31) + 2, 2**31 - 2),
            aggregate=Aggregate.LAST,
        ),
    )
    grid = TimeGrid(start=17 * 10**17, width=600 * 10**9, count=9)
    schema = GraphSchema(
        node_types=(NodeType(count=N),),
        edge_types=(
            EdgeType(name="works_at", shown="works at", temporal=True, attributes=attributes),
            EdgeType(name="knows", shown="http://x.org/knows#1", directed=True),
            EdgeType(name="none", shown="Größe, 1"),
        ),
        time=grid,
    )
    place = np.arange(8, dtype=np.int64)
    numbers = np.array([0.1 + 0.2, 1e-300, -1e15, 123456789.125, 5e-324, 1 / 3, -0.0, 2.5])
    carried = {
        "said": place % len(texts),
        "known": place % 2,
        "exact": numbers,
        "large": (place - 4) * (2**29 - 1),
    }
    held = {
        "works_at": EdgeTable(place, place + 1, place % grid.count, values=EdgeValues(carried)),
        "knows": EdgeTable(place[:3] + 1, place[:3]),
        "none": EdgeTable(place[:0], place[:0]),
    }
    return Graph.build(schema, {}, held)


def weighted() -> Graph:
    """One relation with a weight alone, as matrices and Pajek hold it."""
    attributes = (
        EdgeAttribute(name="weight", kind=EdgeAttributeKind.NUMBER, bounds=(-5, 5), aggregate=Aggregate.MAX),
    )
    schema = GraphSchema(node_types=(NodeType(count=N),), edge_types=(EdgeType(attributes=attributes),))
    place = np.arange(8, dtype=np.int64)
    values = EdgeValues({"weight": np.array([0.0, -1.5, 0.1 + 0.2, 1e-30, 5.0, -5.0, 1 / 3, 2.0])})
    return Graph.build(schema, {}, {"edge": EdgeTable(place, place + 1, values=values)})


KINDS = {
    "odd names and values": odd(),
    "weighted": weighted(),
    "empty": plain("empty", count=0),
    "static": plain("static"),
    "directed": plain("directed", directed=True),
    **{name: plain(name, grid=grid) for name, grid in GRIDS.items()},
    "values": plain("values", values=True),
    "times and values": plain("both", grid=MARCH, values=True, directed=True),
    "several types": named(),
    "collection": collected(),
}


@pytest.mark.parametrize("form", sorted(formats.read_names()))
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_release_writes_is_an_upload_of_its_schema(form: str, kind: str, tmp_path: Path) -> None:
    graph, written = KINDS[kind], formats.get(form)
    if reason := written.refuses(graph.schema):
        assert ";" in reason  # and what to take instead
        return
    written.write(graph, tmp_path / "edges")
    files = {"edges": UploadedFile(tmp_path / "edges", form)}
    if not written.carries_nodes and not graph.schema.counted:
        lists = written if isinstance(written, ListsNodes) else csv
        lists.write_nodes(graph, tmp_path / "nodes")
        files["nodes"] = UploadedFile(tmp_path / "nodes", form if lists is written else "csv")
    schema = GraphSchema.model_validate_json(graph.schema.model_dump_json())
    if kind == "collection" and written.carries_nodes:
        with pytest.raises(IngestRejected, match="as csv, tsv or parquet"):
            canonicalise(files, schema, tmp_path / "out")
        return
    canonicalise(files, schema, tmp_path / "out")
    found = read_graph(tmp_path / "out")
    assert rows(found) == rows(graph)


@pytest.mark.parametrize("kind", ["days", "times and values"])
def test_what_a_library_is_given_has_the_times_of_the_grid(kind: str) -> None:
    graph = KINDS[kind]
    for _, _, data in to_networkx(graph).edges(data=True):
        assert data["time"] == MARCH.start + data["step"] * MARCH.width


def rows(graph: Graph) -> dict[str, list[tuple[object, ...]]]:
    """Every edge by the ids of its ends, in order where it has no direction, with its step and values."""
    found = {}
    for relation in graph.schema.edge_types:
        table = graph.edges[relation.name]
        ids = {name: graph.nodes[name].id_array().to_pylist() for name in (relation.source, relation.target)}
        ends = [
            (ids[relation.source][source], ids[relation.target][target])
            for source, target in zip(table.source.tolist(), table.target.tolist(), strict=True)
        ]
        unordered = relation.homogeneous and not relation.directed
        columns: list[list[object]] = [[tuple(sorted(each)) if unordered else each for each in ends]]
        if table.step is not None:
            columns.append(table.step.tolist())
        if table.values is not None:
            columns += [column.tolist() for column in table.values.columns.values()]
        found[relation.name] = sorted(zip(*columns, strict=True), key=repr)
    return found
