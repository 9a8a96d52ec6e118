"""The files of a release, written and read back. They are written for whoever opens them with pandas, and
read for evaluation.

``nodes.parquet``: ``id``, ``type`` and the public attributes. ``edges.parquet``: ``source`` and ``target``
(node ids, within the relation's node types as ``schema.json`` declares them), ``type`` and ``step`` (null
for a relation without time), what edges of public relations carry by its names, and ``weight`` where the
method publishes weights (null in a relation without). An edge with several records has a row for each.
Both have ``graph_id`` where the release is a collection of graphs. Ids and types are plain strings. A method
may add tables of vectors: ``id``, ``type`` and ``vector``, of one length for all nodes of a type.

Where edges stay in parts there is ``edges-*.parquet`` in place of ``edges.parquet``, as
:mod:`core.graphs.stored.parts` has them: their indices are places in ``nodes.parquet``, among the nodes of
the relation's type, and with several relations or snapshots they have ``type`` and ``step``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.errors import PrivacyViolation
from core.graphs.columns.arrays import numbers_of_rows
from core.graphs.graph import PRESENT_FROM, EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import GRAPH_ID, AttributeKind, EdgeType, GraphSchema, NodeType, Protection
from core.graphs.schema.edge_attributes import WEIGHT
from core.graphs.schema.partable import Part
from core.graphs.uploads.rows import Fault
from core.graphs.uploads.value_columns import read_values
from core.graphs.views.value_tables import edges_of, record_count, value_columns, value_fields

CHUNK_ROWS = 1 << 20
MEDIA_TYPES = {".parquet": "application/vnd.apache.parquet", ".json": "application/json"}
EDGE_COLUMNS = pa.schema(
    [("source", pa.string()), ("target", pa.string()), ("type", pa.string()), ("step", pa.int32())]
)


def write_tables(graph: Graph, folder: Path, *, first_step: int = 0) -> None:
    """Write nodes.parquet, edges.parquet and schema.json of ``graph`` to ``folder``. One chunk in memory.

    ``first_step`` is what the graph's step 0 is called: a snapshot of a live stream has its number there.
    """
    write_nodes(graph, folder)
    owners = graph.schema.graph_ids()
    fields = EDGE_COLUMNS.append(pa.field(GRAPH_ID, pa.string())) if owners else EDGE_COLUMNS
    carried = value_fields(graph)
    for field in carried:
        fields = fields.append(field)
    with pq.ParquetWriter(folder / "edges.parquet", fields, compression="zstd") as writer:
        for edge_type in graph.schema.edge_types:
            ids = [graph.nodes[end].id_array() for end in (edge_type.source, edge_type.target)]
            table = graph.edges[edge_type.name]
            for start in range(0, count := record_count(table), CHUNK_ROWS):
                records = slice(start, min(start + CHUNK_ROWS, count))
                size, rows = records.stop - records.start, edges_of(table, records)
                columns = [
                    ids[0].take(pa.array(table.source[rows])),
                    ids[1].take(pa.array(table.target[rows])),
                    pa.repeat(pa.scalar(edge_type.name), size),
                    pa.nulls(size, pa.int32())
                    if table.step is None
                    else pa.array(table.step[rows] + np.int32(first_step), pa.int32()),
                    *([pa.repeat(owners[edge_type.name], size)] if owners else []),
                    *value_columns(edge_type, table, records, carried),
                ]
                writer.write_table(pa.Table.from_arrays(columns, schema=fields))


def write_nodes(graph: Graph, folder: Path) -> None:
    """Write the nodes and schema of ``graph`` to ``folder``. The files are nodes.parquet and schema.json, as
    :func:`write_tables` writes them."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        _node_table(graph), folder / "nodes.parquet", compression="zstd", row_group_size=CHUNK_ROWS
    )
    (folder / "schema.json").write_text(graph.schema.model_dump_json(indent=2) + "\n", encoding="utf-8")


def write_vectors(
    graph: Graph, permutations: Mapping[str, np.ndarray], vectors: Mapping[str, np.ndarray], path: Path
) -> None:
    """Write ``vectors`` to ``path`` beside node ids. They are rows in the original's order, each beside its
    released node's id."""
    parts = []
    for kind, values in vectors.items():
        own = np.ascontiguousarray(values[permutations[kind]], dtype=np.float32)
        # Offsets of 64 bits: all numbers of a type may be more than 2^31.
        ends = pa.array(np.arange(len(own) + 1, dtype=np.int64) * own.shape[1])
        columns = {
            "id": graph.nodes[kind].id_array(),
            "type": pa.repeat(pa.scalar(kind), len(own)),
            "vector": pa.LargeListArray.from_arrays(ends, pa.array(own.ravel())),
        }
        parts.append(pa.table(columns))
    pq.write_table(pa.concat_tables(parts), path, compression="zstd", row_group_size=CHUNK_ROWS)


def _node_table(graph: Graph) -> pa.Table:
    """Stack all node types; an attribute that two types hold differently is named type.name."""
    arrays = {
        (kind, name): _arrow(column)
        for kind, table in graph.nodes.items()
        for name, column in table.attributes.items()
    }
    # An attribute that two types hold in two forms cannot be one column.
    forms: dict[str, set[str]] = {}
    for (_, name), column in arrays.items():
        forms.setdefault(name, set()).add(str(column.type))
    parts, owners = [], graph.schema.graph_ids()
    for kind, table in graph.nodes.items():
        columns = {"id": table.id_array(), "type": pa.repeat(pa.scalar(kind), table.count)}
        if kind in owners:
            columns[GRAPH_ID] = pa.repeat(owners[kind], table.count)
        for name in table.attributes:
            shown = name if len(forms[name]) == 1 else f"{kind}.{name}"
            columns[shown] = arrays[kind, name]
        parts.append(pa.table(columns))
    return pa.concat_tables(parts, promote_options="default")


def _arrow(column: np.ndarray | pa.Array) -> pa.Array:
    if not isinstance(column, np.ndarray):
        return column
    if column.ndim == 1:
        return pa.array(column)
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(column).ravel()), column.shape[1])


def write_alignment(permutations: Mapping[str, np.ndarray], path: Path) -> None:
    """Write, per node type, which original index each released node has. Private."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = [
        pa.table(
            {
                "type": pa.repeat(pa.scalar(kind), len(original)),
                "index": pa.array(np.arange(len(original))),
                "original": pa.array(original, pa.int64()),
            }
        )
        for kind, original in permutations.items()
    ]
    pq.write_table(pa.concat_tables(parts), path, compression="zstd")


def read_alignment(path: Path) -> dict[str, np.ndarray]:
    """Read what :func:`write_alignment` was given."""
    aligned = pq.read_table(path)
    found = {}
    for kind in pc.unique(aligned["type"]).to_pylist():
        rows = aligned.filter(pc.equal(aligned["type"], kind))
        # By place in the release, whatever the order of the file's rows.
        found[kind] = np.empty(rows.num_rows, dtype=np.int64)
        found[kind][rows["index"].to_numpy()] = rows["original"].to_numpy()
    return found


def read_aligned(release: Path, alignment: Path, *, first_step: int = 0) -> Graph:
    """Read the released graph at the original's indices. Every node is back at its own; ids and public
    attributes of nodes, which are the original's own, are left out.

    Of a relation with weights the edges from PRESENT_FROM on. ``first_step`` as it was written.
    """
    schema = GraphSchema.model_validate_json((release / "schema.json").read_bytes())
    named = pq.read_table(release / "nodes.parquet", columns=["id", "type"])
    original = read_alignment(alignment)
    ids = {
        kind: named.filter(pc.equal(named["type"], kind))["id"].combine_chunks()
        for kind in (node_type.name for node_type in schema.node_types)
    }
    edges = {}
    for edge_type in schema.edge_types:
        rows = pq.read_table(release / "edges.parquet", filters=[("type", "=", edge_type.name)])
        # What is no link by its weight is none for a comparison either.
        if WEIGHT in rows.column_names and not edge_type.attributes:
            faint = pc.fill_null(pc.less(rows[WEIGHT], pa.scalar(PRESENT_FROM, pa.float32())), False)
            rows = rows.filter(pc.invert(faint))
        ends = []
        for column, kind in (("source", edge_type.source), ("target", edge_type.target)):
            index = pc.index_in(rows[column], value_set=ids[kind])
            # The text names no node: it may be read where the data may not.
            if index.null_count:
                raise PrivacyViolation("a released edge names an undeclared node")
            ends.append(original[kind][index.to_numpy()])
        step = rows["step"].to_numpy() - np.int32(first_step) if edge_type.temporal else None
        edges[edge_type.name] = EdgeTable(ends[0], ends[1], step, _values(edge_type, rows))
    kept = _without_copied(schema)
    nodes = {
        kind.name: NodeTable(len(ids[kind.name]), None, _columns(kind, release, original))
        for kind in kept.node_types
    }
    return Graph.build(kept, nodes, edges)


def _columns(
    kind: NodeType, release: Path, original: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray | pa.Array]:
    """Read the synthetic attributes of a node type, in the original's order."""
    if not kind.attributes:
        return {}
    rows = pq.read_table(release / "nodes.parquet", filters=[("type", "=", kind.name)])
    # The alignment is a permutation: sorting it gives its inverse.
    rows, found = rows.take(np.argsort(original[kind.name])), {}
    for each in kind.attributes:
        own = f"{kind.name}.{each.name}"
        column = rows[own if own in rows.column_names else each.name].combine_chunks()
        if each.kind is AttributeKind.VECTOR:
            found[each.name] = numbers_of_rows(column)
        else:
            number = each.kind is AttributeKind.NUMBER
            found[each.name] = column.to_numpy(zero_copy_only=False) if number else column
    return found


def _values(edge_type: EdgeType, rows: pa.Table) -> EdgeValues | None:
    """Read what the edges carry, where it is declared."""
    names = [attribute.name for attribute in edge_type.attributes]
    if not names:
        return None
    faults: list[Fault] = []
    read = read_values(edge_type, rows, np.arange(rows.num_rows), None, faults)
    if faults:
        raise PrivacyViolation("a released edge carries what its schema does not declare")
    return EdgeValues(dict(zip(names, read.columns, strict=True)))


def _without_copied(schema: GraphSchema) -> GraphSchema:
    """Leave out the attributes that a release copies: those that are not public were drawn."""
    kinds = tuple(
        kind.model_copy(
            update={"attributes": tuple(a for a in kind.attributes if a.protection is not Protection.PUBLIC)}
        )
        for kind in schema.node_types
    )
    return schema.model_copy(update={"node_types": kinds})


def manifest(out: Path, media_types: Mapping[str, str], parts: Sequence[Part] = ()) -> list[dict[str, Any]]:
    """List every file under ``out`` but the manifest, and the released ``parts``, which lie elsewhere.

    Each has its name, role, media type, size and SHA-256, in name order.
    """
    found = {f"release/{part.name}": (part.bytes, part.sha256) for part in parts}
    for path in out.rglob("*"):
        # A file cannot hold its own digest.
        name = path.relative_to(out).as_posix()
        if path.is_file() and name != "manifest.json":
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            found[name] = (path.stat().st_size, digest)
    return [
        {
            "name": name,
            "role": _role(name),
            "media_type": media_types.get(name)
            or MEDIA_TYPES.get(Path(name).suffix, "application/octet-stream"),
            "size_bytes": size,
            "sha256": digest,
        }
        for name, (size, digest) in sorted(found.items())
    ]


def _role(name: str) -> str:
    """Name the file's role. Closed by default: what is not plainly part of the release is private."""
    if name == "release/public.json":
        return "report"
    return "artifact" if name.startswith("release/") else "private"


def write_json(path: Path, content: Any) -> None:
    """Write ``content`` to ``path`` as JSON. It is without NaN, keys in the order given."""
    path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
