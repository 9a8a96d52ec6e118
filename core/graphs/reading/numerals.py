"""How a column's numbers and dates are written. There are decimal marks, thousands, the order of day and
month."""

from __future__ import annotations

from collections.abc import Sequence

from core.graphs.reading import asking
from core.graphs.reading.cells import COMMA, GROUPED, Cells, order_of_days, slashed
from core.graphs.reading.mapping import Mapping
from core.graphs.reading.model import Column, Question, Role

_NUMBERED = (Role.VALUE, Role.ATTRIBUTE, Role.TIME)


def _no_points(column: Cells) -> bool:
    return not column.share("number", GROUPED)


def with_thousands(chosen: Sequence[Column], cells: Sequence[Cells], said: bool) -> tuple[str, ...]:
    """List the columns with commas between thousands. They hold numbers; ``said``: of these alone commas
    tell."""
    return tuple(
        each.called
        for each in chosen
        if each.role in (Role.VALUE, Role.ATTRIBUTE)
        and (cells[each.place - 1].share(GROUPED) > 0 or (said and cells[each.place - 1].share(COMMA) > 0))
        and cells[each.place - 1].numeric
    )


def with_commas(chosen: Sequence[Column], cells: Sequence[Cells]) -> tuple[str, ...]:
    """List the columns with decimal commas. There are some only where points part thousands at most."""
    return tuple(
        each.called
        for each in chosen
        if each.role in _NUMBERED
        and (_no_points(cells[each.place - 1]) or asking.thousands([cells[each.place - 1]], "."))
    )


def written(
    chosen: Sequence[Column],
    cells: Sequence[Cells],
    said: Mapping,
    questions: list[Question],
    *,
    infer: bool,
    semicolons: bool,
) -> tuple[str, str | None]:
    """Tell the decimal mark and the form of dates. Dates may be written otherwise than ISO 8601.

    Where ``semicolons`` separate, points may part thousands.
    """
    decimal = said.decimal
    values = [cells[each.place - 1] for each in chosen if each.role in _NUMBERED]
    if decimal is None:
        commas = [
            column for column in values if column.numeric and column.share(COMMA) and _no_points(column)
        ]
        decimal = "," if commas else "."
        if asking.thousands(commas, ",") if commas else semicolons and asking.thousands(values, "."):
            questions.append(asking.of_decimal(decimal))
    dates = said.dates
    if dates is None:
        for each in chosen:
            column = cells[each.place - 1]
            if each.role is not Role.TIME or column.empty:
                continue
            if column.compact and infer:
                dates = "ymd"
            elif slashed(list(column.distinct)):
                dates = order_of_days(list(column.distinct))
                if dates is None:
                    dates = "dmy"
                    questions.append(asking.of_dates(next(iter(column.distinct))))
    return decimal, dates
