"""Convert raw columns to numbers, vectorised. -1 or a mask stands where a value does not fit."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

_INTEGER = r"^-?[0-9]+$"
_NUMBER = r"^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$"
# ISO 8601's extended form, and what databases write: a space for the T, an offset without its colon.
_DATE_TIME = (
    r"^(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9])(?:[.,][0-9]+)?)?"
    r"(?: ?(?P<zone>[zZ]|UTC|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?))?)?$"
)
_EXACT = 2**53  # a float below it is its own integer part, exactly


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a type is one of strings, of any layout."""
    text: bool = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return text


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert the values to plain strings; integers in decimal."""
    return column if column.type == pa.string() else column.cast(pa.string())


def codes_of(column: pa.ChunkedArray, values: pa.Array) -> np.ndarray:
    """Find the position of each value in ``values``. These are distinct strings; -1 where it is none of them;
    int64.

    Dictionary columns are looked up once for each distinct value. O(rows + len(values)), hashing.
    """
    if not pa.types.is_dictionary(column.type):
        indices = pc.index_in(column.cast(values.type), value_set=values)
        places: np.ndarray = pc.fill_null(indices, -1).to_numpy().astype(np.int64)
        return places
    column = column.unify_dictionaries()
    if not column.num_chunks:
        return np.empty(0, dtype=np.int64)
    # Every chunk shares one dictionary now. A null index becomes -1 and reads the extra last place.
    distinct = column.chunk(0).dictionary.cast(values.type)
    place = pc.fill_null(pc.index_in(distinct, value_set=values), -1).to_numpy(zero_copy_only=False)
    place = np.append(place, -1).astype(np.int64)
    parts = [pc.fill_null(chunk.indices, -1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    of_rows: np.ndarray = place[np.concatenate(parts)]
    return of_rows


def integers_of(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read integers as ``(values, valid, empty)``. Values are int64 where ``valid``; ``empty`` marks null and
    blank entries.

    Text counts as an integer when it is decimal and fits 64 bits; a minus and spaces around it are allowed.
    """
    if pa.types.is_integer(column.type):
        empty = column.is_null().to_numpy()
        fits = np.ones(len(column), dtype=bool)
        # Arrow refuses to cast what is beyond int64, so that those are masked before.
        if column.type == pa.uint64():
            fits = pc.fill_null(pc.less(column, pa.scalar(2**63, pa.uint64())), False).to_numpy()
            column = pc.if_else(pa.chunked_array([pa.array(fits)]), column, pa.scalar(0, pa.uint64()))
        values = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
        return values, fits & ~empty, empty
    text = pc.utf8_trim_whitespace(pc.fill_null(as_text(column), ""))
    empty = pc.equal(text, "").to_numpy()
    # A parser may take other spellings, such as a leading plus: the pattern decides.
    decimal = pc.match_substring_regex(text, _INTEGER).to_numpy()
    # Arrow's cast fails for a whole column at one bad value; Polars gives null for that value alone.
    parsed = pl.from_arrow(text).cast(pl.Int64, strict=False)
    assert isinstance(parsed, pl.Series)
    valid = decimal & ~parsed.is_null().to_numpy()
    return parsed.fill_null(0).to_numpy(), valid, empty


def is_time(kind: pa.DataType) -> bool:
    """Tell whether a type can be a time. Numbers, dates and timestamps can, text cannot."""
    types = pa.types
    timely: bool = (
        types.is_integer(kind) or types.is_floating(kind) or types.is_date(kind) or types.is_timestamp(kind)
    )
    return timely


def times_of(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read ``(values, valid, empty)`` as :func:`integers_of`. Dates become the seconds since 1970 in UTC.

    Text may be an integer, a number, or an ISO 8601 date or datetime (UTC where it names no offset). What is
    finer than one unit is cut off, downwards: each value by itself, so that no row changes another's time.
    """
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        empty = column.is_null().to_numpy()
        parts = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
        stamps = column if pa.types.is_timestamp(kind) else column.cast(pa.timestamp("s"))
        ticks = pc.fill_null(stamps.cast(pa.int64()), 0).to_numpy()
        # Rounded down for times before 1970 too.
        return ticks // parts[stamps.type.unit], ~empty, empty
    if pa.types.is_floating(kind):
        values, _ = numbers_of(column)
        return *_floored(values), column.is_null().to_numpy()
    values, valid, empty = integers_of(column)
    # Only what is no integer is looked at again: in most files that is nothing.
    rest = np.flatnonzero(~valid & ~empty)
    if pa.types.is_integer(kind) or not len(rest):
        return values, valid, empty
    values, valid = values.copy(), valid.copy()
    text = pc.utf8_trim_whitespace(as_text(column).take(pa.array(rest)))
    numeric = pc.match_substring_regex(text, _NUMBER).to_numpy()
    numbers, _ = numbers_of(pc.if_else(pa.chunked_array([pa.array(numeric)]), text, None))
    whole = pc.match_substring_regex(text, _INTEGER).to_numpy()  # one beyond 64 bits
    floored, fits = _floored(numbers)
    seconds, dated = _seconds_of(text)
    values[rest] = np.where(dated, seconds, floored)
    valid[rest] = dated | (fits & ~whole)
    return values, valid, empty


def _floored(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Round the numbers down to integers, and mark which of them are exact."""
    fits = np.abs(values) < _EXACT  # false for NaN
    return np.floor(np.where(fits, values, 0)).astype(np.int64), fits


def _seconds_of(text: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Count seconds since 1970 in UTC, and mark the texts that are dates, with or without a time of day."""
    series = pl.from_arrow(text)
    assert isinstance(series, pl.Series)
    fields = series.str.extract_groups(_DATE_TIME).struct.unnest()
    # A day that no calendar has becomes null.
    days = fields["day"].str.to_date("%Y-%m-%d", strict=False)
    valid = ~days.is_null().to_numpy()
    seconds = days.fill_null(date(1970, 1, 1)).to_numpy().astype("datetime64[s]").astype(np.int64)
    for name, size in (("hour", 3600), ("minute", 60), ("second", 1)):
        seconds += size * fields[name].fill_null("0").cast(pl.Int64).to_numpy()
    # Offsets become +hhmm: no zone and Z are +0000, +02 is +0200.
    zone = fields["zone"].fill_null("").str.replace(":", "")
    zone = zone.str.extract(r"^([+-][0-9]{2}(?:[0-9]{2})?)$").fill_null("+0000").str.pad_end(5, "0")
    offset = 3600 * zone.str.slice(1, 2).cast(pl.Int64) + 60 * zone.str.slice(3, 2).cast(pl.Int64)
    # Local time less its offset is UTC.
    return seconds - np.where(
        zone.str.starts_with("-").to_numpy(), -offset.to_numpy(), offset.to_numpy()
    ), valid


def numbers_of(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Read numbers as ``(values, bad)``. They are float64, NaN where empty; ``bad`` marks text that is no
    number."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return pc.fill_null(column.cast(pa.float64()), float("nan")).to_numpy(), np.zeros(len(column), bool)
    text = pc.utf8_trim_whitespace(pc.fill_null(as_text(column), ""))
    empty = pc.equal(text, "").to_numpy()
    parsed = pl.from_arrow(text).cast(pl.Float64, strict=False)
    assert isinstance(parsed, pl.Series)
    bad = parsed.is_null().to_numpy() & ~empty
    return parsed.fill_null(float("nan")).to_numpy().astype(np.float64), bad


def vectors_of(
    column: pa.ChunkedArray, separator: str, width: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Read vectors as ``(values, bad)``. They are float32 (rows, width), by default the first row's; ``bad``
    where one differs.

    Rows are lists of numbers, or text with ``separator`` between numbers.
    """
    rows = len(column)
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        column = pc.split_pattern(pc.fill_null(as_text(column), ""), separator)
    elif not isinstance(column.type, (pa.ListType, pa.LargeListType, pa.FixedSizeListType)):
        return np.zeros((rows, 0), dtype=np.float32), np.ones(rows, dtype=bool)
    column = column.cast(pa.list_(column.type.value_type))
    # A null list has no length, and nothing among the flattened numbers.
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    if width is None:
        width = int(lengths[0]) if rows else 0
    values, unread = numbers_of(pc.list_flatten(column))
    unread = unread | ~np.isfinite(values)
    row_of = np.repeat(np.arange(rows), lengths)
    bad = (lengths != width) | (lengths == 0)
    bad[row_of[unread]] = True
    out = np.zeros((rows, width), dtype=np.float32)
    if not bad.any():
        out[:] = values.reshape(rows, width)
    return out, bad


def numbers_of_rows(column: pa.Array) -> np.ndarray:
    """Convert lists of numbers, as many in each, to float32 (rows, width)."""
    held = pc.list_flatten(column).to_numpy(zero_copy_only=False)
    rows: np.ndarray = held.astype(np.float32).reshape(len(column), len(held) // max(1, len(column)))
    return rows
