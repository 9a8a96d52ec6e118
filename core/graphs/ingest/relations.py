"""Raw edge rows to indices and steps. Rows are checked one by one; declared facts, over all rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import polars as pl
import pyarrow as pa

from core.graphs.columns.arrays import as_text, codes_of, times_of
from core.graphs.columns.tables import EdgeValues
from core.graphs.graph import EdgeTable
from core.graphs.ingest.universe import NodeIndex
from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.uploads.batches import END_TYPES, Batch
from core.graphs.uploads.findings import shown
from core.graphs.uploads.rows import Fault, Kinds, Resolved, type_codes
from core.graphs.uploads.value_columns import ValueRows, read_values, refuse_values

# Findings name the first few: more would not help a curator.
MAX_VIOLATORS = 20


ENDS = ("source", "target")


def no_time(value: object) -> str:
    """Explain why a text is no time. It is said how to mend it, too."""
    header = (
        "" if re.search(r"\d", str(value)) else "; if the line is a header, name the time's column 'time'"
    )
    return (
        f"the time {shown(value)} is no integer of 64 bits, number, or date such as 2024-05-17 or "
        f"2024-05-17T12:30:00Z; write one{header}"
    )


def _untimed(name: str, _: object) -> str:
    return f"the edge type {name!r} carries no time; leave it empty or declare the type temporal"


@dataclass(frozen=True)
class EdgeRows:
    """Rows of one edge type. They have positions of the ends, raw times (None without time), places in the
    batch, and what they carry."""

    edge_type: EdgeType
    rows: np.ndarray
    source: np.ndarray
    target: np.ndarray
    time: np.ndarray | None
    values: ValueRows = field(default_factory=ValueRows)


class Gathered:
    """Rows whose columns grow in place: what is gathered needs no room a second time when it is complete."""

    def __init__(self) -> None:
        self._columns: list[np.ndarray] = []
        self._rows = 0

    def add(self, columns: Iterable[np.ndarray]) -> None:
        """Add rows. Columns widen to the types of all."""
        columns = tuple(columns)
        self._columns = self._columns or [np.empty(0, column.dtype) for column in columns]
        rows = self._rows + len(columns[0])
        for place, column in enumerate(columns):
            held = self._columns[place]
            if column.dtype != held.dtype:
                held = self._columns[place] = held.astype(np.promote_types(held.dtype, column.dtype))
            if rows > len(held):
                # By a quarter at least, so that growing costs O(1) a
                # row. No view is held that the old place could serve.
                held.resize(max(rows, len(held) + len(held) // 4), refcheck=False)
            held[self._rows : rows] = column
        self._rows = rows

    def columns(self) -> list[np.ndarray]:
        """Return the columns, none where nothing was added."""
        for held in self._columns:
            held.resize(self._rows, refcheck=False)
        return self._columns


class EdgeCollector:
    """Rows of an edge list, gathered by type. They are resolved against the universe, in 8 to 20 bytes each,
    and 4 or 8 for each value."""

    def __init__(
        self,
        schema: GraphSchema,
        universe: Mapping[str, NodeIndex],
        mend_time: str,
        rows_again: Callable[[], Iterable[Batch] | None] = lambda: None,
    ) -> None:
        self.schema, self.universe, self.mend_time = schema, universe, mend_time
        self.rows_again = rows_again
        self.kinds = Kinds.of(schema, "edge")
        self.parts = {t.name: Gathered() for t in schema.edge_types}
        self.attributes = list(dict.fromkeys(a.name for t in schema.edge_types for a in t.attributes))
        self.clipped = dict.fromkeys(self.parts, 0)

    def resolve(self, table: pa.Table) -> Resolved[list[EdgeRows]]:
        """Sort the rows by edge type, with the faults of the rows."""
        faults: list[Fault] = []
        codes = type_codes(table, self.kinds, faults)
        if self.schema.collection is not None:
            return Resolved(self._by_graph(table, codes, faults), table.num_rows, faults)
        positions: dict[tuple[str, str], np.ndarray] = {}
        times = times_of(table["time"]) if "time" in table.column_names else None
        content = []
        for code, edge_type in enumerate(self.schema.edge_types):
            whole = len(self.schema.edge_types) == 1 and not faults
            rows = np.arange(len(codes)) if whole else np.flatnonzero(codes == code)
            if not len(rows):
                continue
            self._look_up(edge_type, table, positions)
            source, target = self._oriented(edge_type, table, rows, positions, faults)
            time = self._times(edge_type, times, rows, faults)
            values = read_values(edge_type, table, rows, time, faults)
            refuse_values(edge_type, self.attributes, table, rows, faults)
            content.append(EdgeRows(edge_type, rows, source, target, time, values))
        return Resolved(content, table.num_rows, faults)

    def _by_graph(self, table: pa.Table, codes: np.ndarray, faults: list[Fault]) -> list[EdgeRows]:
        """Sort the rows by graph. Each row is looked up in its own graph alone: O(rows log rows) in all."""
        order = np.argsort(codes, kind="stable")
        ends = table.select(list(ENDS)).take(pa.array(order))
        bounds = np.searchsorted(codes[order], np.arange(len(self.schema.edge_types) + 1))
        content = []
        for edge_type, low, high in zip(self.schema.edge_types, bounds[:-1], bounds[1:], strict=True):
            if low < high:
                rows, own = order[low:high], ends.slice(low, high - low)
                index = self.universe[edge_type.source]
                source, target = index.lookup_ends([own[end] for end in ENDS])
                self._require_declared(edge_type, rows, source, target, faults)
                values = read_values(edge_type, table, rows, None, faults)
                content.append(EdgeRows(edge_type, rows, source, target, None, values))
        return content

    def _look_up(
        self, edge_type: EdgeType, table: pa.Table, found: dict[tuple[str, str], np.ndarray]
    ) -> None:
        """Add to ``found`` the positions of each end in the node types that it may be of."""
        needed = {("source", edge_type.source), ("target", edge_type.target)}
        if "source_type" in table.column_names and not edge_type.directed:
            # An undirected document may hold the ends the other way round.
            needed |= {("source", edge_type.target), ("target", edge_type.source)}
        for node_type in dict.fromkeys((edge_type.source, edge_type.target)):
            ends = [end for end in ENDS if (end, node_type) in needed and (end, node_type) not in found]
            if ends:
                positions = self.universe[node_type].lookup_ends([table[end] for end in ends])
                found.update({(end, node_type): each for end, each in zip(ends, positions, strict=True)})

    def _oriented(
        self,
        edge_type: EdgeType,
        table: pa.Table,
        rows: np.ndarray,
        found: Mapping[tuple[str, str], np.ndarray],
        faults: list[Fault],
    ) -> tuple[np.ndarray, np.ndarray]:
        source, target = found["source", edge_type.source], found["target", edge_type.target]
        if len(rows) < len(source):
            source, target = source[rows], target[rows]
        if "source_type" in table.column_names and len(self.universe) > 1:
            shown_as = [self.schema.node_type(each).in_files for each in self.universe]
            names = pa.array(shown_as, type=pa.string())
            source_types, target_types = (codes_of(table[end], names)[rows] for end in END_TYPES)
            wanted_source, wanted_target = (
                list(self.universe).index(t) for t in (edge_type.source, edge_type.target)
            )
            if not edge_type.directed and not edge_type.homogeneous:
                # A row that has the ends the other way round is turned.
                flipped = (source_types == wanted_target) & (target_types == wanted_source)
                source = np.where(flipped, found["target", edge_type.source][rows], source)
                target = np.where(flipped, found["source", edge_type.target][rows], target)
                kept = source_types
                source_types = np.where(flipped, target_types, source_types)
                target_types = np.where(flipped, kept, target_types)
            # An end of another type than the relation's is no node of it.
            source = np.where(source_types == wanted_source, source, -1)
            target = np.where(target_types == wanted_target, target, -1)
        self._require_declared(edge_type, rows, source, target, faults)
        return source, target

    def _require_declared(
        self,
        edge_type: EdgeType,
        rows: np.ndarray,
        source: np.ndarray,
        target: np.ndarray,
        faults: list[Fault],
    ) -> None:
        for end, name, positions in zip(
            ENDS, (edge_type.source, edge_type.target), (source, target), strict=True
        ):
            if positions.min(initial=0) < 0:
                missing = rows[positions < 0]
                faults.append(Fault(missing, end, partial(self._explain, end, name), name))

    def _explain(self, end: str, node_type: str, value: object) -> str:
        return self.universe[node_type].explain(end, value, self.unlisted.get(node_type, 0))

    @cached_property
    def unlisted(self) -> dict[str, int]:
        """Count ids of ends that no node has. They count by node type; of all rows, once some are refused."""
        found: dict[str, pl.Series] = {}
        for batch in self.rows_again() or ():
            tables = [batch.table] if batch.table is not None else [p.table for p in batch.carefully()]
            for table in tables:
                for fault in self.resolve(table).faults:
                    if fault.unlisted:
                        ids = as_text(table[fault.column]).take(pa.array(fault.rows))
                        before = found.get(fault.unlisted, pl.Series([], dtype=pl.String))
                        found[fault.unlisted] = before.append(pl.Series(ids, dtype=pl.String)).unique()
        return {name: len(ids.filter(ids != "")) for name, ids in found.items()}

    def _times(
        self,
        edge_type: EdgeType,
        times: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
        rows: np.ndarray,
        faults: list[Fault],
    ) -> np.ndarray | None:
        name = edge_type.name
        if not edge_type.temporal:
            if times is not None and not bool(times[2][rows].all()):
                faults.append(Fault(rows[~times[2][rows]], "time", partial(_untimed, name)))
            return None
        if times is None:
            faults.append(Fault(rows, "time", lambda _: f"edges of type {name!r} carry a time; add it"))
            return np.zeros(len(rows), dtype=np.int64)
        grid = self.schema.time
        assert grid is not None
        values: np.ndarray
        values, valid, empty = (column[rows] for column in times)
        end = grid.start + grid.width * grid.count
        information = np.iinfo(np.int64)
        # A grid may reach past what a time of 64 bits can say.
        low, last = max(grid.start, information.min), min(end - 1, information.max)
        inside = (values >= low) & (values <= last)
        bounds = f"the grid {grid.start} to {end - 1}"
        rules: list[tuple[np.ndarray, Callable[[object], str]]] = [
            (empty, lambda _: f"the time is empty; edges of type {name!r} carry one"),
            (~valid & ~empty, no_time),
            (valid & ~inside, lambda v: f"the time {shown(v)} is outside {bounds}; {self.mend_time}"),
        ]
        for mask, explain in rules:
            if mask.any():
                faults.append(Fault(rows[mask], "time", explain))
        return values

    def keep(self, content: list[EdgeRows]) -> None:
        """Add the rows to their types."""
        for part in content:
            ends = [part.source.astype(np.int32), part.target.astype(np.int32)]
            if part.time is not None:
                ends.append(steps_of(self.schema, part.time))
                if part.edge_type.once or part.edge_type.ordered:
                    ends.append(part.time)
            self.parts[part.edge_type.name].add((*ends, *part.values.columns))
            self.clipped[part.edge_type.name] += part.values.clipped

    def columns(self, edge_type: EdgeType) -> tuple[EdgeTable, np.ndarray | None]:
        """Return the gathered rows of one type. Their raw times come with them where its declared facts or
        values need them.

        The rows are handed over: a second call gives none.
        """
        parts, self.parts[edge_type.name] = self.parts[edge_type.name], Gathered()
        timed = edge_type.once or edge_type.ordered
        width = 2 + edge_type.temporal + timed
        joined = parts.columns() or [np.empty(0, np.int32)] * (width + len(edge_type.attributes))
        step = joined[2] if edge_type.temporal else None
        names = [attribute.name for attribute in edge_type.attributes]
        values = EdgeValues(dict(zip(names, joined[width:], strict=True))) if names else None
        return EdgeTable(joined[0], joined[1], step, values), joined[3] if timed else None


def steps_of(schema: GraphSchema, time: np.ndarray) -> np.ndarray:
    """Find the step in which each time lies; int32. They lie inside the grid."""
    grid = schema.time
    assert grid is not None
    # In unsigned arithmetic the difference of two times inside the grid cannot overflow.
    offset = time.astype(np.uint64) - np.uint64(grid.start % 2**64)
    return (offset // np.uint64(grid.width)).astype(np.int32)


def pair_keys(edge_type: EdgeType, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Pack each pair into one unsigned 64-bit key. Undirected pairs within one type have no order."""
    low, high = source.astype(np.uint64), target.astype(np.uint64)
    if edge_type.homogeneous and not edge_type.directed:
        low, high = np.minimum(low, high), np.maximum(low, high)
    return low << np.uint64(32) | high


def broken_functional(table: EdgeTable) -> np.ndarray:
    """Find sources with more than one target. Up to 20 of canonical ``table`` are returned; O(m log m)."""
    pairs = np.unique(table.source.astype(np.uint64) << np.uint64(32) | table.target.astype(np.uint64))
    sources = (pairs >> np.uint64(32)).astype(np.int64)
    # Pairs are distinct by now: a source that stands twice has two targets.
    return np.unique(sources[1:][sources[1:] == sources[:-1]])[:MAX_VIOLATORS]


def broken_degrees(schema: GraphSchema, tables: Mapping[str, EdgeTable]) -> dict[str, np.ndarray]:
    """Find nodes with more edges than their bound. Up to 20 are returned by node type, in canonical tables;
    the bound is its ``degree_bound``.

    An edge counts at each end of the type, in every step; public relations do not count. O(m).
    """
    broken = {}
    for kind in schema.node_types:
        if kind.degree_bound is None:
            continue
        ends = [
            getattr(tables[each.name], side)
            for each in schema.edge_types
            for side in ("source", "target")
            if not each.public and getattr(each, side) == kind.name
        ]
        degrees = np.bincount(np.concatenate([np.empty(0, dtype=np.int64), *ends]))
        over = np.flatnonzero(degrees > kind.degree_bound)[:MAX_VIOLATORS]
        if len(over):
            broken[kind.name] = over
    return broken


def broken_once(edge_type: EdgeType, table: EdgeTable, time: np.ndarray) -> np.ndarray:
    """Find pair keys that occur at several times. Up to 20 are returned; loops do not count. O(m log m)."""
    keys = pair_keys(edge_type, table.source, table.target)
    if edge_type.homogeneous:
        kept = table.source != table.target
        keys, time = keys[kept], time[kept]
    order = np.lexsort((time, keys))
    keys, time = keys[order], time[order]
    # Sorted by pair and time: a pair of two times has them side by side somewhere.
    again = (keys[1:] == keys[:-1]) & (time[1:] != time[:-1])
    return np.unique(keys[1:][again])[:MAX_VIOLATORS]
