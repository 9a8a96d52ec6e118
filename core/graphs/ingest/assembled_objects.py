"""Objects of other libraries as canonical graphs. A file may be one; every rule that an upload is checked by
is checked."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InvalidInput, UnknownFormat
from core.graphs import formats
from core.graphs.columns.arrays import is_text, is_time, times_of
from core.graphs.graph import Graph
from core.graphs.ingest.assemble import Sources, assemble_batches
from core.graphs.ingest.framed import Said, columns_by_part, renamed
from core.graphs.ingest.objects import UNIVERSE, Tables, numbered, tables_of, universe
from core.graphs.ingest.proposal import propose
from core.graphs.ingest.read_off import marks_of
from core.graphs.ingest.uploaded import canonicalise, value_names
from core.graphs.reading.mapping import Columns
from core.graphs.reading.variants import alike_ids
from core.graphs.schema import GRAPH_ID, Derived, EdgeType, GraphSchema, NodeType
from core.graphs.schema.grids import in_dates, proposed_grid
from core.graphs.stored.whole import write_graph
from core.graphs.uploads.batches import END_TYPES, Batch, Notes, RawGraph
from core.graphs.uploads.files import IngestLimits, UploadedFile
from core.graphs.uploads.packed import PACKED
from core.graphs.uploads.tables import columnar

ROWS = 1 << 20
_LOOSE = {"extra_columns": "ignore"}  # what a schema does not declare is not read


@dataclass(frozen=True)
class Made:
    """The graph, and how it was understood. ``derived``: what of its public schema was read off the data;
    ``warnings`` about that; ``remarks`` on how the object was understood, for whoever gave it."""

    graph: Graph
    derived: tuple[Derived, ...] = ()
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stored:
    """What is public of a stored graph. It has its schema, and the sizes of its node universes."""

    schema: GraphSchema
    nodes: Mapping[str, int]
    derived: tuple[Derived, ...] = ()
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def store(
    graph: object,
    folder: Path,
    *,
    schema: GraphSchema | None = None,
    nodes: object = None,
    directed: bool | None = None,
    public: bool = False,
    said: Said = Said(),
) -> Stored:
    """Store the graph in ``folder``. It is an object of another library or the path of a file.

    ``said``: what columns of a file or frame are, and how the file is read. Raises as :func:`graph_of` and
    :func:`core.graphs.ingest.objects.tables_of`; UnknownFormat for a file whose name tells no format.
    """
    columns = columns_by_part(said.columns)
    if isinstance(graph, str | Path):
        path = Path(graph)
        file = UploadedFile(path, format_of(path, said.format), dict(said.options or {}))
        with tempfile.TemporaryDirectory(prefix="graphveil-nodes-") as beside:
            return _store_file(file, folder, schema, nodes, directed, public, columns, Path(beside))
    for name in ("options", "format"):
        if getattr(said, name):
            raise InvalidInput(f"{name} says how a file is read; leave it out of an object", field=name)
    graph = renamed(graph, columns.get("edges", ()), "edges")
    nodes = renamed(nodes, columns.get("nodes", ()), "nodes")
    made = graph_of(tables_of(graph, nodes, directed=directed), schema, public=public)
    write_graph(made.graph, folder)
    counts = {name: table.count for name, table in made.graph.nodes.items()}
    return Stored(made.graph.schema, counts, made.derived, made.warnings, made.remarks)


def _store_file(
    file: UploadedFile,
    folder: Path,
    schema: GraphSchema | None,
    nodes: object,
    directed: bool | None,
    public: bool,
    said: Mapping[str, Columns],
    beside: Path,
) -> Stored:
    """Store an edge list or document; without a schema its columns beyond the ends are left alone.

    ``said``: what columns are, of each part. ``beside``: a folder for the list of nodes, where that is none
    on the disk.
    """
    if said.get("edges"):
        file = replace(file, options={**file.options, "columns": said["edges"]})
    files, count = {"edges": file}, None
    if isinstance(nodes, str | Path):
        named = {"columns": said["nodes"]} if said.get("nodes") else {}
        listed = UploadedFile(Path(nodes), format_of(Path(nodes), field="nodes"), {**_LOOSE, **named})
    else:
        table, counted = universe(renamed(nodes, said.get("nodes", ()), "nodes"))
        count = counted.get("node")
        if count is not None and schema is not None and not schema.counted:
            table, count = numbered(count), None
        if table is not None:
            pq.write_table(table, beside / "nodes.parquet")
            listed = UploadedFile(beside / "nodes.parquet", "parquet", _LOOSE)
    if nodes is not None and count is None:
        files["nodes"] = listed
    if schema is None and not (public and count is None and directed is None):
        if count is None and "nodes" not in files and not formats.reader(file.format).carries_nodes:
            raise InvalidInput(UNIVERSE, field="nodes")
        schema = GraphSchema(
            node_types=(NodeType(count=count),), edge_types=(EdgeType(directed=bool(directed)),)
        )
        files["edges"] = replace(file, infer=True)
    elif count is not None or directed is not None:
        raise InvalidInput("the schema says who is there, and the direction of edges", field="nodes")
    if schema is not None:
        files["edges"] = replace(files["edges"], options={**_LOOSE, **file.options})
    report = canonicalise(files, schema, folder)
    read = report.readings.get("edges")
    if files["edges"].infer and read is not None and read.bipartite:
        raise InvalidInput(
            f"the ends are two sorts of nodes ({read.bipartite_why[0]}): give a schema with both, or the "
            "option bipartite=false",
            field="schema",
        )
    if schema is None:
        derived = marks_of(report.schema, nodes="nodes" not in files)
    else:  # a document lists its nodes, which may be those that have an edge
        derived = () if "nodes" in files or schema.counted else (Derived.NODE_LIST,)
    return Stored(report.schema, report.nodes, derived, tuple(report.warnings))


def format_of(path: Path, given: str | None = None, field: str = "graph") -> str:
    """Tell a file's format by the end of its name. ``given`` goes before; UnknownFormat, InvalidInput without
    such a file."""
    if not path.is_file():
        raise InvalidInput(f"there is no file {path.name}", field=field)
    if given is not None:
        return formats.reader(given).name
    ending = path.name.lower()
    for packed in PACKED:
        ending = ending.removesuffix(packed)
    for name in formats.read_names():
        if any(ending.endswith(f".{each}") for each in formats.get(name).extensions):
            return name
    endings = ", ".join(sorted({formats.get(name).extensions[0] for name in formats.read_names()}))
    raise UnknownFormat(
        f"the name {path.name} tells no format; it ends with one of {endings}, or the format is named: "
        "format='csv' for any list",
        field=field,
    )


def graph_of(tables: Tables, schema: GraphSchema | None = None, *, public: bool = False) -> Made:
    """Build the graph by ``schema``. Without one it is built by what the object's type says, or where the
    graph is ``public`` and of one node type and relation by what its data say.

    What the schema does not declare is not read. Raises InvalidInput where the type does not say enough,
    IngestRejected with findings where the data break the schema.
    """
    limits = IngestLimits()
    if schema is None and public and len(tables.node_types) == len(tables.relations) == 1:
        return _proposed(tables, limits)
    declared = inferred(tables) if schema is None else schema
    built = assemble_batches(declared, Sources(lambda: _raw(tables, declared)), limits, _silent)
    listed = tables.declared_nodes or (schema is not None and schema.counted)
    return Made(built.graph, () if listed else (Derived.NODE_LIST,), remarks=_remarks(tables, built.graph))


def _remarks(tables: Tables, graph: Graph) -> tuple[str, ...]:
    alike = [alike_ids(table.ids) for table in graph.nodes.values() if table.ids is not None]
    return (*tables.warnings, *(each for each in alike if each))


def inferred(tables: Tables) -> GraphSchema:
    """Declare what the object's type says. InvalidInput where nodes or a time grid are missing."""
    if tables.timed:
        raise InvalidInput(
            "edges have times, and the snapshots that they fall into are public: give a schema with a grid, "
            f'such as {{"edge_types": [{{"temporal": true}}], "time": {_a_grid(tables.edges)}}}, or leave '
            "the column out",
            field="schema.time",
        )
    kinds, edges = tables.declared()
    if tables.nodes is None and any(kind.count is None for kind in kinds):
        raise InvalidInput(UNIVERSE, field="nodes")
    return GraphSchema(node_types=kinds, edge_types=edges)


def _a_grid(edges: pa.Table) -> str:
    """Write a grid that holds the times of the edges, as a schema takes it; of dates by dates."""
    kind = edges["time"].type
    held = np.empty(0, dtype=np.int64)
    if is_time(kind) or is_text(kind):
        values, valid, _ = times_of(edges["time"])
        held = values[valid]
    if not len(held):
        return '{"start": 0, "width": 7, "count": 52}'
    dated = not (pa.types.is_integer(kind) or pa.types.is_floating(kind))
    grid = proposed_grid(int(held.min()), int(held.max()), int(np.gcd.reduce(held)))
    return json.dumps(in_dates(grid) if dated else grid.model_dump())


def _raw(tables: Tables, schema: GraphSchema) -> RawGraph:
    wanted = {"source", "target", *value_names(schema)}
    if schema.temporal:
        wanted.add("time")
    if len(schema.edge_types) > 1:
        wanted.add("type")
    if len(schema.node_types) > 1:
        wanted |= set(END_TYPES)
    listed = {
        "id",
        *(["type"] if len(schema.node_types) > 1 else []),
        *(a.name for kind in schema.node_types for a in kind.attributes),
    }
    if schema.collection is not None:
        wanted, listed = wanted | {GRAPH_ID}, listed | {GRAPH_ID}
    edges = _only(tables.edges, wanted)
    for column in ("source", "target", *(["time"] if schema.temporal else [])):
        if column not in edges.column_names:
            raise InvalidInput(f"the edges have no {column}", field="graph")
    declared = [a.name for edge in schema.edge_types for a in edge.attributes]
    declared += [a.name for node in schema.node_types for a in node.attributes]
    for name in declared:
        if name in tables.unread:
            raise InvalidInput(
                f"the schema declares {name!r}, whose values are of several kinds ({tables.unread[name]}); "
                "make them all texts, or all numbers",
                field=f"graph.{name}",
            )
    for attribute in (a for kind in schema.edge_types for a in kind.attributes):
        if attribute.needs_column and attribute.name not in edges.column_names:
            raise InvalidInput(
                f"the schema declares the edge attribute {attribute.name!r}, which the graph does not have",
                field="schema.edge_types",
            )
    if all(kind.count is not None and not kind.attributes for kind in schema.node_types):
        nodes = None
    else:
        nodes = None if tables.nodes is None else _only(tables.nodes, listed)
    return RawGraph(_batches(edges), None if nodes is None else _batches(nodes), None)


def _only(table: pa.Table, wanted: set[str]) -> pa.Table:
    return table.select([name for name in table.column_names if name in wanted])


def _batches(table: pa.Table) -> Iterator[Batch]:
    """Yield the rows; none at all too, so that the columns are said."""
    yield columnar(table.slice(0, ROWS))
    for start in range(ROWS, table.num_rows, ROWS):
        yield columnar(table.slice(start, ROWS), start + 1)


def _proposed(tables: Tables, limits: IngestLimits) -> Made:
    """Read schema, and where the object does not have them nodes, off the data of a public graph."""
    nodes = tables.nodes
    if nodes is None and tables.counts:
        (count,) = tables.counts.values()
        nodes = numbered(count)

    def opened(notes: Notes) -> RawGraph:
        return RawGraph(_batches(tables.edges), None if nodes is None else _batches(nodes), tables.directed)

    proposal = propose(opened, limits)
    whole = Tables(tables.edges, nodes if nodes is not None else proposal.nodes)
    schema = proposal.schema
    built = assemble_batches(schema, Sources(lambda: _raw(whole, schema)), limits, _silent)
    declared = nodes is not None and tables.declared_nodes
    return Made(built.graph, marks_of(schema, nodes=not declared), proposal.warnings, tables.warnings)


def _silent(stage: str, done: int) -> None:
    """Tell nobody."""
