"""A schema read off an upload, for the curator to confirm.

A proposal looks at private data: ranges of time, names of types, perhaps the node list itself. Nothing
follows from it until a person confirms it, and its warnings say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns import as_text, integers_of, is_text, numbers_of
from core.graphs.findings import Findings, reject
from core.graphs.formats._base import END_TYPES, Batch, RawGraph
from core.graphs.rows import note
from core.graphs.schema import (
    MAX_STEPS,
    Attribute,
    AttributeKind,
    EdgeType,
    GraphSchema,
    NodeType,
    Protection,
    TimeGrid,
)
from core.graphs.uploads import IngestLimits

MAX_SINGLE_STEPS = 366  # beyond that many distinct times, steps are widened
WIDE_STEPS = 52
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


@dataclass(frozen=True)
class SchemaProposal:
    """``nodes`` is the derived node list (column ``id``) when none was uploaded; show the ``warnings``."""

    schema: GraphSchema
    nodes: pa.Table | None
    warnings: tuple[str, ...]


@dataclass
class _Relation:
    sources: list[pl.Series] = field(default_factory=list)
    targets: list[pl.Series] = field(default_factory=list)
    low: int | None = None
    high: int | None = None


def propose(open_parts: Callable[[], RawGraph], limits: IngestLimits) -> SchemaProposal:
    """A schema that the parts satisfy; IngestRejected where none can be read off them. O(m)."""
    raw = open_parts()
    listed = None if raw.nodes is None else _table(raw.nodes, "nodes", limits)
    if raw.edges is None:
        reject("edges", "the file holds no edges; upload an edge list as the part edges")
    relations = _relations(raw.edges, limits)
    warnings = [READS_DATA, UNDIRECTED]
    derived = None
    if listed is None:
        ends = [series for relation in relations.values() for series in relation.sources + relation.targets]
        ids = pl.concat(ends).unique().sort() if ends else pl.Series([], dtype=pl.String)
        derived = pa.table({"id": ids.to_arrow().cast(pa.string())})
        warnings.append(DERIVED_NODES)
    node_types = _node_types(derived if listed is None else listed)
    members = _members(derived if listed is None else listed, node_types)
    edge_types = tuple(_edge_type(name, each, members) for name, each in sorted(relations.items()))
    schema = GraphSchema(node_types=node_types, edge_types=edge_types, time=_grid(list(relations.values())))
    return SchemaProposal(schema, derived, tuple(warnings))


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


def _relations(batches: Iterator[Batch], limits: IngestLimits) -> dict[str, _Relation]:
    relations: dict[str, _Relation] = {}
    rows = 0
    for batch in batches:
        table = _checked(batch, "edges", limits)
        rows += table.num_rows
        if rows > limits.max_rows:
            reject("edges", f"the file has more than {limits.max_rows} rows; the limit is the operator's")
        names = as_text(table["type"]) if "type" in table.column_names else None
        for name in ["edge"] if names is None else sorted(set(names.unique().to_pylist()), key=str):
            part = table if names is None else table.filter(pc.equal(names, pa.scalar(name, pa.string())))
            _check_name(name, "edge type")
            _gather(relations.setdefault(name, _Relation()), part, limits)
    return relations or {"edge": _Relation()}


def _check_name(name: str | None, what: str) -> None:
    if name is None or not _NAME.fullmatch(name):
        message = (
            f"the {what} {name!r} is no usable name; begin with a letter and use letters, digits, _ and -"
        )
        reject("edges" if what == "edge type" else "nodes", message)


def _gather(relation: _Relation, part: pa.Table, limits: IngestLimits) -> None:
    for name, gathered in (("source", relation.sources), ("target", relation.targets)):
        gathered.append(pl.Series(as_text(part[name]).unique(), dtype=pl.String))
    if sum(len(series) for series in relation.sources + relation.targets) > limits.max_nodes:
        relation.sources = [pl.concat(relation.sources).unique()]
        relation.targets = [pl.concat(relation.targets).unique()]
    if "time" not in part.column_names or not part.num_rows:
        return
    values, valid, empty = integers_of(part["time"])
    if bool(empty.all()):
        return
    if not bool(valid.all()):
        reject(
            "edges", "a time is no integer of 64 bits, or missing on some edges of a type; mend the column"
        )
    low, high = int(values.min()), int(values.max())
    relation.low = low if relation.low is None else min(relation.low, low)
    relation.high = high if relation.high is None else max(relation.high, high)


def _node_types(listed: pa.Table) -> tuple[NodeType, ...]:
    names = ["node"]
    if "type" in listed.column_names:
        names = sorted(set(as_text(listed["type"]).unique().to_pylist()), key=str) or names
    types = []
    for name in names:
        _check_name(name, "node type")
        part = listed
        if "type" in listed.column_names:
            part = listed.filter(pc.equal(as_text(listed["type"]), name))
        columns = [column for column in listed.column_names if column not in ("id", "type", *END_TYPES)]
        attributes = tuple(_attribute(column, part[column]) for column in columns if _held(part[column]))
        types.append(NodeType(name=name, attributes=attributes))
    return tuple(types)


def _held(column: pa.ChunkedArray) -> bool:
    return not bool(integers_of(column)[2].all()) if is_text(column.type) else column.null_count < len(column)


def _attribute(name: str, column: pa.ChunkedArray) -> Attribute:
    _check_name(name, "attribute")
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


def _edge_type(name: str, relation: _Relation, members: dict[str, pl.Series]) -> EdgeType:
    ends = []
    for end, gathered in (("source", relation.sources), ("target", relation.targets)):
        ids = pl.concat(gathered).unique() if gathered else pl.Series([], dtype=pl.String)
        holding = [
            type_name for type_name, known in members.items() if bool(ids.is_in(known.implode()).all())
        ]
        if len(holding) > 1 and len(ids):
            reject("edges", f"the {end}s of {name!r} may be of several node types; declare the schema")
        if not holding:
            reject("edges", f"the {end}s of {name!r} belong to no single node type; declare the schema")
        ends.append(holding[0])
    return EdgeType(name=name, source=ends[0], target=ends[1], temporal=relation.low is not None)


def _grid(relations: list[_Relation]) -> TimeGrid | None:
    lows = [relation.low for relation in relations if relation.low is not None]
    highs = [relation.high for relation in relations if relation.high is not None]
    if not lows:
        return None
    span = max(highs) - min(lows) + 1
    width = 1 if span <= min(MAX_SINGLE_STEPS, MAX_STEPS) else -(-span // WIDE_STEPS)
    return TimeGrid(start=min(lows), width=width, count=-(-span // width))
