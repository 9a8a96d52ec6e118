"""The values of an edge, made of its rows. They are merged by declared aggregates, or kept up to a declared
cap.

Every rule here reads the rows of one edge alone (of one snapshot, where edges carry time), and gives the same
for any order of the rows. One raw row more therefore changes the values of at most one edge, which is the
unit of ``edge`` and ``event``: with values too, ingest is 1-Lipschitz.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from core.graphs.columns.tables import EdgeTable, EdgeValues
from core.graphs.schema import EdgeType
from core.graphs.schema.edge_attributes import (
    IN_TIME,
    LARGEST_INTEGER,
    SUMMED,
    Aggregate,
    EdgeAttribute,
    EdgeAttributeKind,
    Overflow,
)

MAX_NAMED = 20


@dataclass(frozen=True)
class Fault:
    """Places of edges whose values break the schema. They are outside the attribute's range; or, where it is
    None, of too many records. The first few.
    """

    attribute: str | None
    edges: np.ndarray


def checked(edge_type: EdgeType, table: EdgeTable) -> EdgeValues | None:
    """Return the table's values, None without. ValueError where their columns are not those declared."""
    values, what = table.values, f"edge type {edge_type.name!r}"
    if values is None:
        return None
    declared = {attribute.name for attribute in edge_type.attributes}
    if set(values.columns) != declared:
        strange = sorted(set(values.columns) ^ declared)
        raise ValueError(f"{what} carries {strange[0]!r} undeclared, or not although declared")
    owners = table.count if values.edge is None else len(values.edge)
    for attribute in edge_type.attributes:
        column = values.columns[attribute.name]
        if column.shape != (owners,):
            raise ValueError(f"attribute {attribute.name!r} of {what} has another length")
        wanted = "if" if attribute.kind is EdgeAttributeKind.NUMBER else "i"
        if column.dtype.kind not in wanted:
            raise ValueError(f"attribute {attribute.name!r} of {what} holds {column.dtype}")
    if values.edge is not None and owners and not 0 <= values.edge.min() <= values.edge.max() < table.count:
        raise ValueError(f"a value of {what} belongs to no edge")
    return values


def merge_values(
    edge_type: EdgeType, values: EdgeValues, place: np.ndarray | None, edges: int, time: np.ndarray | None
) -> tuple[EdgeValues, int]:
    """Make the values of ``edges`` from their rows. ``place`` says which edge a row became.

    None: each row is an edge, in order. ``time``: of each record, where times order them. Columns are
    read-only. Returns how many sums were set to a bound, too. O(r log r) for r records of edges that have
    several.
    """
    owner = values.edge
    if place is not None:
        owner = place if owner is None else place[owner]
    clipped = {a.name: _clipped(a, values.columns[a.name]) for a in edge_type.attributes}
    if not edge_type.merged:
        return _each(edge_type, clipped, np.arange(edges) if owner is None else owner, time), 0
    if owner is None:
        return _sealed(edge_type, clipped, None), _sums_outside(edge_type, clipped)
    sizes = np.bincount(owner, minlength=edges)
    if edges and not sizes.min():
        raise ValueError(f"an edge of type {edge_type.name!r} carries nothing")
    # What has one record, as most edges do, needs no sorting.
    several = sizes[owner] > 1
    alone, rest = np.flatnonzero(~several), np.flatnonzero(several)
    own = owner[rest]
    columns = {}
    for attribute in edge_type.attributes:
        column = clipped[attribute.name]
        merged = np.empty(edges, dtype=column.dtype)
        merged[owner[alone]] = column[alone]
        if len(rest):
            # By edge, by time where it counts, then by value:
            # nothing is left of the order in which rows came.
            keys = [column[rest], own]
            if attribute.aggregate in IN_TIME and time is not None:
                keys.insert(1, time[rest])
            order = np.lexsort(keys)
            # Edges are numbered from 0: -1 differs from the first of them.
            starts = np.flatnonzero(np.diff(own[order], prepend=-1))
            made = _AGGREGATES[attribute.aggregate or Aggregate.MAX](column[rest][order], starts)
            merged[own[order][starts]] = made
        columns[attribute.name] = merged
    return _sealed(edge_type, columns, None), _sums_outside(edge_type, columns)


def _sums_outside(edge_type: EdgeType, columns: Mapping[str, np.ndarray]) -> int:
    """Count the sums that clipping sets to a bound."""
    found = 0
    for attribute in edge_type.attributes:
        if attribute.clip and attribute.aggregate in SUMMED:
            (low, high), column = attribute.range, columns[attribute.name]
            found += int(np.count_nonzero((column < low) | (column > high)))
    return found


def _sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sum each edge's values, in ascending order, so that no other row changes how they are rounded."""
    return np.add.reduceat(values, starts)


def _means(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Take each edge's mean; of integers the nearest one, the even one of two."""
    mean = np.add.reduceat(values, starts) / np.diff(starts, append=len(values))
    return mean if values.dtype.kind == "f" else np.rint(mean).astype(np.int64)


_AGGREGATES: Mapping[Aggregate, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    Aggregate.SUM: _sums,
    Aggregate.COUNT: _sums,
    Aggregate.MEAN: _means,
    Aggregate.MIN: np.minimum.reduceat,
    Aggregate.MAX: np.maximum.reduceat,
    Aggregate.FIRST: lambda values, starts: values[starts],
    Aggregate.LAST: lambda values, starts: values[np.append(starts[1:], len(values)) - 1],
}
"""Of values sorted by edge, then (for FIRST and LAST) time, then value; ``starts``: of each edge's values."""


def _each(
    edge_type: EdgeType, columns: Mapping[str, np.ndarray], owner: np.ndarray, time: np.ndarray | None
) -> EdgeValues:
    """Keep the records of each edge, sorted by their values; at most the cap, where a rule chooses them."""
    cap, held = edge_type.records_per_slot, [*columns.values()]
    if time is not None and edge_type.overflow is not Overflow.REFUSE:
        # Of one time the values decide: the order in which rows came must not.
        order = np.lexsort([*held[::-1], time, owner])
        sizes = np.bincount(owner[order])
        starts = np.cumsum(sizes) - sizes
        # Each edge's records are numbered from 0, in that order.
        rank = np.arange(len(order)) - starts[owner[order]]
        if edge_type.overflow is Overflow.LAST:
            rank = sizes[owner[order]] - 1 - rank
        kept = order[rank < cap]
        columns, owner = {name: column[kept] for name, column in columns.items()}, owner[kept]
        held = [*columns.values()]
    if not bool(np.all(owner[1:] > owner[:-1])):
        order = np.lexsort([*held[::-1], owner])
        columns, owner = {name: column[order] for name, column in columns.items()}, owner[order]
    return _sealed(edge_type, columns, owner)


def _clipped(attribute: EdgeAttribute, column: np.ndarray, *, stored: bool = False) -> np.ndarray:
    """Widen integers for arithmetic, and clip what may be clipped: records, but of sums what is stored."""
    number = attribute.kind is EdgeAttributeKind.NUMBER
    column = column.astype(np.float64 if number else np.int64, copy=False)
    if attribute.clip and (stored or attribute.aggregate not in SUMMED):
        column = np.clip(column, *attribute.range)
    return column


def _sealed(edge_type: EdgeType, columns: Mapping[str, np.ndarray], edge: np.ndarray | None) -> EdgeValues:
    """Make fresh read-only columns in the declared order. What leaves int32 is out of bounds anyway: its
    nearest end is stored, and found by :func:`faults_of`."""
    made = {}
    for attribute in edge_type.attributes:
        column = _clipped(attribute, columns[attribute.name], stored=True)
        if attribute.kind is EdgeAttributeKind.NUMBER:
            made[attribute.name] = column.astype(np.float64)
        else:
            made[attribute.name] = np.clip(column, -LARGEST_INTEGER - 1, LARGEST_INTEGER + 1).astype(np.int32)
    if edge is not None:
        edge = edge.astype(np.int64)
    for column in (*made.values(), *([] if edge is None else [edge])):
        column.flags.writeable = False
    return EdgeValues(made, edge)


def faults_of(edge_type: EdgeType, values: EdgeValues) -> tuple[Fault, ...]:
    """Find edges with values that break the declaration. They lie outside the declared range, or have more
    records than declared."""
    faults = []
    for attribute in edge_type.attributes:
        low, high = attribute.range
        column = values.columns[attribute.name]
        outside = np.flatnonzero(~((column >= low) & (column <= high)))  # NaN is outside too
        if len(outside):
            edges = outside if values.edge is None else values.edge[outside]
            faults.append(Fault(attribute.name, np.unique(edges)[:MAX_NAMED]))
    if values.edge is not None and edge_type.records_per_slot is not None and len(values.edge):
        crowded = np.flatnonzero(np.bincount(values.edge) > edge_type.records_per_slot)
        if len(crowded):
            faults.append(Fault(None, crowded[:MAX_NAMED]))
    return tuple(faults)
