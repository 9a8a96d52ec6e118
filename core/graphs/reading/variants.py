"""What is odd about ids and times of a whole file, for its curator: counted, and left as it is."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.schema.grids import MAX_SINGLE_STEPS

_NOTHING = ("None", "none", "nan", "NaN", "NULL", "null", "\\N", "NA", "N/A", "<NA>")
_FIRST, _LAST = -2_208_988_800, 4_102_444_800  # 1900 and 2100
_RECENT = 157_766_400  # 1975: what larger units begin with
_SCALES = (1, 10**3, 10**6, 10**9)


def told_of_ids(ids: pl.Series) -> list[str]:
    """Warn of ids that differ in writing alone, and of texts that stand for no id. ``ids`` are distinct."""
    text = ids.drop_nulls().to_arrow().cast(pa.string())
    found = []
    ways = (
        ("Unicode form", lambda each: pc.utf8_normalize(each, form="NFKC")),
        ("case", pc.utf8_lower),
        ("a float's .0", lambda each: pc.replace_substring_regex(each, r"^([0-9]+)\.0+$", r"\1")),
    )
    for what, same in ways:
        fewer = len(text) - pc.count_distinct(same(text)).as_py()
        if fewer:
            found.append(f"{fewer} ids differ from another by {what} alone; they are nodes of their own.")
    nothing = sorted(set(pc.filter(text, pc.is_in(text, pa.array(_NOTHING))).to_pylist()))
    if nothing:
        named = ", ".join(nothing)
        found.append(
            f"Ids such as {named} may stand for nothing; they are nodes. Leave such rows out otherwise."
        )
    return found


def told_of_times(ends: Sequence[int | None]) -> list[str]:
    """Warn of times that no one unit places between 1900 and 2100. ``ends`` are the first and the last."""
    known = [end for end in ends if end is not None]
    if not known or max(known) - min(known) < MAX_SINGLE_STEPS:
        return []
    low, high = min(known), max(known)
    if any((_FIRST if scale == 1 else _RECENT * scale) <= low and high < _LAST * scale for scale in _SCALES):
        return []
    return [
        f"Times from {low} to {high} lie outside 1900 to 2100 in seconds, milliseconds, microseconds and "
        "nanoseconds since 1970, or are in two units: mend them, or declare a grid of your own."
    ]
