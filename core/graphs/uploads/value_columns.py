"""What edges carry, read from raw columns. There are codes, integers, numbers, seconds of a day, with their
faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns.arrays import as_text, codes_of, integers_of, is_text, numbers_of
from core.graphs.reading.truths import BOOLEANS, MEANING
from core.graphs.schema import EdgeType
from core.graphs.schema.edge_attributes import (
    DAY_SECONDS,
    LARGEST_INTEGER,
    LARGEST_NUMBER,
    SUMMED,
    Aggregate,
    EdgeAttribute,
    EdgeAttributeKind,
)
from core.graphs.uploads.findings import shown
from core.graphs.uploads.rows import Fault

_TIME = r"^(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9])(?:[.,][0-9]+)?)?$"
# From here on floats leave out integers.
_EXACT = 2.0**53
_NAMED = 8

Read = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Values, which of them are valid, and which cells are empty."""


@dataclass(frozen=True)
class ValueRows:
    """Columns of values in the declared order. Counted is how many of them were beyond bounds and may be
    clipped."""

    columns: tuple[np.ndarray, ...] = ()
    clipped: int = 0


def readable(kind: pa.DataType) -> bool:
    """Tell whether a column can hold values. Texts, numbers, truth values and times of day can."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return is_text(kind) or numeric or types.is_boolean(kind) or types.is_time(kind)


def read_values(
    edge_type: EdgeType, table: pa.Table, rows: np.ndarray, time: np.ndarray | None, faults: list[Fault]
) -> ValueRows:
    """Read what the ``rows`` of one edge type carry; ``time`` is theirs. Each cell is judged by itself."""
    columns, clipped = [], 0
    for attribute in edge_type.attributes:
        name = attribute.name
        if name in table.column_names:
            whole = len(rows) == table.num_rows
            column = table[name] if whole else table[name].take(pa.array(rows))
            read, beyond = _column(edge_type.name, attribute, column, rows, faults)
            columns.append(read)
            clipped += beyond
        elif attribute.from_time:
            assert time is not None  # the schema says so
            columns.append((time % DAY_SECONDS).astype(np.int32))
        elif attribute.aggregate is Aggregate.COUNT:
            columns.append(np.ones(len(rows), dtype=np.int64))
        else:
            faults.append(Fault(rows, name, partial(_missing, edge_type.name, name)))
            columns.append(np.zeros(len(rows), dtype=np.int32))
    return ValueRows(tuple(columns), clipped)


def refuse_values(
    edge_type: EdgeType, names: Sequence[str], table: pa.Table, rows: np.ndarray, faults: list[Fault]
) -> None:
    """Find cells of attributes declared elsewhere. Other edge types declare them, but this one does not."""
    own = {attribute.name for attribute in edge_type.attributes}
    for name in names:
        if name not in own and name in table.column_names:
            column = table[name].take(pa.array(rows))
            held = rows[~_empty(column)]
            if len(held):
                faults.append(Fault(held, name, partial(_undeclared, edge_type.name, name)))


def _missing(relation: str, name: str, _: object) -> str:
    return f"edges of type {relation!r} carry {name!r}; add the column"


def _undeclared(relation: str, name: str, _: object) -> str:
    return f"edges of type {relation!r} carry no {name!r}; leave it empty or declare it"


def _column(
    relation: str, attribute: EdgeAttribute, column: pa.ChunkedArray, rows: np.ndarray, faults: list[Fault]
) -> tuple[np.ndarray, int]:
    name, (low, high) = attribute.name, attribute.range
    values, valid, empty = _READERS[attribute.kind](attribute, column)
    inside = (values >= low) & (values <= high)
    # A sum is judged when it is made; a record of it need only be a number that can be added up.
    summed = attribute.aggregate in SUMMED
    bounded = np.abs(values) <= _most(attribute) if summed or attribute.clip else inside
    beyond = valid & ~inside & bounded if attribute.clip and not summed else np.zeros(len(rows), dtype=bool)
    rules: list[tuple[np.ndarray, Callable[[object], str]]] = [
        (empty, lambda _: f"{name!r} is empty; edges of type {relation!r} carry it"),
        (~valid & ~empty, partial(_EXPLAINED[attribute.kind], attribute)),
        (valid & ~bounded, partial(_outside, attribute, summed)),
    ]
    for mask, explain in rules:
        if mask.any():
            faults.append(Fault(rows[mask], name, explain))
    values = np.where(valid & bounded, np.clip(values, low, high) if beyond.any() else values, 0)
    kind = np.float64 if attribute.kind is EdgeAttributeKind.NUMBER else np.int64
    return values.astype(kind if summed else _STORED[attribute.kind]), int(np.count_nonzero(beyond))


def _most(attribute: EdgeAttribute) -> float:
    """Return what a record may be at most for sums of any number of them to be exact, or finite."""
    return LARGEST_NUMBER if attribute.kind is EdgeAttributeKind.NUMBER else LARGEST_INTEGER


def _outside(attribute: EdgeAttribute, summed: bool, value: object) -> str:
    if summed or attribute.clip:
        return f"{attribute.name!r} is {shown(value)}, beyond {_most(attribute):g}; use a larger unit"
    low, high = attribute.range
    mend = "mend it, declare wider bounds, or clip" if attribute.numeric else "mend it"
    return f"{attribute.name!r} is {shown(value)}, outside {low:g} to {high:g}; {mend}"


def _empty(column: pa.ChunkedArray) -> np.ndarray:
    if not (is_text(column.type) or pa.types.is_dictionary(column.type)):
        missing: np.ndarray = column.is_null().to_numpy()
        return missing
    text = pc.utf8_trim_whitespace(pc.fill_null(as_text(column), ""))
    blank: np.ndarray = pc.equal(text, "").to_numpy()
    return blank


def _categories(attribute: EdgeAttribute, column: pa.ChunkedArray) -> Read:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.string())
    known = pa.array(attribute.categories, type=pa.string())
    codes = codes_of(column, known)
    # Where the categories are words for yes and no, other words for them count too.
    if set(known.to_pylist()) <= set(BOOLEANS) and (codes < 0).any():
        codes = codes_of(_in_one_spelling(as_text(column)), known)
    valid = codes >= 0
    return codes, valid, ~valid & _empty(column)


def read_integers(column: pa.ChunkedArray) -> Read:
    """Read whole numbers, in decimal or as floats that have no fraction."""
    if pa.types.is_floating(column.type):
        numbers, _ = numbers_of(column)
        whole = (np.abs(numbers) < _EXACT) & (np.floor(numbers) == numbers)  # false for NaN
        return np.where(whole, numbers, 0).astype(np.int64), whole, column.is_null().to_numpy()
    if not pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    return integers_of(column)


def read_numbers(column: pa.ChunkedArray) -> Read:
    """Read finite numbers."""
    values, bad = numbers_of(column)
    valid = ~bad & np.isfinite(values)
    return np.where(valid, values, 0.0), valid, _empty(column)


def read_day_seconds(column: pa.ChunkedArray) -> Read:
    """Read times of day as seconds. They count since midnight: 08:30, 08:30:00, Arrow's times, or the
    seconds."""
    if pa.types.is_time(column.type):
        empty = column.is_null().to_numpy()
        # ``safe=False``: what is finer than a microsecond is cut off.
        micros = pc.fill_null(column.cast(pa.time64("us"), safe=False).cast(pa.int64()), 0).to_numpy()
        return micros // 10**6, ~empty, empty
    values, valid, empty = read_integers(column)
    rest = np.flatnonzero(~valid & ~empty)
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        text = pl.from_arrow(pc.utf8_trim_whitespace(as_text(column).take(pa.array(rest))))
        assert isinstance(text, pl.Series)
        parts = text.str.extract_groups(_TIME).struct.unnest()
        found = ~parts["hour"].is_null().to_numpy()
        seconds = np.zeros(len(rest), dtype=np.int64)
        for name, size in (("hour", 3600), ("minute", 60), ("second", 1)):
            seconds += size * parts[name].fill_null("0").cast(pl.Int64).to_numpy()
        values, valid = values.copy(), valid.copy()
        values[rest[found]], valid[rest[found]] = seconds[found], True
    return values, valid, empty


_READERS: dict[EdgeAttributeKind, Callable[[EdgeAttribute, pa.ChunkedArray], Read]] = {
    EdgeAttributeKind.CATEGORY: _categories,
    EdgeAttributeKind.INTEGER: lambda _, column: read_integers(column),
    EdgeAttributeKind.NUMBER: lambda _, column: read_numbers(column),
    EdgeAttributeKind.TIME_OF_DAY: lambda _, column: read_day_seconds(column),
}
_STORED = dict.fromkeys(EdgeAttributeKind, np.int32) | {EdgeAttributeKind.NUMBER: np.float64}


def _no_category(attribute: EdgeAttribute, value: object) -> str:
    known = attribute.categories or ()
    named = ", ".join(known[:_NAMED]) + (f" and {len(known) - _NAMED} more" if len(known) > _NAMED else "")
    return f"{attribute.name!r} has no category {shown(value)}; declare it, or use one of {named}"


_EXPLAINED: dict[EdgeAttributeKind, Callable[[EdgeAttribute, object], str]] = {
    EdgeAttributeKind.CATEGORY: _no_category,
    EdgeAttributeKind.INTEGER: lambda a, v: f"{a.name!r} is {shown(v)}, which is no integer; write one",
    EdgeAttributeKind.NUMBER: lambda a, v: f"{a.name!r} is {shown(v)}, which is no finite number; write one",
    EdgeAttributeKind.TIME_OF_DAY: lambda a, v: (
        f"{a.name!r} is {shown(v)}, which is no time of day; write 08:30, 08:30:00, or seconds since midnight"
    ),
}


def _in_one_spelling(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write words for yes and no as true and false; other texts stay as they are."""
    words = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    found = pc.index_in(words, value_set=pa.array(list(MEANING)))
    return pc.coalesce(pa.array(list(MEANING.values())).take(found), column)
