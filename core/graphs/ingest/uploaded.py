"""Uploads to canonical graphs.

Every rule is checked and none is repaired: an upload that breaks one is refused with findings that say where
and how to mend it. What is dropped (self-loops) or merged (exact duplicates) is counted for the curator only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

import numpy as np

from core.errors import InvalidInput
from core.graphs import formats
from core.graphs.ingest.assemble import Assembled, Sources, assemble_batches
from core.graphs.ingest.proposal import SchemaProposal, propose
from core.graphs.ingest.universe import require_listed
from core.graphs.reading.model import Counts, Reading
from core.graphs.schema import GRAPH_ID, GraphSchema
from core.graphs.stored.fingerprint import fingerprint
from core.graphs.stored.whole import write_graph
from core.graphs.uploads.batches import (
    DelimitedOptions,
    Format,
    Notes,
    Options,
    Part,
    RawGraph,
    ReadRequest,
)
from core.graphs.uploads.files import IngestLimits, IngestReport, Progress, UploadedFile
from core.graphs.uploads.findings import reject
from core.graphs.uploads.tables import columnar


def canonicalise(
    files: Mapping[str, UploadedFile],
    schema: GraphSchema | None,
    out: Path,
    limits: IngestLimits | None = None,
    progress: Progress | None = None,
    *,
    fingerprint_key: bytes | None = None,
) -> IngestReport:
    """Store the upload's canonical graph in ``out``. Nothing is written when it fails.

    Parts: ``edges`` (required) and ``nodes``, which takes the place of what a document lists. With
    ``schema`` None one is proposed from the data and used; it stands in the report and must be confirmed
    by the curator before anything is computed from the graph, because the proposal reads the data. Raises
    :class:`core.errors.IngestRejected` with up to 20 findings ``{file, line, column, message}``,
    :class:`core.errors.UnknownFormat`, or
    :class:`core.errors.InvalidInput` for unknown parts and options. O(m log m) time; memory is about 40 bytes
    an edge, and one chunk of the file.
    """
    limits = limits or IngestLimits()
    tell: Progress = progress or (lambda stage, done, total: None)
    opened = _opened(files)
    proposal = None
    if schema is not None and schema.collection is not None and "nodes" not in opened["edges"][0].parts:
        form = files["edges"].format
        reject("edges", f"a {form} file holds one graph; upload a collection as csv, tsv or parquet")
    readings: dict[str, Reading] = {}
    if schema is None:
        proposal = propose(
            lambda notes: _read(files, opened, None, limits, notes, readings),
            limits,
            _nodes_file(opened),
            lambda: readings.get("edges"),
        )
        schema = proposal.schema
        opened = {
            part: (chosen, as_read(options, readings.get(part))) for part, (chosen, options) in opened.items()
        }
    total = sum(file.path.stat().st_size for file in files.values())
    sizes = {part: file.path.stat().st_size for part, file in files.items()}

    def advance(stage: str, done: int) -> None:
        size = sizes.get(stage, sizes["edges"])
        tell(stage, min(done, size), size)

    sources = _sources(files, opened, schema, proposal, limits, {} if proposal else readings)
    built = assemble_batches(schema, sources, limits, advance)
    if "nodes" in opened and opened["edges"][0].carries_nodes:
        own = _read({"edges": files["edges"]}, opened, schema, limits, None, {})
        require_listed(own.nodes or (), built.graph)
    tell("fingerprint", 0, 1)
    digest = None if fingerprint_key is None else fingerprint(built.graph, fingerprint_key)
    tell("store", 0, 1)
    write_graph(built.graph, out)
    tell("store", 1, 1)
    return _report(built, digest, total, out, proposal, readings)


def as_read(options: Options, reading: Reading | None) -> Options:
    """Say how a file was read. So it can be read again; what its proposal leaves out is left out."""
    if reading is not None and isinstance(options, DelimitedOptions):
        options = options.said(reading.mapping)
    return options.model_copy(update={"extra_columns": "ignore"})


def _nodes_file(opened: Mapping[str, tuple[Format, Options]]) -> str:
    """Name the file that lists the nodes, as findings do."""
    return "edges" if "nodes" not in opened and opened["edges"][0].carries_nodes else "nodes"


def _opened(files: Mapping[str, UploadedFile]) -> dict[str, tuple[Format, Options]]:
    """Look up formats and validate options of the parts; closed: an unknown part or option is refused."""
    if unknown := sorted(set(files) - set(get_args(Part))):
        raise InvalidInput(
            f"unknown part {unknown[0]!r}; an upload has edges and nodes", field=f"files.{unknown[0]}"
        )
    if "edges" not in files:
        raise InvalidInput("the part edges is missing; upload an edge list", field="files.edges")
    opened: dict[str, tuple[Format, Options]] = {}
    for part, file in files.items():
        chosen = formats.reader(file.format)
        formats.require_part(chosen, part, f"files.{part}.format")
        opened[part] = (chosen, formats.options_of(chosen, file.options, f"files.{part}.options"))
    return opened


def _sources(
    files: Mapping[str, UploadedFile],
    opened: Mapping[str, tuple[Format, Options]],
    schema: GraphSchema,
    proposal: SchemaProposal | None,
    limits: IngestLimits,
    readings: dict[str, Reading],
) -> Sources:
    def again() -> RawGraph:
        raw = _read(files, opened, schema, limits, None, readings)
        if proposal is not None and proposal.nodes is not None:
            return RawGraph(raw.edges, iter([columnar(proposal.nodes)]))
        return raw

    return Sources(again, _nodes_file(opened))


def _read(
    files: Mapping[str, UploadedFile],
    opened: Mapping[str, tuple[Format, Options]],
    schema: GraphSchema | None,
    limits: IngestLimits,
    notes: Notes | None,
    readings: dict[str, Reading],
) -> RawGraph:
    raw = {}
    for part, file in files.items():
        chosen, options = opened[part]
        request = request_of(cast(Part, part), file.path, options, schema, limits, notes)
        request = replace(request, infer=schema is None or file.infer, answered_later=file.answered_later)
        raw[part] = chosen.read(replace(request, readings=readings))
    edges = raw["edges"]
    return RawGraph(edges.edges, raw["nodes"].nodes if "nodes" in raw else edges.nodes, edges.directed)


def request_of(
    part: Part,
    path: Path,
    options: Options,
    schema: GraphSchema | None,
    limits: IngestLimits,
    notes: Notes | None = None,
    name: str | None = None,
) -> ReadRequest:
    """Say what is read of a file. There is a schema, or there is none; ``name``: its own in findings."""
    if part == "nodes":
        wanted, required = _node_columns(schema)
        return ReadRequest(
            path,
            "nodes",
            options,
            wanted,
            required,
            any_columns=schema is None,
            notes=notes,
            limits=limits,
            name=name,
        )
    if schema is None:
        columns = ("source", "target", "time", "type")
        kept = options.extra_columns != "ignore"  # to be proposed
        return ReadRequest(
            path, "edges", options, columns, columns[:2], any_columns=kept, notes=notes, limits=limits
        )
    several = schema.collection is None and len(schema.edge_types) > 1
    graph = (GRAPH_ID,) if schema.collection is not None else ()
    needed = [("time", schema.temporal), ("type", several)]
    values = value_names(schema)
    required = (*graph, "source", "target", *(name for name, present in needed if present))
    wanted = (*required, *values)
    required += needed_values(schema)
    return ReadRequest(
        path,
        "edges",
        options,
        wanted,
        tuple(dict.fromkeys(required)),
        integer_ids=schema.counted,
        attributes=frozenset(a.name for t in schema.node_types for a in t.attributes),
        values=values,
        homogeneous=all(t.homogeneous for t in schema.edge_types),
        grid=schema.time,
        undirected=all(t.homogeneous and not t.directed for t in schema.edge_types),
        limits=limits,
        name=name,
    )


def value_names(schema: GraphSchema) -> tuple[str, ...]:
    """List the columns of what edges carry, each once, in the declared order."""
    return tuple(dict.fromkeys(a.name for t in schema.edge_types for a in t.attributes))


def needed_values(schema: GraphSchema) -> tuple[str, ...]:
    """List those of them that a file must have."""
    return tuple(dict.fromkeys(a.name for t in schema.edge_types for a in t.attributes if a.needs_column))


def _node_columns(schema: GraphSchema | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if schema is None:
        return ("id", "type"), ("id",)
    if schema.collection is not None:
        columns = (GRAPH_ID, "id", *(attribute.name for attribute in schema.collection.attributes))
        return columns, columns
    several = len(schema.node_types) > 1
    names = list(dict.fromkeys(a.name for t in schema.node_types for a in t.attributes))
    required = ("id", *(["type"] if several else []), *names)
    # A list of one type may still say the type.
    return ("id", "type", *names) if not several and not names else required, required


def _report(
    built: Assembled,
    digest: str | None,
    bytes_read: int,
    out: Path,
    proposal: SchemaProposal | None,
    readings: Mapping[str, Reading],
) -> IngestReport:
    graph = built.graph
    per_step = {
        name: tuple(np.bincount(table.step, minlength=graph.schema.steps).tolist())
        for name, table in graph.edges.items()
        if table.step is not None
    }
    rows, loops, repeats = (
        sum(count[name] for count in built.counts.values())
        for name in ("rows", "loops_dropped", "duplicates_merged")
    )
    listed = sum(table.count for table in graph.nodes.values())
    beyond = sum(count["duplicates_merged"] for count in built.counts.values() if "records" in count)
    counted = {"edges": Counts(rows, 0, loops, repeats - beyond), "nodes": Counts(listed)}
    return IngestReport(
        schema=graph.schema,
        rows_read=rows,
        loops_dropped=loops,
        duplicates_merged=repeats,
        nodes={name: table.count for name, table in graph.nodes.items()},
        edges=built.counts,
        edges_per_step=per_step,
        fingerprint=digest,
        bytes_read=bytes_read,
        bytes_stored=sum(path.stat().st_size for path in out.iterdir()),
        warnings=() if proposal is None else proposal.warnings,
        columns_ignored=() if proposal is None else proposal.ignored,
        readings={
            part: replace(
                reading,
                counts=replace(
                    counted[part],
                    comments=reading.counts.comments,
                    left_out=_left_out(reading, beyond if part == "edges" else 0),
                ),
            )
            for part, reading in readings.items()
        },
    )


def _left_out(reading: Reading, beyond: int) -> dict[str, int]:
    """Count the lines that are neither comments nor records, and the records that an edge has too many."""
    found = {"taken for a title": reading.dialect.titles, "beyond the records that an edge may have": beyond}
    return {why: count for why, count in found.items() if count}
