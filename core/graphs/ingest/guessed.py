"""Frames and arrays that name no ends. What is in their columns says which they are, or it is a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from core.errors import InvalidInput
from core.graphs.reading import asking
from core.graphs.reading.columnar import as_read, look_at
from core.graphs.reading.model import Reading, Role
from core.graphs.uploads.findings import shown

MOST_COLUMNS = 24


def with_ends(table: pa.Table, names: Sequence[str] | None) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the table with its columns named. They are called as they are read, and remarks say so with the
    grounds.

    InvalidInput where a guess might make another graph, with the mapping that answers it.
    """
    found = look_at(table, names)
    if found is None or found.reading.column(Role.TARGET) is None:
        return table, ()
    reading = found.reading
    for question in reading.questions:
        if question.destroys:
            raise InvalidInput(asking.question_text(question), field="columns")
    if reading.bipartite:
        raise InvalidInput(
            f"the ends are two sorts of nodes ({reading.bipartite_why[0]}); declare both in a schema, and "
            "say which columns are the ends: columns={'source': ..., 'target': ...}",
            field="schema",
        )
    others = [f"{asking.question_text(each)}." for each in reading.questions]
    return as_read(table, found), (_grounds(reading), *reading.warnings, *others)


def _grounds(reading: Reading) -> str:
    roles = "; ".join(
        f"{shown(each.name) if each.name else each.place} as {each.role} ({', '.join(each.why)})"
        for each in reading.columns
    )
    return (
        f"Columns were read by what is in them: {roles}. Say columns={{...}} where they are something else."
    )


def array_table(array: np.ndarray) -> tuple[pa.Table, list[str] | None]:
    """Take an array of rows apart. A structured one has names, one of two axes has none."""
    if array.dtype.names is not None and array.ndim == 1:
        held = {str(name): array[name] for name in array.dtype.names}
    elif array.ndim == 2 and 2 <= array.shape[1] <= MOST_COLUMNS:
        held = {f"column_{place + 1}": array[:, place] for place in range(array.shape[1])}
    else:
        raise InvalidInput(
            f"an array of edges has a row each, and 2 to {MOST_COLUMNS} columns; this has the shape "
            f"{array.shape}",
            field="graph",
        )
    if array.ndim == 2 and array.shape[0] == array.shape[1] and array.shape[0] > 2:
        raise InvalidInput(
            "an array of as many rows as columns may be an adjacency matrix or a list of edges; give a "
            "matrix as scipy.sparse.csr_array, edges as a frame",
            field="graph",
        )
    columns = {name: _column(values) for name, values in held.items()}
    return pa.table(columns), list(held) if array.dtype.names is not None else None


def _column(values: np.ndarray) -> pa.Array:
    """Make a column; of mixed objects their texts, and of whole floats beside texts their integers."""
    if values.dtype.kind != "O":
        # Integers beside floats become floats in NumPy; below
        # 2^53, where whole, they are the integers that they were.
        whole = values.dtype.kind == "f" and bool(np.all(np.isfinite(values) & (np.floor(values) == values)))
        return pa.array(values.astype(np.int64) if whole and abs(values).max(initial=0) < 2**53 else values)
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError):
        return pa.array([None if each is None else str(each) for each in values], type=pa.string())
