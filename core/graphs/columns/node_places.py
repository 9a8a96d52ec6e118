"""Bins of what nodes carry: those of a column of values, and how many nodes each has."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.schema import Attribute
from core.graphs.schema.node_bins import node_bins

AT_ONCE = 2**22
"""Numbers that are counted at once."""


def places_of(attribute: Attribute, column: np.ndarray | pa.Array) -> np.ndarray:
    """Find the bin of every node's value. It is a stored column; int64 (n,), -1 where there is none."""
    if attribute.categories is not None:
        text = (column if isinstance(column, pa.Array) else pa.array(column)).cast(pa.string())
        known = pa.array(attribute.categories, type=pa.string())
        codes: np.ndarray = pc.fill_null(pc.index_in(text, value_set=known), -1).to_numpy().astype(np.int64)
        return codes
    own = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column
    numbers = np.asarray(own, dtype=np.float64)
    return np.where(np.isnan(numbers), -1, node_bins(attribute).places(np.nan_to_num(numbers)))


def counts_of_places(vector: Attribute, rows: np.ndarray) -> np.ndarray:
    """Count nodes by place of a vector and bin; int64 (places, bins).

    ``rows`` (n, places). A part of them at a time. O(n places log bins).
    """
    bins, length = node_bins(vector), rows.shape[1]
    counts, size = np.zeros(length * bins.count, dtype=np.int64), max(1, AT_ONCE // max(1, length))
    for start in range(0, len(rows), size):
        part = rows[start : start + size].astype(np.float64)
        cells = np.arange(length) * bins.count + bins.places(part.ravel()).reshape(part.shape)
        counts += np.bincount(cells.ravel(), minlength=len(counts))
    return counts.reshape(length, bins.count)
