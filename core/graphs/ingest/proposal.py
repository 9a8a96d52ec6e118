"""A schema read off an upload, for the curator to confirm.

A proposal looks at private data: ranges of time, names of types, perhaps the node list itself. Nothing
follows from it until a person confirms it, and its warnings say so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns.arrays import as_text, integers_of, is_text, numbers_of, times_of
from core.graphs.ingest.relations import no_time
from core.graphs.ingest.value_proposal import Seen, proposed_values
from core.graphs.reading.model import Reading, Role
from core.graphs.reading.sorts import names_of
from core.graphs.reading.variants import told_of_ids, told_of_times
from core.graphs.schema import (
    MAX_TIME,
    Attribute,
    AttributeKind,
    EdgeType,
    GraphSchema,
    NodeType,
    Protection,
    TimeGrid,
)
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.grids import proposed_grid, width_in_words
from core.graphs.uploads.batches import END_TYPES, Batch, Notes, RawGraph
from core.graphs.uploads.files import IngestLimits
from core.graphs.uploads.findings import Findings, reject, shown
from core.graphs.uploads.rows import Fault, Resolved, at_most, drain, note

_STRUCTURE = frozenset({"source", "target", "time", "type", *END_TYPES})
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")

READS_DATA = (
    "This proposal was read off the data. Once confirmed, it is public: node types, edge types and the time "
    "grid. Confirm only what may be known to everyone."
)
DERIVED_NODES = (
    "No node list was uploaded. The proposed list holds exactly the nodes that have an edge, so confirming "
    "it publishes who has one. Upload the list of the whole population instead where that is private."
)
UNDIRECTED = "Direction cannot be read off the rows; every edge type is proposed as undirected."
DIRECTED = "The document says that its edges are directed, and so is every edge type within one node type."


@dataclass(frozen=True)
class SchemaProposal:
    """``nodes`` is the derived node list (column ``id``) when none was uploaded; show the ``warnings``.

    ``ignored`` are columns of the edges that no schema can hold: they go with the proposal's confirmation.
    """

    schema: GraphSchema
    nodes: pa.Table | None
    warnings: tuple[str, ...]
    ignored: tuple[str, ...]


@dataclass
class _Relation:
    sources: list[pl.Series] = field(default_factory=list)
    targets: list[pl.Series] = field(default_factory=list)
    low: int | None = None
    high: int | None = None
    grain: int = 0
    values: dict[str, Seen] = field(default_factory=dict)


def propose(
    open_parts: Callable[[Notes], RawGraph],
    limits: IngestLimits,
    nodes_file: str = "nodes",
    reading_of_edges: Callable[[], Reading | None] = lambda: None,
) -> SchemaProposal:
    """Propose a schema that the parts satisfy; IngestRejected where none can be read off them. O(m).

    ``nodes_file`` names the file of the node list in findings; ``reading_of_edges`` says, once they were
    read, how that was.
    """
    notes = Notes()
    raw = open_parts(notes)
    listed = None if raw.nodes is None else _table(raw.nodes, nodes_file, limits)
    if raw.edges is None:
        reject("edges", "the file holds no edges; upload an edge list as the part edges")
    relations = _relations(raw.edges, limits)
    reading = reading_of_edges()
    warnings = [READS_DATA, DIRECTED if raw.directed else UNDIRECTED, *notes.remarks]
    carried, unread = proposed_values(
        {name: dict(sorted(each.values.items())) for name, each in sorted(relations.items())},
        {name: each.low is not None for name, each in relations.items()},
    )
    ignored = tuple(notes.skipped | dict.fromkeys(unread))
    if unread:
        told = "; ".join(f"{shown(name)}, as {why}" for name, why in unread.items())
        warnings.append(f"Columns of the edges that are not read: {told}.")
    if any(carried.values()):
        warnings.append(_told(carried))
    derived = None
    if listed is None:
        ends = [series for relation in relations.values() for series in relation.sources + relation.targets]
        ids = pl.concat(ends).unique().sort() if ends else pl.Series([], dtype=pl.String)
        derived = pa.table({"id": ids.to_arrow().cast(pa.string())})
        if reading is not None and reading.bipartite:
            derived = _two_sorts(relations.values(), reading)
        warnings += [DERIVED_NODES, *told_of_ids(ids)]
    sorts = names_of_sorts(reading) if derived is not None and "type" in derived.column_names else None
    if reading is not None and reading.bipartite and sorts is None:
        warnings.append(
            "The ends may be two sorts of nodes, but the node list names one: give it a column type with "
            "both, where one id stands for two."
        )
    node_types = _node_types(derived if listed is None else listed, nodes_file)
    members = _members(derived if listed is None else listed, node_types)
    edge_types = tuple(
        _edge_type(name, each, members, bool(raw.directed), carried[name], sorts)
        for name, each in sorted(relations.items())
    )
    grid = _grid(list(relations.values()))
    warnings += told_of_times([end for each in relations.values() for end in (each.low, each.high)])
    if grid is not None and grid.width > 1:
        warnings.append(
            "Times are taken as seconds since 1970 in UTC, or as milli-, micro- or nanoseconds where they "
            f"are that large: the proposed grid has {grid.count} steps of {width_in_words(grid)}. Declare "
            "another grid where you mean other steps."
        )
    schema = GraphSchema(node_types=node_types, edge_types=edge_types, time=grid)
    return SchemaProposal(schema, derived, tuple(warnings), ignored)


def names_of_sorts(reading: Reading | None) -> tuple[str, str]:
    """Name the two sorts of nodes after the columns of the ends."""
    ends = [None if reading is None else reading.column(role) for role in (Role.SOURCE, Role.TARGET)]
    return names_of(*(None if each is None else each.name for each in ends))


def _two_sorts(relations: Iterable[_Relation], reading: Reading) -> pa.Table:
    """List the nodes of two sorts: an id that stands at both ends is two nodes."""
    parts = []
    for name, side in zip(names_of_sorts(reading), ("sources", "targets"), strict=True):
        gathered = [series for relation in relations for series in getattr(relation, side)]
        ids = pl.concat(gathered).unique().sort() if gathered else pl.Series([], dtype=pl.String)
        parts.append(pa.table({"id": ids.to_arrow().cast(pa.string()), "type": pa.repeat(name, len(ids))}))
    return pa.concat_tables(parts)


def _told(carried: Mapping[str, tuple[EdgeAttribute, ...]]) -> str:
    """Say what edges are proposed to carry, and how to have it otherwise."""
    named = "; ".join(
        f"{', '.join(f'{attribute.name} ({attribute.kind})' for attribute in attributes)} of {name}"
        for name, attributes in carried.items()
        if attributes
    )
    return (
        f"What edges carry was read off the data: {named}. Categories and bounds become public; bounds were "
        "widened to round numbers. Of several rows of one edge the latest value is taken, without time the "
        "largest: declare another aggregate where you mean a sum or a mean. Upload with extra_columns=ignore "
        "where edges shall carry nothing."
    )


def _table(batches: Iterator[Batch], file: str, limits: IngestLimits) -> pa.Table:
    tables = [_checked(batch, file, limits) for batch in batches]
    return pa.concat_tables(tables, promote_options="permissive")


def _checked(batch: Batch, file: str, limits: IngestLimits) -> pa.Table:
    if batch.table is not None:
        return batch.table
    findings = Findings(file, limits.max_findings)
    parts = []
    for part in batch.carefully():
        note(part, [], findings)
        parts.append(part.table)
    findings.raise_if_any()
    return pa.concat_tables(parts)


Gathered = list[tuple[str, pa.Table, np.ndarray | None]]


def _relations(batches: Iterator[Batch], limits: IngestLimits) -> dict[str, _Relation]:
    """Gather what the rows say of each relation; findings name the lines of unusable types and times."""
    relations: dict[str, _Relation] = {}

    def resolve(table: pa.Table) -> Resolved[Gathered]:
        faults: list[Fault] = []
        names = as_text(table["type"]) if "type" in table.column_names else None
        gathered: Gathered = []
        for name in ["edge"] if names is None else sorted(set(names.unique().to_pylist()), key=str):
            chosen = np.arange(table.num_rows) if names is None else np.flatnonzero(_are(names, name))
            if not _usable(name):
                faults.append(Fault(chosen, "type", partial(_unusable, "edge type")))
                continue
            part = table if names is None else table.take(pa.array(chosen))
            gathered.append((name, part, _times(part, chosen, faults)))
        return Resolved(gathered, table.num_rows, faults)

    def keep(found: Gathered) -> None:
        for name, part, times in found:
            _gather(relations.setdefault(name, _Relation()), part, times, limits)

    bounded = at_most(limits.max_rows, "edges", "the file", "rows", mend=limits.mend_rows)
    drain(batches, resolve, keep, Findings("edges", limits.max_findings), bounded)
    return relations or {"edge": _Relation()}


def _are(names: pa.ChunkedArray, name: str | None) -> np.ndarray:
    same: np.ndarray = (
        names.is_null() if name is None else pc.fill_null(pc.equal(names, name), False)
    ).to_numpy()
    return same


def _usable(name: str | None) -> bool:
    return name is not None and _NAME.fullmatch(name) is not None


def _unusable(what: str, name: object) -> str:
    return f"the {what} {shown(name)} is no usable name; begin with a letter and use letters, digits, _ and -"


def _times(part: pa.Table, rows: np.ndarray, faults: list[Fault]) -> np.ndarray | None:
    """Read the times of one relation's rows; None where it has none. All of them carry one, or none does."""
    if "time" not in part.column_names or not part.num_rows:
        return None
    values, valid, empty = times_of(part["time"])
    if bool(empty.all()):
        return None
    far = valid & ((values < -MAX_TIME) | (values > MAX_TIME))
    for mask, explain in (
        (empty, lambda _: "the time is empty, but others of this type have one; mend the column"),
        (~valid & ~empty, no_time),
        (far, lambda v: f"the time {shown(v)} is beyond 2**62; use a wider unit"),
    ):
        if mask.any():
            faults.append(Fault(rows[mask], "time", explain))
    return values


def _gather(relation: _Relation, part: pa.Table, times: np.ndarray | None, limits: IngestLimits) -> None:
    for name, gathered in (("source", relation.sources), ("target", relation.targets)):
        gathered.append(pl.Series(as_text(part[name]).unique(), dtype=pl.String))
    if sum(len(series) for series in relation.sources + relation.targets) > limits.max_nodes:
        relation.sources = [pl.concat(relation.sources).unique()]
        relation.targets = [pl.concat(relation.targets).unique()]
    for name in part.column_names:
        if name not in _STRUCTURE:
            relation.values.setdefault(name, Seen()).add(part[name])
    if times is not None:
        low, high = int(times.min()), int(times.max())
        relation.low = low if relation.low is None else min(relation.low, low)
        relation.high = high if relation.high is None else max(relation.high, high)
        relation.grain = math.gcd(relation.grain, int(np.gcd.reduce(times)))


def _node_types(listed: pa.Table, file: str) -> tuple[NodeType, ...]:
    names = ["node"]
    if "type" in listed.column_names:
        names = sorted(set(as_text(listed["type"]).unique().to_pylist()), key=str) or names
    types = []
    for name in names:
        _check_name(name, "node type", file)
        part = listed
        if "type" in listed.column_names:
            part = listed.filter(pc.equal(as_text(listed["type"]), name))
        columns = sorted(set(listed.column_names) - {"id", "type", *END_TYPES})  # in no order of the data
        attributes = tuple(
            _attribute(column, part[column], file) for column in columns if _held(part[column])
        )
        types.append(NodeType(name=name, attributes=attributes))
    return tuple(types)


def _held(column: pa.ChunkedArray) -> bool:
    return not bool(integers_of(column)[2].all()) if is_text(column.type) else column.null_count < len(column)


def _check_name(name: str | None, what: str, file: str) -> None:
    if not _usable(name):
        reject(file, _unusable(what, name))


def _attribute(name: str, column: pa.ChunkedArray, file: str) -> Attribute:
    _check_name(name, "attribute", file)
    kind = AttributeKind.CATEGORY
    if pa.types.is_nested(column.type):
        kind = AttributeKind.VECTOR
    elif not bool(numbers_of(column)[1].any()):
        kind = AttributeKind.NUMBER
    return Attribute(name=name, kind=kind, protection=Protection.WITHHELD)


def _members(listed: pa.Table, node_types: tuple[NodeType, ...]) -> dict[str, pl.Series]:
    ids = as_text(listed["id"])
    if len(node_types) == 1:
        return {node_types[0].name: pl.Series(ids, dtype=pl.String)}
    types = as_text(listed["type"])
    return {t.name: pl.Series(ids.filter(pc.equal(types, t.name)), dtype=pl.String) for t in node_types}


def _edge_type(
    name: str,
    relation: _Relation,
    members: dict[str, pl.Series],
    directed: bool,
    attributes: tuple[EdgeAttribute, ...],
    sorts: tuple[str, str] | None,
) -> EdgeType:
    ends = [] if sorts is None else [*sorts]
    for end, gathered in () if ends else (("source", relation.sources), ("target", relation.targets)):
        ids = pl.concat(gathered).unique() if gathered else pl.Series([], dtype=pl.String)
        holding = [
            type_name for type_name, known in members.items() if bool(ids.is_in(known.implode()).all())
        ]
        if len(holding) > 1 and len(ids):
            reject("edges", f"the {end}s of {name!r} may be of several node types; declare the schema")
        if not holding:
            reject("edges", f"the {end}s of {name!r} belong to no single node type; declare the schema")
        ends.append(holding[0])
    return EdgeType(
        name=name,
        source=ends[0],
        target=ends[1],
        directed=directed and ends[0] == ends[1],  # elsewhere the types of the ends tell them apart
        temporal=relation.low is not None,
        attributes=attributes,
    )


def _grid(relations: list[_Relation]) -> TimeGrid | None:
    lows = [relation.low for relation in relations if relation.low is not None]
    highs = [relation.high for relation in relations if relation.high is not None]
    if not lows:
        return None
    grain = math.gcd(*(relation.grain for relation in relations))
    return proposed_grid(min(lows), max(highs), grain)
