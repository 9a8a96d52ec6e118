"""Batches of formats without lines: one table a batch."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from core.graphs.uploads.batches import Batch, Careful


def columnar(table: pa.Table, first_row: int = 1, bytes_done: int = 0) -> Batch:
    """Make a batch of a format without lines. A finding's line is then the row, counted from 1."""
    fields = {name: number for number, name in enumerate(table.column_names, start=1)}
    lines = np.arange(first_row, first_row + table.num_rows)
    return Batch(table, lambda: iter([Careful(table, lines, fields, [])]), bytes_done)
