"""A third key by groups of the rows that it names: by a public column of their table, or by their order.

Which rows a table lists and its public columns are known to all, and so are the groups. What is drawn is the
group; which of its rows a record names is then chosen evenly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphveil.problems import InvalidInput
from graphveil.sources.libraries import library
from graphveil.tables.mapping import Column, TableMapping

if TYPE_CHECKING:
    import pyarrow as pa

UNGROUPED = "(no group)"
"""The group of rows whose public column is null."""


def check_group(mapping: TableMapping, table: str, column: str, third: bool) -> None:
    """Check that a key's rows can be told apart by what it says; ``third``: no end of its table's rows."""
    said = mapping.tables[table].columns[column]
    where, other = f"tables.{table}.columns.{column}", mapping.tables[str(said.references)]
    if said.group is None:
        if third and mapping.keys == "fresh":
            raise InvalidInput(
                f"{table}.{column} is a third key, which is known by its name; say keys: public, name a "
                f"public column of {said.references} as its group, or withhold it",
                field=where,
            )
        return
    if not third:
        raise InvalidInput(
            f"{table}.{column} is an end of its rows, which are told apart one by one; leave group out",
            field=f"{where}.group",
        )
    if isinstance(said.group, int):
        if said.group < 1 or mapping.keys == "fresh":
            raise InvalidInput(
                f"{table}.{column} has groups by the order of keys, one at least, and fresh keys have no "
                f"order; name a public column of {said.references}, or say 1 and more",
                field=f"{where}.group",
            )
        return
    by = other.columns.get(said.group)
    if by is None or by.role != "public" or (mapping.keys == "fresh" and by.references):
        raise InvalidInput(
            f"{table}.{column} is grouped by {said.group!r}, which is no public column of {said.references}"
            f"{' that is no key' if mapping.keys == 'fresh' else ''}; name one, or say how many groups",
            field=f"{where}.group",
        )


def groups_of(said: Column, rows: pa.Table, key: str) -> pa.Array:
    """Name the group of each row of the table that a third key names: the row's own key, unless said."""
    pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
    if isinstance(said.group, str):
        return pc.fill_null(_whole(rows[said.group]).cast(pa.string()), UNGROUPED)
    held = _whole(rows[key])
    if said.group is None:
        return held.cast(pa.string())
    place = pc.subtract(pc.rank(held), 1).cast(pa.int64())
    return pc.divide(pc.multiply(place, said.group), len(held)).cast(pa.string())


def rows_of(groups: pa.Array, wanted: pa.Array) -> pa.Array:
    """Choose a row of each wanted group, any of them alike; null where there is no such group."""
    pa, pc = library("pyarrow", "tables"), library("pyarrow.compute", "tables")
    order = pc.sort_indices(groups).cast(pa.int64())
    counted = groups.take(order).value_counts()  # in that order
    names, sizes = counted.field("values"), counted.field("counts").cast(pa.int64())
    starts = pc.subtract(pc.cumulative_sum(sizes), sizes)
    place = pc.index_in(wanted, value_set=names)
    size = sizes.take(place)
    inside = pc.floor(pc.multiply(pc.random(len(wanted)), size.cast(pa.float64()))).cast(pa.int64())
    return order.take(pc.add(starts.take(place), pc.min_element_wise(inside, pc.subtract(size, 1))))


def _whole(column: Any) -> Any:
    pa = library("pyarrow", "tables")
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
