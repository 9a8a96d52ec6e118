"""Columns of edge values in Arrow's types, in their declaration's words. They are made and read back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.schema.edge_attributes import EdgeAttribute, EdgeAttributeKind

ARROW = {
    EdgeAttributeKind.CATEGORY: pa.dictionary(pa.int32(), pa.string()),
    EdgeAttributeKind.INTEGER: pa.int32(),
    EdgeAttributeKind.NUMBER: pa.float64(),
    EdgeAttributeKind.TIME_OF_DAY: pa.time32("s"),
}

_KEPT = pa.time32("ms")
"""What Parquet keeps of times of day."""


def arrow_values(attribute: EdgeAttribute, column: np.ndarray) -> pa.Array:
    """Write a stored column in Arrow's type of its kind."""
    if attribute.categories is not None:
        names = pa.array(attribute.categories, type=pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(column, type=pa.int32()), names)
    return pa.array(column).cast(ARROW[attribute.kind])


def stored_values(attribute: EdgeAttribute, column: pa.ChunkedArray) -> np.ndarray:
    """Read such a column back. ValueError where its type is another, a value lacks, or is not as declared."""
    what = f"values of {attribute.name!r} are not as declared"
    timed = attribute.kind is EdgeAttributeKind.TIME_OF_DAY
    if column.type != (_KEPT if timed else ARROW[attribute.kind]) or column.null_count:
        raise ValueError(what)
    if attribute.categories is not None:
        names = pa.array(attribute.categories, type=pa.string())
        codes = [
            pc.fill_null(pc.index_in(each.dictionary, value_set=names), -1).to_numpy()[
                each.indices.to_numpy()
            ]
            for each in column.chunks
        ]
        found = np.concatenate([np.empty(0, dtype=np.int32), *codes])
    elif attribute.kind is EdgeAttributeKind.NUMBER:
        found = column.to_numpy()
    else:
        found = column.cast(pa.int32()).to_numpy() // np.int32(1000 if timed else 1)
    low, high = attribute.range
    if not ((found >= low) & (found <= high)).all():  # NaN is outside too
        raise ValueError(what)
    return found
