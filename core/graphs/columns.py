"""Raw columns to numbers: vectorised, with -1 or a mask where a value does not fit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

_INTEGER = r"^-?[0-9]+$"


def is_text(kind: pa.DataType) -> bool:
    """True for strings of any layout."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values as plain strings; integers in decimal."""
    return column if column.type == pa.string() else column.cast(pa.string())


def codes_of(column: pa.ChunkedArray, values: pa.Array) -> np.ndarray:
    """The position of each value in ``values`` (distinct strings), -1 where it is none of them; int64.

    Dictionary columns are looked up once for each distinct value. O(rows + len(values)), hashing.
    """
    if not pa.types.is_dictionary(column.type):
        found = pc.index_in(column.cast(values.type), value_set=values)
        return pc.fill_null(found, -1).to_numpy().astype(np.int64)
    column = column.unify_dictionaries()
    if not column.num_chunks:
        return np.empty(0, dtype=np.int64)
    # Every chunk shares one dictionary now. A null index becomes -1 and reads the extra last place.
    distinct = column.chunk(0).dictionary.cast(values.type)
    place = pc.fill_null(pc.index_in(distinct, value_set=values), -1).to_numpy(zero_copy_only=False)
    place = np.append(place, -1).astype(np.int64)
    parts = [pc.fill_null(chunk.indices, -1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return place[np.concatenate(parts)]


def integers_of(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``(values, valid, empty)``: int64 values where ``valid``; ``empty`` marks null and blank entries.

    Text counts as an integer when it is decimal and fits 64 bits; a minus and spaces around it are allowed.
    """
    if pa.types.is_integer(column.type):
        empty = column.is_null().to_numpy()
        fits = np.ones(len(column), dtype=bool)
        if column.type == pa.uint64():
            fits = pc.fill_null(pc.less(column, pa.scalar(2**63, pa.uint64())), False).to_numpy()
            column = pc.if_else(pa.chunked_array([pa.array(fits)]), column, pa.scalar(0, pa.uint64()))
        values = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
        return values, fits & ~empty, empty
    text = pc.utf8_trim_whitespace(pc.fill_null(as_text(column), ""))
    empty = pc.equal(text, "").to_numpy()
    decimal = pc.match_substring_regex(text, _INTEGER).to_numpy()
    parsed = pl.from_arrow(text).cast(pl.Int64, strict=False)
    assert isinstance(parsed, pl.Series)
    valid = decimal & ~parsed.is_null().to_numpy()
    return parsed.fill_null(0).to_numpy(), valid, empty


def numbers_of(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """``(values, bad)``: float64, NaN where empty; ``bad`` marks text that is no number."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return pc.fill_null(column.cast(pa.float64()), float("nan")).to_numpy(), np.zeros(len(column), bool)
    text = pc.utf8_trim_whitespace(pc.fill_null(as_text(column), ""))
    empty = pc.equal(text, "").to_numpy()
    parsed = pl.from_arrow(text).cast(pl.Float64, strict=False)
    assert isinstance(parsed, pl.Series)
    bad = parsed.is_null().to_numpy() & ~empty
    return parsed.fill_null(float("nan")).to_numpy().astype(np.float64), bad


def vectors_of(column: pa.ChunkedArray, separator: str) -> tuple[np.ndarray, np.ndarray]:
    """``(values, bad)``: float32 (rows, width) with the width of the first row; ``bad`` where a row differs.

    Rows are lists of numbers, or text with ``separator`` between numbers.
    """
    rows = len(column)
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        column = pc.split_pattern(pc.fill_null(as_text(column), ""), separator)
    elif not isinstance(column.type, (pa.ListType, pa.LargeListType, pa.FixedSizeListType)):
        return np.zeros((rows, 0), dtype=np.float32), np.ones(rows, dtype=bool)
    column = column.cast(pa.list_(column.type.value_type))
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
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
