"""A time that is written in two columns. The day is in one and the clock in the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns.arrays import as_text
from core.graphs.reading.cells import CLOCK, Cells
from core.graphs.reading.mapping import Mapping as Said
from core.graphs.reading.model import Column, Role
from core.graphs.reading.roles import Guess

MOSTLY = 0.98
KEPT = "time of day"
"""What the column of the clock is called until it is joined with the day: no schema has such a name."""


def clock_beside(guesses: Mapping[int, Guess], cells: Sequence[Cells]) -> int | None:
    """Find the one column of clocks of a time. The time has days without any; None where there is none."""
    days = [place for place, guess in guesses.items() if guess.role is Role.TIME and is_days(cells[place])]
    clocks = [place for place, guess in guesses.items() if guess.role not in _ENDS and is_clock(cells[place])]
    return clocks[0] if len(days) == len(clocks) == 1 else None


_ENDS = (Role.SOURCE, Role.TARGET)


def is_days(column: Cells) -> bool:
    """Tell whether a column has dates without a time of day."""
    long = any(":" in value or (len(value.strip("Zz")) > 10 and value.isdigit()) for value in column.distinct)
    return column.dated and not long


def is_clock(column: Cells) -> bool:
    """Tell whether a column has only times of day."""
    return not column.empty and column.share(CLOCK) >= MOSTLY


def of_two(columns: Sequence[Column], cells: Sequence[Cells]) -> tuple[int, int] | None:
    """Return the places of the day and of the clock. Two columns are the time."""
    places = [column.place - 1 for column in columns if column.role is Role.TIME]
    clocks = [place for place in places if is_clock(cells[place])]
    if len(places) != 2 or len(clocks) != 1:
        return None
    (day,) = set(places) - set(clocks)
    return day, clocks[0]


def together(days: Cells, clocks: Cells) -> Cells:
    """Write the sample's days and clocks as one."""
    pairs = zip(days.values, clocks.values, strict=True)
    return Cells([f"{day} {clock}" if day and clock else day for day, clock in pairs])


def joined(table: pa.Table) -> pa.Table:
    """Write days and clocks as one column, the time. A day without a clock is its beginning."""
    day, clock = (pc.utf8_trim_whitespace(as_text(table[name])) for name in ("time", KEPT))
    none = pc.fill_null(pc.equal(clock, ""), True)
    both = pc.if_else(none, day, pc.binary_join_element_wise(day, clock, " "))
    return table.set_column(table.column_names.index("time"), "time", both).drop_columns([KEPT])


def one_time_text(columns: Sequence[Column], day: int, clock: int) -> str:
    """Say that two columns are one time. The mapping by which they are not is said, too."""
    apart = [
        replace(each, called="value", role=Role.VALUE) if each.place - 1 == clock else each
        for each in columns
    ]
    said = Said(
        columns=tuple(
            (each.called, each.place)
            for each in apart
            if each.role in (*_ENDS, Role.TIME) or each.place - 1 == clock
        )
    )
    names = " and ".join(str(columns[place].name or columns[place].place) for place in (day, clock))
    return (
        f"The columns {names} are read as one time, of a day and its clock; send {said} to keep them apart."
    )
