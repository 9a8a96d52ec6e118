"""What is odd about ids and times of a file. It is counted for its curator, over the whole file, and left as
it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns.arrays import as_text
from core.graphs.schema.grids import MAX_SINGLE_STEPS
from core.graphs.uploads.findings import shown

_NOTHING = ("None", "none", "nan", "NaN", "NULL", "null", "\\N", "NA", "N/A", "<NA>")
_FIRST, _LAST = -2_208_988_800, 4_102_444_800  # 1900 and 2100
_RECENT = 157_766_400  # 1975: what larger units begin with
_SCALES = (1, 10**3, 10**6, 10**9)
_UNSEEN = "[\u00ad\u200b-\u200f\u2060\ufeff]"
_WHOLE = r"^([-+]?[0-9]+)[.]0+$"
_LIKE_NUMBER = re.compile(
    r"[-+−(]?\s*(?:(?:[A-Z]{3}|[$€£¥₹])\s?)?[-+−]?"
    r"(?:\d+(?:[.,]\d*)?|[.,]\d+|\d{1,3}(?:[.,'’\s]\d{3})+(?:[.,]\d+)?|\d+/\d+|0[xX][0-9a-fA-F]+)"
    r"(?:[eE][-+]?\d+)?(?:\s?(?:[$€£¥₹%]|[A-Z]{3}))?\)?-?"
)
_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def told_of_numbers(name: str, texts: Collection[str]) -> str | None:
    """Warn where texts look like numbers. Most of what a column holds as texts does; None elsewhere."""
    held = sorted(each.strip() for each in texts if each and each.strip())
    alike = sum(_LIKE_NUMBER.fullmatch(each) is not None for each in held)
    if not held or 2 * alike < len(held):
        return None
    strange = next((each for each in held if not _PLAIN.fullmatch(each)), max(held, key=len))
    return (
        f"The texts of {shown(name)} look like numbers, but are read as texts, as {shown(strange)} is no "
        "plain one: write numbers alone, without signs of money or percent, and with one decimal mark."
    )


def told_of_ids(ids: pa.ChunkedArray | pa.Array) -> list[str]:
    """Warn of ids that differ in writing only. It warns of texts that stand for no id, too."""
    text = as_text(ids if isinstance(ids, pa.ChunkedArray) else pa.chunked_array([ids]))
    alike = alike_ids(text)
    found = [] if alike is None else [alike]
    nothing = sorted(set(pc.filter(text, pc.is_in(text, pa.array(_NOTHING))).to_pylist()))
    if nothing:
        named = ", ".join(nothing)
        found.append(
            f"Ids such as {named} may stand for nothing; they are nodes. Leave such rows out otherwise."
        )
    return found


def alike_ids(ids: pa.ChunkedArray | pa.Array) -> str | None:
    """Say how many ids differ in writing only. They differ only by case, by Unicode form or by a float's
    ``.0``; None where none does.

    For the uploader alone: it names one pair. O(n).
    """
    column = ids if isinstance(ids, pa.ChunkedArray) else pa.chunked_array([ids])
    own = pl.Series("id", as_text(column), dtype=pl.String).drop_nulls().unique()
    seen = own.str.replace_all(_UNSEEN, "")
    meant = seen.str.replace(_WHOLE, "$1").str.normalize("NFKC").str.to_lowercase()
    if meant.n_unique() == len(own):
        return None
    alike = pl.DataFrame({"id": own, "meant": meant}).filter(pl.col("meant").is_duplicated())
    # The first in sorted order, so that the order of the ids does not change the message.
    pair = alike.filter(pl.col("meant") == alike["meant"].sort()[0])["id"].sort()
    return (
        f"{len(alike)} ids differ only by case, by Unicode form or by an ending .0, such as "
        f"{shown(pair[0])} and {shown(pair[1])}: each is a node of its own. Write them alike where they are "
        "one."
    )


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
