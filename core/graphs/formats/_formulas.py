"""Cells that a spreadsheet would run, in text. It is delimited text; they are written behind an apostrophe,
read without it.

Those that begin with ``=``, a tab or a carriage return, and those that begin with ``+``, ``-`` or ``@`` and
call something. Numbers, telephone numbers and ``@names`` stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

_RUNS = r"(?:[=\t\r]|[-+@].*[(|!=])"


def escaped(table: pa.Table) -> pa.Table:
    """Escape each cell that would be run. It gets one more apostrophe before it, and so does one that is one
    behind apostrophes."""
    return _changed(table, rf"(?s)^'*{_RUNS}", lambda cells: pc.binary_join_element_wise("'", cells, ""))


def unescaped(table: pa.Table) -> pa.Table:
    """Undo :func:`escaped`. Cells of others that begin so mean the same to a spreadsheet."""
    return _changed(table, rf"(?s)^'+{_RUNS}", lambda cells: pc.utf8_slice_codeunits(cells, 1))


def _changed(table: pa.Table, which: str, change: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) and table.num_rows:
            cells = table.column(place)
            met = pc.match_substring_regex(cells, which)
            if pc.any(met).as_py():
                table = table.set_column(place, field, pc.if_else(met, change(cells), cells))
    return table
