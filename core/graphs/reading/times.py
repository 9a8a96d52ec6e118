"""Dates that are written otherwise than ISO 8601. They have one form for a column, chosen by its sample."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
import pyarrow as pa

from core.graphs.columns.arrays import as_text, times_of
from core.graphs.reading.cells import order_of_days, slashed

_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %I:%M%p", " %I:%M:%S%p")
_DAYS = {
    "dmy": ("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%y", "%d/%m/%y", "%d-%m-%y"),
    "mdy": ("%m/%d/%Y", "%m-%d-%Y", "%m.%d.%Y", "%m/%d/%y", "%m-%d-%y", "%m.%d.%y"),
}
_COMPACT = ("%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S", "%Y%m%dT%H%M", "%Y%m%dT%H%M%S", "%Y%m%dT%H%M%SZ")
_NAMED = (
    "%d %b %Y",
    "%d %B %Y",
    "%d-%b-%Y",
    "%d. %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%b %Y",
    "%B %Y",
    "%Y/%m/%d",
)
_OTHERS = (*_NAMED, "%Y.%m.%d", "%Y-%m-%d", "%Y%m%d")
_FIRST, _LAST = -2_208_988_800, 7_258_118_400  # 1900 and 2200


def form_of(values: Sequence[str], order: str | None) -> str | None:
    """Choose the form that every value has. None where they are numbers, ISO 8601, or of no form."""
    if not values:
        return None
    column = pa.chunked_array([pa.array(list(values), pa.string())])
    if all(value.isdigit() for value in values) or all(
        len(value.rstrip("Z")) in (13, 15) for value in values
    ):
        return _fitting(column, _COMPACT) if order == "ymd" else None
    if bool(times_of(column)[1].all()):
        return None
    if slashed(values):
        day_order = order_of_days(values) or (order if order in _DAYS else "dmy")
        return _fitting(column, [day + clock for day, clock in product(_DAYS[day_order], _CLOCKS)])
    return _fitting(column, [day + clock for day, clock in product(_OTHERS, _CLOCKS)])


def rewritten(column: pa.ChunkedArray, form: str) -> pa.ChunkedArray:
    """Rewrite texts of the form as seconds. These count from 1970 in UTC; others stay as they are."""
    text = as_text(column)
    seconds = _seconds(text, form)
    made = pl.select(pl.coalesce(seconds.cast(pl.String), pl.Series(text, dtype=pl.String))).to_series()
    return pa.chunked_array([made.to_arrow().cast(pa.string())])


def _seconds(text: pa.ChunkedArray, form: str) -> pl.Series:
    series = pl.Series(text, dtype=pl.String).str.strip_chars()
    if "%b" in form and "%b %" not in form[:4]:
        series = series.str.replace(r"\.", "")
    if "%H" in form or "%I" in form:
        return series.str.to_datetime(form, strict=False, time_unit="ms").dt.epoch("s")
    # A month has its first day's time: no date is read that lacks a day.
    if "%d" not in form:
        series, form = "1 " + series, "%d " + form
    return series.str.to_date(form, strict=False).cast(pl.Int64) * 86_400


def _fitting(column: pa.ChunkedArray, forms: Sequence[str]) -> str | None:
    for form in forms:
        found = _seconds(column, form)
        values = found.to_numpy()
        if not found.null_count() and bool(np.all((values >= _FIRST) & (values < _LAST))):
            return form
    return None
