"""Records of what edges carry. They come one by one, each with the ends and the step of its edge; and which
of them count.

A relation of ``multiplicity`` ``each`` keeps every row of an edge as a record, ``records_per_slot`` at most;
of any other an edge is one record. Where one node pair's edges of all steps are protected together, at most
as many records of a pair count as an edge may have: a sample of its own, by a rule that looks at no other
pair.
"""

from __future__ import annotations

import numpy as np

from core.errors import InvalidInput, NotAccepted
from core.graphs.columns.tables import EdgeTable, EdgeValues
from core.graphs.schema import EdgeType
from core.graphs.schema.edge_attributes import EdgeAttribute, EdgeAttributeKind

NUMBER = "records of an edge"
"""How the number of an edge's records is called among what it carries; no attribute's name has spaces."""
RECORDS = "records"
"""The column of that number."""
SINGLE, GROWTH = 16, 1.25
"""Numbers of records up to the first are told apart; beyond, bins widen by the second."""


def number_of_records(relation: EdgeType) -> EdgeAttribute:
    """Declare the number of an edge's records. It is a value that the edge carries: 1 to the relation's
    cap."""
    most = relation.records_per_slot or 1
    cuts = [*range(2, min(most, SINGLE) + 1)]
    while cuts and (following := max(cuts[-1] + 1, int(cuts[-1] * GROWTH))) <= most and most > SINGLE:
        cuts.append(following)
    return EdgeAttribute(name=RECORDS, kind=EdgeAttributeKind.INTEGER, bounds=(1, most), cuts=tuple(cuts))


def asked_for(relation: EdgeType, attribute: str | None) -> EdgeAttribute:
    """Return the named attribute. For None it is the number of an edge's records; raises where there is
    none."""
    if attribute is None:
        if relation.merged:
            raise NotAccepted(f"every edge of {relation.name!r} has one record", field="edge_type")
        return number_of_records(relation)
    found = [each for each in relation.attributes if each.name == attribute]
    if not found:
        raise InvalidInput(f"{relation.name!r} declares no attribute {attribute!r}", field="attribute")
    return found[0]


def records_per_edge(table: EdgeTable) -> np.ndarray:
    """Count the records of every edge; int64 (m,)."""
    values = table.values
    if values is None or values.edge is None:
        return np.ones(table.count, dtype=np.int64)
    return np.bincount(values.edge, minlength=table.count).astype(np.int64)


def each_alone(table: EdgeTable) -> EdgeTable:
    """Give each record a row of its own. It has its edge's ends and step; it is as it stands where edges have
    one."""
    values = table.values
    if values is None or values.edge is None:
        return table
    return EdgeTable(*_of(table, values.edge), EdgeValues(values.columns))


def numbered(table: EdgeTable) -> EdgeTable:
    """Let every edge carry the number of its records, and nothing else."""
    return EdgeTable(table.source, table.target, table.step, EdgeValues({RECORDS: records_per_edge(table)}))


def counted(records: EdgeTable, most: int, by_pair: bool) -> EdgeTable:
    """Keep at most ``most`` records of every edge. ``by_pair``: of every node pair, of all steps together.

    ``records``: one row each, those of an edge beside one another. Kept are those that lie evenly in the
    order of time and value, beginning where a fixed function of the two ends says, as if at random. What a
    pair keeps depends on its own records alone. O(r), by pair O(r log r).
    """
    rows = _first(records, most, by_pair and records.step is not None)
    if rows is None:
        return records
    values = records.values
    kept = None if values is None else EdgeValues({name: c[rows] for name, c in values.columns.items()})
    return EdgeTable(*_of(records, rows), kept)


def _of(table: EdgeTable, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    return table.source[rows], table.target[rows], None if table.step is None else table.step[rows]


def _first(records: EdgeTable, most: int, by_pair: bool) -> np.ndarray | None:
    """Find the records that count, ascending; None: all."""
    order = np.lexsort((records.target, records.source)) if by_pair else None  # stable: by step, then value
    columns = [records.source, records.target]
    if not by_pair and records.step is not None:
        columns.append(records.step)
    new = np.zeros(records.count, dtype=bool)
    new[:1] = True
    for column in columns:
        own = column if order is None else column[order]
        new[1:] |= own[1:] != own[:-1]
    starts = np.flatnonzero(new)
    sizes = np.diff(starts, append=records.count)
    if not (sizes > most).any():
        return None
    group = np.cumsum(new) - 1
    rank, size = np.arange(records.count) - starts[group], sizes[group]
    place = starts if order is None else order[starts]
    begin = _scattered(records.source[place], records.target[place]) % sizes.astype(np.uint64)
    away = (rank - begin.astype(np.int64)[group]) % size
    # A record counts if ``away`` is floor(k * size / most) for a whole k:
    # if for any, then for the least k with k * size / most >= ``away``.
    following = -(-away * most // size)
    kept = (size <= most) | (following * size // most == away)
    return np.flatnonzero(kept) if order is None else np.sort(order[kept])


def _scattered(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Turn pairs into numbers that look random (the finaliser of SplitMix64, twice); uint64."""
    found = np.zeros(len(source), dtype=np.uint64)
    for column in (source, target):
        # The increment and the constants of Vigna's splitmix64.c (Stafford's variant 13).
        found = (found ^ column.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found ^= found >> np.uint64(31)
    return found


def with_numbers(table: EdgeTable, numbers: np.ndarray) -> tuple[EdgeTable, np.ndarray]:
    """Repeat every edge by its number of records. Returned is too of which edge each of them is."""
    edge = np.repeat(np.arange(table.count), numbers)
    return EdgeTable(*_of(table, edge)), edge
