"""Edges in several files to a canonical graph. The graph is in parts: edges are never in memory together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InvalidInput
from core.graphs import formats
from core.graphs.columns.canonical import Merged
from core.graphs.graph import Graph
from core.graphs.ingest.assemble import Sources, read_nodes
from core.graphs.ingest.relations import EdgeCollector, EdgeRows, steps_of
from core.graphs.ingest.slots import reject_slots, rows_again
from core.graphs.ingest.universe import indices
from core.graphs.ingest.uploaded import request_of
from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.partable import cells_of, require_partable, require_referable
from core.graphs.stored.fingerprint import fingerprint_parts
from core.graphs.stored.parted import PART_EDGES, PartedGraph, Rows, write_parted
from core.graphs.stored.whole import write_universe
from core.graphs.uploads.batches import Batch, Part, RawGraph
from core.graphs.uploads.files import IngestLimits, IngestReport, Progress, UploadedFile, place_of
from core.graphs.uploads.findings import Findings, reject
from core.graphs.uploads.rows import at_most, drain

NODES = "nodes"
ROW_BYTES = 8
"""Of a row in a text file, line end included, about: by which its rows are divided."""


def canonicalise_parts(
    files: Mapping[str, UploadedFile],
    schema: GraphSchema | None,
    out: Path,
    limits: IngestLimits,
    progress: Progress,
    *,
    fingerprint_key: bytes,
) -> IngestReport:
    """Store the upload's canonical graph in parts. They stand in ``out``; where it fails that is no graph.

    Parts: ``nodes``, and ``edges-1-of-8`` to ``edges-8-of-8``, or ``edges``. The same rows give the same
    graph and the same fingerprint as in memory, however they are divided. Raises what
    :func:`core.graphs.ingest.uploaded.canonicalise` raises; each file's findings are its own. O(m log m)
    time, memory of the nodes, one chunk of a file and one part.
    """
    if schema is None:
        raise InvalidInput("the schema of a graph in parts is declared, not proposed", field="graph_schema")
    require_partable(schema)
    edges = _edge_files(files)
    sources = Sources(lambda: RawGraph(nodes=_nodes(files, schema, limits)), NODES)
    nodes = read_nodes(schema, sources.open().nodes, sources, limits, lambda stage, done: None)
    count = {relation.name: {"rows": 0, "loops_dropped": 0} for relation in schema.edge_types}
    # Where each relation's cells begin; those of its steps follow.
    first = {relation.name: place for place, (relation, step) in enumerate(cells_of(schema)) if not step}

    clipped = {relation.name: 0 for relation in schema.edge_types if relation.attributes}

    def collecting(part: str) -> EdgeCollector:
        again = partial(_batches, part, files[part], schema, limits)
        return EdgeCollector(schema, indices(schema, nodes), sources.mend_time, again)

    def told(relation: EdgeType, merged: Merged) -> None:
        clipped[relation.name] += merged.clipped
        for part in edges if merged.faults else ():  # refused in the first file that has a row of theirs
            again = rows_again(relation, collecting(part), _batches(part, files[part], schema, limits))
            reject_slots(schema, relation, merged, again, Findings(part, limits.max_findings))

    def rows() -> Iterator[Rows]:
        for number, part in enumerate(edges):
            progress("edges", number, len(edges))
            collector = collecting(part)
            left = limits.max_rows - sum(each["rows"] for each in count.values())
            bounded = at_most(left, part, "the upload", "rows", mend=limits.mend_rows)
            for batch in _batches(part, files[part], schema, limits):
                kept: list[list[EdgeRows]] = []
                drain([batch], collector.resolve, kept.append, Findings(part, limits.max_findings), bounded)
                for each in chain.from_iterable(kept):
                    name = each.edge_type.name
                    count[name]["rows"] += len(each.source)
                    if each.edge_type.homogeneous:
                        count[name]["loops_dropped"] += int((each.source == each.target).sum())
                    # Of a single cell without values nothing but the ends is needed.
                    if len(first) == 1 and each.time is None and not clipped:
                        yield each.source, each.target
                        continue
                    cell = np.full(len(each.source), first[name])
                    if each.time is not None:
                        cell += steps_of(schema, each.time)
                    if not each.edge_type.attributes:
                        yield each.source, each.target, cell
                        continue
                    clipped[name] += each.values.clipped
                    # Without times all records of an edge are of one time.
                    time = np.zeros(len(cell), dtype=np.int64) if each.time is None else each.time
                    yield each.source, each.target, cell, time, *each.values.columns

    about = sum(_about(files[part]) for part in edges)
    graph = write_parted(schema, nodes, rows(), about, out, told=told)
    progress("edges", len(edges), len(edges))
    found: dict[str, list[int]] = {relation.name: [] for relation in schema.edge_types}
    for cell in graph.cells():
        found[cell.edge_type.name].append(sum(part.rows for part in cell.parts))
    for relation in schema.edge_types:
        _require_bound(relation, found[relation.name])
    _require_degrees(graph)
    progress("fingerprint", 0, 1)
    total = sum(map(sum, found.values()))
    digest = fingerprint_parts(graph, fingerprint_key, max(1, -(-total // PART_EDGES)))
    progress("fingerprint", 1, 1)
    counts = {
        name: {
            **own,
            "duplicates_merged": own["rows"] - own["loops_dropped"] - sum(found[name]),
            "edges": sum(found[name]),
            **({"values_clipped": clipped[name]} if name in clipped else {}),
        }
        for name, own in count.items()
    }
    rows_read, loops, merged = (
        sum(own[name] for own in counts.values()) for name in ("rows", "loops_dropped", "duplicates_merged")
    )
    return IngestReport(
        schema=schema,
        rows_read=rows_read,
        loops_dropped=loops,
        duplicates_merged=merged,
        nodes={name: table.count for name, table in graph.nodes.items()},
        edges=counts,
        edges_per_step={
            relation.name: tuple(found[relation.name]) for relation in schema.edge_types if relation.temporal
        },
        fingerprint=digest,
        bytes_read=sum(file.path.stat().st_size for file in files.values()),
        bytes_stored=sum(path.stat().st_size for path in out.iterdir()),
    )


def _edge_files(files: Mapping[str, UploadedFile]) -> list[str]:
    """List the files of edges in their order. InvalidInput where one lacks."""
    edges = sorted((part for part in files if part != NODES), key=lambda part: place_of(part) or (0, 0))
    if not edges or {place_of(part) for part in edges} != {(n + 1, len(edges)) for n in range(len(edges))}:
        raise InvalidInput("these are not all files of the edges", field="files.edges")
    for part in files:
        formats.require_part(formats.reader(files[part].format), _kind(part), f"files.{part}.format")
    return edges


def _require_bound(relation: EdgeType, found: Sequence[int]) -> None:
    """Refuse a snapshot of more edges than are declared, as in memory."""
    step = int(np.argmax(found))
    if relation.edge_bound is not None and found[step] > relation.edge_bound:
        where = f" in snapshot {step}" if relation.temporal else ""
        reject(
            "edges",
            f"{relation.name!r} is declared to have at most {relation.edge_bound} edges, but has more"
            f"{where}; upload what was declared, or declare a higher edge_bound",
        )


def _require_degrees(graph: PartedGraph) -> None:
    """Refuse a graph in which nodes have more edges than are declared, as in memory; never repaired.

    An edge counts at each end of the type, in every relation and step. O(m) where a bound is declared.
    """
    for kind in graph.schema.node_types:
        if kind.degree_bound is None:
            continue
        degrees = np.zeros(graph.nodes[kind.name].count, dtype=np.int64)
        for cell in graph.cells():
            sides = [side for side in ("source", "target") if getattr(cell.edge_type, side) == kind.name]
            for group in cell.groups() if sides else ():
                for side in sides:
                    np.add.at(degrees, getattr(group, side), 1)
        if over := int((degrees > kind.degree_bound).sum()):
            reject(
                "edges",
                f"{over} nodes of type {kind.name!r} have more than the {kind.degree_bound} edges declared; "
                "upload what was declared, or declare a higher degree_bound",
            )


def write_listed(
    files: Mapping[str, UploadedFile], schema: GraphSchema | None, out: Path, limits: IngestLimits
) -> None:
    """Store the universe of a graph whose edges stay elsewhere. ``files``: ``nodes``, where a list is sent.

    Raises what :func:`canonicalise_parts` raises.
    """
    if schema is None:
        raise InvalidInput("the schema of a graph in parts is declared, not proposed", field="graph_schema")
    require_referable(schema)
    sources = Sources(lambda: RawGraph(nodes=_nodes(files, schema, limits)), NODES)
    nodes = read_nodes(schema, sources.open().nodes, sources, limits, lambda stage, done: None)
    write_universe(Graph.build(schema, nodes, {}), out)
    (out / "schema.json").write_text(schema.model_dump_json(indent=2) + "\n", encoding="utf-8")


def _kind(part: str) -> Part:
    return "nodes" if part == NODES else "edges"


def _nodes(
    files: Mapping[str, UploadedFile], schema: GraphSchema, limits: IngestLimits
) -> Iterator[Batch] | None:
    return _batches(NODES, files[NODES], schema, limits) if NODES in files else None


def _batches(part: str, file: UploadedFile, schema: GraphSchema, limits: IngestLimits) -> Iterator[Batch]:
    chosen = formats.reader(file.format)
    options = formats.options_of(chosen, file.options, f"files.{part}.options")
    raw = chosen.read(request_of(_kind(part), file.path, options, schema, limits, name=part))
    found = raw.nodes if part == NODES else raw.edges
    if raw.nodes is not None and part != NODES:
        reject(part, f"a {file.format} file lists its nodes itself; upload files of edges alone")
    if found is None:
        reject(part, "the file holds no edges; upload edge lists")
    return found


def _about(file: UploadedFile) -> int:
    """Tell about how many rows a file has."""
    if file.format == "parquet":
        try:
            rows: int = pq.read_metadata(file.path).num_rows
            return rows
        except (pa.ArrowException, OSError):
            return 1  # reading it says what is wrong
    return file.path.stat().st_size // ROW_BYTES
