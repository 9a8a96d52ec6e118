"""The declared nodes: a list, or 0..count-1. A node that has no edge is a node all the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns.arrays import as_text, codes_of, integers_of, numbers_of, vectors_of
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import Attribute, AttributeKind, GraphSchema, NodeType
from core.graphs.uploads.batches import Batch
from core.graphs.uploads.files import VECTOR_SEPARATOR, IngestLimits
from core.graphs.uploads.findings import reject, shown
from core.graphs.uploads.rows import Fault, Kinds, Resolved, type_codes

_CONTROL = r"[\x00-\x1f\x7f]"
Column: TypeAlias = np.ndarray | pa.Array


@dataclass(frozen=True)
class NodeIndex:
    """Ids of one node type to positions."""

    node_type: NodeType
    count: int
    ids: pa.Array | None

    def lookup(self, column: pa.ChunkedArray) -> np.ndarray:
        """Find the positions of the ids, -1 where undeclared; int64."""
        if self.ids is not None:
            return codes_of(column, self.ids)
        if pa.types.is_dictionary(column.type):
            column = as_text(column)
        values, valid, _ = integers_of(column)
        if valid.all() and int(values.view(np.uint64).max(initial=0)) < self.count:  # negative ones are large
            return values
        return np.where(valid & (values >= 0) & (values < self.count), values, -1)

    def lookup_ends(self, columns: list[pa.ChunkedArray]) -> list[np.ndarray]:
        """Look up each column. Columns of one Arrow type share one hash table of ids."""
        if self.ids is None or len({column.type for column in columns}) > 1:
            return [self.lookup(column) for column in columns]
        joined = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
        positions = self.lookup(joined)
        return np.split(positions, np.cumsum([len(column) for column in columns])[:-1])

    def explain(self, end: str, value: object, such: int) -> str:
        """Explain what is wrong with an unlisted id. ``such`` ids are not listed either; it is said how to
        mend it."""
        name = self.node_type.name
        if value is None or value == "":
            return EMPTY_END.format(end=end)
        if self.ids is None:
            nodes = f"0..{self.count - 1}, the declared nodes of {name!r}"
            problem = f"the {end} {shown(value)} is no integer in {nodes}{counted(such)}"
            return f"{problem}; mend it or declare more nodes"
        of_type = "" if name == NodeType().name else f" as a node of type {name!r}"
        return not_listed(end, value, self.ids, such, of_type)


EMPTY_END = "the {end} is empty; name a node or remove the line"


def counted(such: int) -> str:
    """Say how many ids are wrong in the same way. It is said where that is known."""
    return "" if not such else " (1 such id)" if such == 1 else f" ({such} such ids)"


def not_listed(end: str, value: object, ids: pa.Array, such: int, of_type: str = "", mend: str = "") -> str:
    """Say that an end is not among the listed ``ids``. Said is too whether one is written almost so, and the
    way out."""
    text = str(value)
    spaces = " (it has spaces around it)" if text != text.strip() else ""
    problem = f"the {end} {shown(text)}{spaces} is not in the node list{of_type}{counted(such)}"
    if other := _alike(text, ids):
        return f"{problem}, which has {shown(other)}; write them alike"
    return f"{problem}; {mend or 'add it to the list, or mend it'}"


def _alike(text: str, ids: pa.Array) -> str | None:
    """Find an id that differs from the text by spaces, a float's ``.0``, leading zeros or case alone."""
    plain = text.strip()
    whole = re.sub(r"[.]0+$", "", plain)
    numbers = (whole, f"{plain}.0", whole.lstrip("0"))
    forms = (plain, *numbers, plain.lower(), plain.upper(), plain.title())
    tried = pa.array([each for each in dict.fromkeys(forms) if each not in ("", text)], type=pa.string())
    found = tried.filter(pc.is_in(tried, value_set=ids.cast(pa.string())))
    return str(found[0]) if len(found) else None


@dataclass
class _Listed:
    ids: list[pa.ChunkedArray] = field(default_factory=list)
    attributes: dict[str, list[Column]] = field(default_factory=dict)


class NodeCollector:
    """Rows of a node list, checked against the schema and gathered by type."""

    def __init__(self, schema: GraphSchema, limits: IngestLimits) -> None:
        self.schema, self.limits = schema, limits
        self.kinds = Kinds.of(schema, "node")
        self.listed = {node_type.name: _Listed() for node_type in schema.node_types}
        self.widths: dict[tuple[str, str], int] = {}

    def resolve(self, table: pa.Table) -> Resolved[dict[str, tuple[pa.ChunkedArray, dict[str, Column]]]]:
        """Sort ids and attributes by node type, with the faults of the rows."""
        faults: list[Fault] = []
        ids = as_text(table["id"])
        self._check_ids(ids, faults)
        codes = type_codes(table, self.kinds, faults)
        content = {}
        for code, node_type in enumerate(self.schema.node_types):
            rows = np.flatnonzero(codes == code)
            if len(rows):
                taken = table.take(pa.array(rows)) if len(rows) < len(codes) else table
                columns = {
                    attribute.name: self._attribute(node_type, attribute, taken, rows, faults)
                    for attribute in node_type.attributes
                }
                content[node_type.name] = (as_text(taken["id"]), columns)
        return Resolved(content, table.num_rows, faults)

    def _check_ids(self, ids: pa.ChunkedArray, faults: list[Fault]) -> None:
        limit = self.limits.max_id_bytes
        text = pc.fill_null(ids, "")
        rules = [
            (pc.equal(text, ""), lambda _: "the id is empty; give every node an id, or remove the line"),
            (
                pc.match_substring_regex(text, _CONTROL),
                lambda v: f"the id {shown(v)} holds a control character; remove it",
            ),
            (pc.greater(pc.binary_length(text), limit), lambda v: f"the id {shown(v)} exceeds {limit} bytes"),
        ]
        for mask, explain in rules:
            rows = np.flatnonzero(mask.to_numpy())
            if len(rows):
                faults.append(Fault(rows, "id", explain))

    def _attribute(
        self,
        node_type: NodeType,
        attribute: Attribute,
        taken: pa.Table,
        rows: np.ndarray,
        faults: list[Fault],
    ) -> Column:
        name = attribute.name
        if name not in taken.column_names:  # a document in which no node carries it; tables must have it
            column = pa.chunked_array([pa.nulls(len(rows), pa.string())])
        else:
            column = taken[name]
        if attribute.kind is AttributeKind.NUMBER:
            values, bad = numbers_of(column)
            needed = "write a number, or nothing"
        elif attribute.kind is AttributeKind.VECTOR:
            values, bad = vectors_of(column, VECTOR_SEPARATOR, attribute.length)
            # The first batch's width is that of all.
            width = self.widths.setdefault((node_type.name, name), attribute.length or values.shape[1])
            bad = np.ones_like(bad) if values.shape[1] != width else bad
            bad = bad | (width > self.limits.max_vector_width)
            needed = f"write {width} finite numbers with {VECTOR_SEPARATOR!r} between them"
        else:
            text = as_text(column).combine_chunks()
            text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
            _require_known(attribute, text, rows, faults)
            return text
        if bad.any():
            faults.append(Fault(rows[bad], name, lambda v: f"{name!r} is {shown(v)}; {needed}"))
        if attribute.kind is AttributeKind.VECTOR and bad.any():  # nothing of it was read
            return values
        if attribute.nonzero is not None:
            _require_few(attribute, attribute.nonzero, values, rows, faults)
        if attribute.bounds is not None:
            return _within(attribute, attribute.bounds, values, rows, faults)
        return values

    def keep(self, content: Mapping[str, tuple[pa.ChunkedArray, dict[str, Column]]]) -> None:
        """Add the rows to their types."""
        for name, (ids, attributes) in content.items():
            listed = self.listed[name]
            listed.ids.append(ids)
            for key, column in attributes.items():
                listed.attributes.setdefault(key, []).append(column)

    def duplicates(self) -> dict[str, set[str]]:
        """Find ids that are listed more than once. Up to ``max_findings`` of each type are returned."""
        repeated = {}
        for name, listed in self.listed.items():
            ids = pl.Series([], dtype=pl.String) if not listed.ids else pl.Series(_joined(listed.ids))
            if ids.n_unique() < len(ids):
                repeated[name] = set(ids.filter(ids.is_duplicated()).unique()[: self.limits.max_findings])
        return repeated

    def tables(self) -> tuple[dict[str, NodeTable], list[str]]:
        """Build node tables by type, sorted by id. Listed is too what is wrong with whole types."""
        tables, problems = {}, []
        for node_type in self.schema.node_types:
            listed = self.listed[node_type.name]
            ids = _joined(listed.ids)
            attributes = {key: _stacked(columns) for key, columns in listed.attributes.items()}
            if node_type.count is None:
                if not len(ids):
                    of_type = "" if node_type.name == NodeType().name else f" of type {node_type.name!r}"
                    problems.append(f"no node{of_type} is listed; list every node, or declare a count")
                listed_nodes = NodeTable(len(ids), ids, attributes)
                tables[node_type.name] = listed_nodes.taken(listed_nodes.id_order())
                continue
            table, problem = _counted(node_type, node_type.count, ids, attributes)
            tables[node_type.name] = table
            problems += [problem] if problem else []
        return tables, problems


def _require_known(attribute: Attribute, text: pa.Array, rows: np.ndarray, faults: list[Fault]) -> None:
    """Find values that are none of the declared categories; a missing one may be."""
    if attribute.categories is None:
        return
    known = pc.is_in(text, value_set=pa.array(attribute.categories, type=pa.string()))
    strange = rows[pc.and_(pc.invert(known), pc.is_valid(text)).to_numpy(zero_copy_only=False)]
    if len(strange):
        name = attribute.name
        faults.append(
            Fault(strange, name, lambda v: f"{name!r} has no category {shown(v)}; declare it, or mend it")
        )


def _require_few(
    attribute: Attribute, most: int, values: np.ndarray, rows: np.ndarray, faults: list[Fault]
) -> None:
    """Find vectors of which more numbers than declared are not 0."""
    many = np.count_nonzero(values, axis=1) > most
    if many.any():
        name = attribute.name
        faults.append(
            Fault(
                rows[many],
                name,
                lambda v: (
                    f"{name!r} is {shown(v)}, and more than {most} of its numbers are not 0; mend it, or "
                    "declare more"
                ),
            )
        )


def _within(
    attribute: Attribute,
    bounds: tuple[float, float],
    values: np.ndarray,
    rows: np.ndarray,
    faults: list[Fault],
) -> np.ndarray:
    """Clip the numbers to their bounds where that is declared, else find those outside; NaN is missing."""
    low, high = bounds
    if attribute.clip:
        clipped: np.ndarray = np.clip(values, low, high)
        return clipped
    beyond = (values < low) | (values > high)
    outside = beyond.reshape(len(beyond), -1).any(axis=1)
    if outside.any():
        name, mend = attribute.name, "mend it, declare wider bounds, or clip"
        faults.append(
            Fault(
                rows[outside],
                name,
                lambda v: f"{name!r} is {shown(v)}, outside {low:g} to {high:g}; {mend}",
            )
        )
    return values


def _joined(ids: list[pa.ChunkedArray]) -> pa.Array:
    chunks = [chunk for column in ids for chunk in column.chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], type=pa.string())


def _stacked(columns: list[Column]) -> Column:
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return pa.concat_arrays(columns)


def _counted(
    node_type: NodeType, count: int, ids: pa.Array, attributes: dict[str, Column]
) -> tuple[NodeTable, str | None]:
    """Build the table of a type with declared count: ids are its integers, attributes in their order."""
    values, valid, _ = integers_of(pa.chunked_array([ids]))
    what = f"node type {node_type.name!r} declares the nodes 0..{count - 1}"
    if not bool(np.all(valid & (values >= 0) & (values < count))):
        return NodeTable(count), f"{what}, but other ids are listed; list these only, or declare no count"
    if len(np.unique(values)) < len(values):
        return NodeTable(count), f"{what}, but an id is listed twice (with leading zeros or spaces)"
    if not node_type.attributes:
        return NodeTable(count), None
    if len(values) < count:
        return NodeTable(
            count
        ), f"{what}, but {count - len(values)} of them have no attributes; list every node"
    # By now the values are 0..count-1, each once.
    return NodeTable(count, None, attributes).taken(np.argsort(values)), None


def indices(schema: GraphSchema, tables: Mapping[str, NodeTable]) -> dict[str, NodeIndex]:
    """Make a lookup for each node type."""
    return {t.name: NodeIndex(t, tables[t.name].count, tables[t.name].ids) for t in schema.node_types}


def require_listed(document: Iterable[Batch], graph: Graph) -> None:
    """Reject a document that lists unknown nodes. The uploaded node list, in its place, lacks them."""
    declared, missing, seen = indices(graph.schema, graph.nodes).values(), list[tuple[int, str]](), 0
    for batch in document:
        assert batch.table is not None  # documents are read as columns
        ids = as_text(batch.table["id"])
        known = np.any([each.lookup(ids) >= 0 for each in declared], axis=0)
        missing += [(seen + row + 1, ids[row].as_py()) for row in np.flatnonzero(~known).tolist()]
        seen += len(ids)
    if missing:
        line, first = missing[0]
        more = f" and {len(missing) - 1} more nodes" if len(missing) > 1 else ""
        reject(
            "edges",
            f"the document lists {shown(first)}{more}, missing in the node list that was uploaded with it; "
            "add what is missing to the list, or remove it from the document",
            line=line,
        )
