"""Bring a stream's snapshot to its canonical form. It is an edge list over a universe that is known
already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from core.graphs import formats
from core.graphs.graph import Graph, NodeTable
from core.graphs.ingest.assemble import Sources, assemble_edges
from core.graphs.ingest.uploaded import needed_values, value_names
from core.graphs.schema import GraphSchema
from core.graphs.stored.whole import write_edges
from core.graphs.uploads.batches import Batch, RawGraph, ReadRequest
from core.graphs.uploads.files import IngestLimits, Progress, UploadedFile
from core.graphs.uploads.findings import reject

FILE = "edges"
"""How findings name the file."""

Item = TypeVar("Item")


def canonical_snapshot(
    file: UploadedFile | None,
    schema: GraphSchema,
    nodes: Mapping[str, NodeTable],
    out: Path,
    limits: IngestLimits | None = None,
    progress: Progress | None = None,
) -> Graph:
    """Write schema and edges of the snapshot. They go to ``out`` in the stored form; None is an empty
    snapshot.

    ``schema`` has one step (:func:`core.graphs.schema.snapshots.tick_schema`), ``nodes`` are the dataset's.
    Columns:
    source, target, then type where there are several relations, then what edges carry, then time, which may
    be left out unless a value is taken from it (as may type, named in a header, where there is one relation);
    a time outside the step is a finding, and so is an
    unknown node. Raises :class:`core.errors.IngestRejected` with
    up to 20 findings, UnknownFormat and InvalidInput. O(m log m) time.
    """
    limits = limits or IngestLimits()
    tell: Progress = progress or (lambda stage, done, total: None)
    graph = Graph.build(schema, nodes, {}) if file is None else _read(file, schema, nodes, limits, tell)
    write_edges(graph, out)
    return graph


def _read(
    file: UploadedFile,
    schema: GraphSchema,
    nodes: Mapping[str, NodeTable],
    limits: IngestLimits,
    tell: Progress,
) -> Graph:
    chosen = formats.reader(file.format)
    if chosen.carries_nodes:
        reject(FILE, f"a {file.format} file lists nodes, but a stream's are fixed; send csv, tsv or parquet")
    options = formats.options_of(chosen, file.options)
    assert schema.time is not None
    start, size = schema.time.start, file.path.stat().st_size
    several = ("type",) if len(schema.edge_types) > 1 else ()
    values = value_names(schema)
    request = ReadRequest(
        file.path,
        "edges",
        options,
        wanted=("source", "target", *several, *values, "time", *(() if several else ("type",))),
        required=("source", "target", *several, *needed_values(schema)),
        integer_ids=all(table.ids is None for table in nodes.values()),
        values=values,
        undirected=all(t.homogeneous and not t.directed for t in schema.edge_types),
        limits=limits,
    )

    by_time = tuple(a.name for t in schema.edge_types for a in t.attributes if a.from_time)

    def opened() -> RawGraph:
        raw = chosen.read(request)
        return RawGraph(None if raw.edges is None else (_timed(batch, start, by_time) for batch in raw.edges))

    def advance(stage: str, done: int) -> None:
        tell(stage, min(done, size), size)

    sources = Sources(opened, edges_file=FILE, mend_time="send it with the snapshot of its own step")
    return assemble_edges(schema, nodes, opened(), sources, limits, advance).graph


def _timed(batch: Batch, start: int, by_time: Sequence[str]) -> Batch:
    """Give every row of the batch the step's own time, where it has no column for it.

    Not where values ``by_time`` are taken from the rows' times: a row without one is then a finding.
    """
    parts = batch.parts
    return Batch(
        table=None if batch.table is None else _with_time(batch.table, start, by_time),
        carefully=_each(
            batch.carefully, lambda part: replace(part, table=_with_time(part.table, start, by_time))
        ),
        bytes_done=batch.bytes_done,
        parts=None if parts is None else _each(parts, lambda part: _timed(part, start, by_time)),
    )


def _each(
    items: Callable[[], Iterator[Item]], change: Callable[[Item], Item]
) -> Callable[[], Iterator[Item]]:
    return lambda: (change(item) for item in items())


def _with_time(table: pa.Table, start: int, by_time: Sequence[str]) -> pa.Table:
    if "time" in table.column_names or not set(by_time) <= set(table.column_names):
        return table
    return table.append_column("time", pa.array(np.full(table.num_rows, start, dtype=np.int64)))
