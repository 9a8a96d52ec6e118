"""Canonical form: one row for each (source, target, step), oriented, sorted, read-only.

Rows are packed into one unsigned 64-bit key where the public bounds allow (nodes and steps need at most 64
bits together), so that sorting and merging work on a single flat column; else they are sorted column-wise.
Dropping loops and merging exact duplicates is 1-Lipschitz: one raw row more changes at most one edge. What an
edge carries is made of its own rows alone (:mod:`core.graphs.columns.merging`), so that this holds with
values too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from core.graphs.columns.key_sort import STRETCH, distinct, sorted_keys, stretches
from core.graphs.columns.merging import Fault, checked, faults_of, merge_values
from core.graphs.columns.tables import EdgeTable, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType

_INT32_MAX = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Merged:
    """Canonical edges and what canonicalisation removed; the counts are private.

    ``faults``: edges whose values are not as declared; ``clipped``: of how many sums were set to a bound.
    """

    edges: EdgeTable
    loops_dropped: int
    duplicates_merged: int
    faults: tuple[Fault, ...] = ()
    clipped: int = 0


def canonical_edges(
    schema: GraphSchema, edge_type: EdgeType, nodes: Mapping[str, NodeTable], table: EdgeTable
) -> EdgeTable:
    """Canonicalise ``table`` in read-only columns: int32 where the counts allow, else int64.

    Raises ValueError when a column, an index, a step or a value lies outside the schema. O(m log m) time,
    about 16 bytes an edge beyond input and output, and as many again where edges carry values. Rows that are
    canonical as they stand take no more than their copy, and none where their columns are read-only.
    """
    merged = merge_edges(schema, edge_type, nodes, table)
    if merged.faults:
        what = merged.faults[0].attribute
        problem = "has too many records of one edge" if what is None else f"leaves the range of {what!r}"
        raise ValueError(f"edge type {edge_type.name!r} {problem}")
    return merged.edges


def merge_edges(
    schema: GraphSchema,
    edge_type: EdgeType,
    nodes: Mapping[str, NodeTable],
    table: EdgeTable,
    time: np.ndarray | None = None,
) -> Merged:
    """Canonicalise as :func:`canonical_edges`, and count self-loops dropped and duplicates merged.

    Values that break the schema are told, not raised. ``time``: of each row, where it orders their values.
    """
    source_count, target_count = nodes[edge_type.source].count, nodes[edge_type.target].count
    _check(edge_type, schema.steps, source_count, target_count, table)
    source, target, step = table.source, table.target, table.step
    values = checked(edge_type, table)
    loops = 0
    if values is None and _stands(edge_type, table):
        return Merged(EdgeTable(*_narrow(source, target, step, source_count, target_count)), 0, 0)
    source_bits, target_bits = (source_count - 1).bit_length(), (target_count - 1).bit_length()
    step_bits = 0 if step is None else (schema.steps - 1).bit_length()
    mirrored = edge_type.homogeneous and not edge_type.directed
    if values is None and source_bits + target_bits + step_bits <= 64:
        source, target, step, merged, loops = _merge_packed(
            source, target, step, source_bits, target_bits, loops=not edge_type.homogeneous, mirrored=mirrored
        )
        source, target, step = _narrow(source, target, step, source_count, target_count)
        return Merged(EdgeTable(source, target, step), loops, merged)
    if edge_type.homogeneous:
        kept = source != target
        loops = len(kept) - int(np.count_nonzero(kept))
        if loops:
            source, target = source[kept], target[kept]
            step = None if step is None else step[kept]
            values = None if values is None else values.of_edges(kept, len(kept))
            time = None if time is None else time[kept]
    # One orientation for the two that a row may have: the smaller number first.
    if mirrored:
        source, target = np.minimum(source, target), np.maximum(source, target)
    place = None
    if values is not None:
        source, target, step, merged, place = _merge_places(
            source, target, step, (source_bits, target_bits, step_bits)
        )
    else:
        source, target, step, merged = _merge_columns(source, target, step)
    source, target, step = _narrow(source, target, step, source_count, target_count)
    if values is None:
        return Merged(EdgeTable(source, target, step), loops, merged)
    records = values.count
    values, clipped = merge_values(edge_type, values, place, len(source), time)
    # Where each record stays, what merging has left out are records, not edges.
    if values.edge is not None:
        merged = records - values.count
    faults = faults_of(edge_type, values)
    return Merged(EdgeTable(source, target, step, values), loops, merged, faults, clipped)


def _narrow(
    source: np.ndarray, target: np.ndarray, step: np.ndarray | None, source_count: int, target_count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return read-only columns of the canonical types, to which no writer is left behind.

    What comes read-only, of that type and in an array of its own is kept as it is.
    """
    width = [np.int32 if count - 1 <= _INT32_MAX else np.int64 for count in (source_count, target_count)]
    steps = None if step is None else frozen(step.astype(np.int32, copy=False))
    return (
        frozen(source.astype(width[0], copy=False)),
        frozen(target.astype(width[1], copy=False)),
        steps,
    )


def _stands(edge_type: EdgeType, table: EdgeTable) -> bool:
    """Tell whether the rows are canonical as they stand, a stretch at a time. O(m)."""
    columns = [column for column in (table.step, table.source, table.target) if column is not None]
    for first in range(0, table.count, STRETCH):
        source, target = (column[first : first + STRETCH] for column in (table.source, table.target))
        if edge_type.homogeneous and not edge_type.directed and not bool(np.all(source < target)):
            return False
        if edge_type.homogeneous and edge_type.directed and bool(np.any(source == target)):
            return False
        later = np.zeros(len(source) - 1 + bool(first), dtype=bool)
        same = ~later
        for column in columns:  # the first in which two neighbours differ decides
            piece = column[max(first - 1, 0) : first + STRETCH]
            later |= same & (piece[1:] > piece[:-1])
            same &= piece[1:] == piece[:-1]
        if not later.all():
            return False
    return True


def _check(edge_type: EdgeType, steps: int, source_count: int, target_count: int, table: EdgeTable) -> None:
    if (table.step is not None) != edge_type.temporal:
        state = "temporal" if edge_type.temporal else "not temporal"
        raise ValueError(f"edge type {edge_type.name!r} is {state}; its step column says otherwise")
    bounds = {"source": (table.source, source_count), "target": (table.target, target_count)}
    if table.step is not None:
        bounds["step"] = (table.step, steps)
    for name, (column, bound) in bounds.items():
        if column.ndim != 1 or len(column) != len(table.source):
            raise ValueError(f"column {name!r} of edge type {edge_type.name!r} has another length")
        if column.dtype.kind not in "iu":
            raise ValueError(f"column {name!r} of edge type {edge_type.name!r} must hold integers")
        if len(column) and int(column.view(f"u{column.itemsize}").max()) >= bound:  # negative ones are large
            raise ValueError(f"column {name!r} of edge type {edge_type.name!r} leaves 0..{bound - 1}")


_Columns = tuple[np.ndarray, np.ndarray, np.ndarray | None, int]


def _merge_packed(
    source: np.ndarray,
    target: np.ndarray,
    step: np.ndarray | None,
    source_bits: int,
    target_bits: int,
    *,
    loops: bool = True,
    mirrored: bool = False,
) -> tuple[*_Columns, int]:
    """Merge by keys. The last number counts loops that were dropped, where they are not to stay."""
    shift = np.uint64(min(source_bits + target_bits, 63))  # 64 is undefined in C; then every step is 0
    keys, count = np.empty(len(source), dtype=np.uint64), 0
    for rows in stretches(len(source)):
        low, high = source[rows], target[rows]
        if mirrored:
            low, high = np.minimum(low, high), np.maximum(low, high)
        # Step, source, target, from the highest bits down: keys sort as canonical rows do.
        key = low.astype(np.uint64) << np.uint64(target_bits) | high.astype(np.uint64)
        if step is not None:
            key |= step[rows].astype(np.uint64) << shift
        if not loops and not (kept := low != high).all():
            key = key[kept]
        keys[count : count + len(key)] = key
        count += len(key)
    dropped, made = len(source) - count, 0
    ordered = sorted_keys(keys[:count])
    if max(source_bits, target_bits) > 31:
        room = np.empty(2 * count, np.int64)
    else:  # what was sorted from is free, unless it was sorted in place
        room = (np.empty_like(keys) if np.may_share_memory(keys, ordered) else keys).view(np.int32)
    source, target = room[:count], room[count : 2 * count]
    step = None if step is None else np.zeros(count, np.int32)
    for key in distinct(ordered):
        rows = slice(made, made + len(key))
        target[rows] = key & np.uint64((1 << target_bits) - 1)
        source[rows] = key >> np.uint64(target_bits) & np.uint64((1 << source_bits) - 1)
        if step is not None and source_bits + target_bits < 64:
            step[rows] = key >> shift
        made += len(key)
    keys.flags.writeable = room.flags.writeable = made < count // 2  # copied, where few are left of them
    source, target, step = room[:made], room[count : count + made], None if step is None else step[:made]
    return source, target, step, count - made, dropped


def _merge_places(
    source: np.ndarray, target: np.ndarray, step: np.ndarray | None, bits: tuple[int, int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int, np.ndarray | None]:
    """Merge, and tell which edge each row became: int64, None where rows are canonical as they stand."""
    if sum(bits) <= 63:
        key = source.astype(np.uint64) << np.uint64(bits[1]) | target.astype(np.uint64)
        keys = [key if step is None else step.astype(np.uint64) << np.uint64(bits[0] + bits[1]) | key]
    else:
        keys = [target, source] if step is None else [target, source, step]
    # Keys that ascend strictly are canonical as they stand: nothing is moved.
    if len(keys) == 1 and bool(np.all(keys[0][1:] > keys[0][:-1])):
        return source, target, step, 0, None
    order = np.lexsort(keys) if len(keys) > 1 else np.argsort(keys[0], kind="stable")
    first = np.ones(len(order), dtype=bool)
    if len(order):
        changes = (each[1:] != each[:-1] for each in (column[order] for column in keys))
        first[1:] = np.logical_or.reduce(list(changes))
    if first.all() and bool(np.all(order[1:] > order[:-1])):
        return source, target, step, 0, None
    place = np.empty(len(order), dtype=np.int64)
    # A row's edge is the number of first rows up to it, from 0.
    place[order] = np.cumsum(first) - 1
    kept = order[first]
    step = None if step is None else step[kept]
    return source[kept], target[kept], step, len(order) - len(kept), place


def _merge_columns(source: np.ndarray, target: np.ndarray, step: np.ndarray | None) -> _Columns:
    keys = [target, source] if step is None else [target, source, step]
    # The last key of lexsort is the first that it sorts by.
    order = np.lexsort(keys)
    columns = [column[order] for column in keys]
    first = np.ones(len(order), dtype=bool)
    if len(order):
        first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    merged = len(order) - int(np.count_nonzero(first))
    columns = [column[first] for column in columns]
    return columns[1], columns[0], columns[2] if step is not None else None, merged


def canonical_nodes(schema: GraphSchema, nodes: Mapping[str, NodeTable]) -> dict[str, NodeTable]:
    """Put node tables into the schema's order. Their columns are read-only; ValueError where they break the
    schema."""
    if unknown := set(nodes) - {node_type.name for node_type in schema.node_types}:
        raise ValueError(f"nodes of undeclared types: {sorted(unknown)}")
    tables = {}
    for node_type in schema.node_types:
        table = nodes.get(node_type.name)
        if table is None:
            if node_type.count is None:
                raise ValueError(f"nodes of type {node_type.name!r} are missing and no count is declared")
            table = NodeTable(node_type.count)
        tables[node_type.name] = _canonical_table(node_type, table)
    return tables


def _canonical_table(node_type: NodeType, table: NodeTable) -> NodeTable:
    what = f"node type {node_type.name!r}"
    if node_type.count is not None and node_type.count != table.count:
        raise ValueError(f"{what} declares {node_type.count} nodes, but {table.count} are given")
    if table.ids is not None and len(table.ids) != table.count:
        raise ValueError(f"{what} has {table.count} nodes, but {len(table.ids)} ids")
    declared = {attribute.name for attribute in node_type.attributes}
    columns: dict[str, np.ndarray | pa.Array] = {}
    for name, column in table.attributes.items():
        if name not in declared:
            raise ValueError(f"{what} carries the undeclared attribute {name!r}; declare its protection")
        if len(column) != table.count:
            raise ValueError(f"attribute {name!r} of {what} has {len(column)} values for {table.count} nodes")
        columns[name] = frozen(column) if isinstance(column, np.ndarray) else column
    return NodeTable(table.count, table.ids, MappingProxyType(columns))


def frozen(column: np.ndarray) -> np.ndarray:
    """Return the same values in a read-only array. They are copied unless it owns its data."""
    # Read-only, and no view of what somebody may still write to.
    if not column.flags.writeable and (column.base is None or not _writeable(column.base)):
        return column
    column = column.copy() if column.base is not None or column.flags.writeable else column
    column.flags.writeable = False
    return column


def _writeable(base: object) -> bool:
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return True
        base = base.base
    return False
