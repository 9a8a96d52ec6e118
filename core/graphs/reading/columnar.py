"""Roles of a table's columns. What is in them tells it, as in those of a text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns.arrays import is_text
from core.graphs.reading import asking
from core.graphs.reading.clocks import KEPT, joined
from core.graphs.reading.look import Asked, Looked, look
from core.graphs.reading.mapping import Mapping
from core.graphs.reading.model import About, Role
from core.graphs.reading.sorts import Watch, ends_named
from core.graphs.reading.times import rewritten

ROWS = 2000
"""Rows that are looked at, evenly over the table."""
_LONGEST = 200


def look_at(table: pa.Table, names: Sequence[str] | None = None) -> Looked | None:
    """Look at the table's edges; None where it has no row. ``names`` are None where nobody gave any.

    A sample decides what columns are, and all rows whether the ends are of one sort.
    """
    if not table.num_rows or table.num_columns < 2:
        return None
    chosen = table.take(pa.array(np.unique(np.linspace(0, table.num_rows - 1, ROWS).astype(np.int64))))
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n")
    if names is not None:
        writer.writerow([_one_line(name) for name in names])
    writer.writerows(zip(*(_texts(column) for column in chosen.columns), strict=True))
    said = Mapping(delimiter=",", header=names is not None, decimal=".")
    asked = Asked("graph", "edges", said, ",", (), (), True)
    found = look(written.getvalue().encode(), 1, asked)
    return None if found is None else _of_all(found, table)


def _one_line(text: str) -> str:
    return " ".join(text[:_LONGEST].split())


def _texts(column: pa.ChunkedArray) -> list[str]:
    """Write the cells as texts of one line; of lists and the like nothing."""
    try:
        held = column.cast(pa.string()).to_pylist()
    except pa.ArrowException:
        held = [None] * len(column)
    return [_one_line(each) if each else "" for each in held]


def _of_all(found: Looked, table: pa.Table) -> Looked:
    """Ask about two sorts of nodes where all rows together bring it up, rather than a sample of them."""
    reading = found.reading
    questions = tuple(each for each in reading.questions if each.about is not About.BIPARTITE)
    ends = [reading.column(role) for role in (Role.SOURCE, Role.TARGET)]
    if not reading.bipartite_why and None not in ends:
        pair = [table.column(each.place - 1) for each in ends if each is not None]
        watch = Watch(ends_named(reading))
        watch.add(pa.table(pair, names=["source", "target"]))
        if reason := watch.doubt():
            questions = (*questions, asking.of_sorts(reason))
    return replace(found, reading=replace(reading, questions=questions))


def as_read(table: pa.Table, found: Looked) -> pa.Table:
    """Name the columns as what they were read. Times are written as a reading takes them."""
    reading = found.reading
    called = {
        each.place - 1: KEPT if each.place == found.clock else each.called
        for each in reading.columns
        if each.role is not Role.LEFT
    }
    made = pa.table([table.column(place) for place in called], names=list(called.values()))
    if KEPT in made.column_names:
        made = joined(made)
    form = found.forms.get("time")
    if form is not None:
        place = made.column_names.index("time")
        column = made.column(place)
        texts = column if is_text(column.type) else pc.cast(column, pa.string())
        made = made.set_column(place, "time", rewritten(texts, form))
    return made
