"""Whether the first record is a header: log odds, each with its ground."""

from __future__ import annotations

import math
from collections.abc import Sequence

from core.graphs.reading.cells import DATE, INTEGER, NUMERIC, TEXT, Cells, kind_of, shape_of
from core.graphs.reading.words import ends_among, known, numbering

CERTAIN_ODDS = math.log(0.96 / 0.04)
_MOST = 50.0
_ROWS = 3
_UNSEEN = 3.0  # by itself it is asked about: a list of names may begin with two that it has once


def header_odds(first: Sequence[str], columns: Sequence[Cells]) -> tuple[float, tuple[str, ...]]:
    """Return the log odds that a record is a header. It stands above the ``columns``; the grounds for it
    come, too."""
    rows = max((len(column.values) for column in columns), default=0)
    odds, grounds = 0.0, dict[str, None]()
    names = [each.lstrip("#%").strip() for each in first]
    if pairs := ends_among(names):
        # Of one or two letters they may be ids as well.
        odds += 5.5 if any(len(names[i]) > 2 or len(names[j]) > 2 for i, j in pairs) else 2.5
        grounds["two of its words are names of ends"] = None
    elif numbering(names):
        odds += 4.0
        grounds["its words are one, numbered in order"] = None
    known_names = sum(known(name) for name in names)
    if known_names:
        odds += 1.5 * known_names
        grounds["words in it are names of columns"] = None
    likes = 0
    for cell, column in zip(first, columns, strict=False):
        kind = kind_of(cell)
        if column.empty or not cell:
            continue
        if column.numeric or column.dated:
            if kind == TEXT:
                odds += 5.0 if column.dated else 2.2 + 0.4 * math.log(len(column.held))
                grounds["a word stands over numbers or dates"] = None
            elif kind in NUMERIC or kind == DATE:
                odds -= 8.0
                grounds["a number stands over numbers"] = None
        elif column.share(TEXT) > 0.5:
            if kind in NUMERIC and INTEGER not in column.kinds:
                odds -= 2.0
            elif kind == TEXT:
                likes += 1
                odds += _shapes(cell, column, grounds)
    if likes:
        odds += _recurrence(first, columns, rows, grounds)
    return max(-_MOST, min(_MOST, odds)), tuple(grounds)


def _shapes(cell: str, column: Cells, grounds: dict[str, None]) -> float:
    """Add up to 2.5 where the cell has another shape than most of a column, whose shapes agree."""
    usual, times = column.shapes.most_common(1)[0]
    if len(column.held) < _ROWS:
        return 0.0
    if times < 0.8 * len(column.held):
        return 0.0
    if shape_of(cell) == usual:
        # Words alone are written alike; codes and addresses are not written like names of columns.
        return 0.0 if usual.replace(" ", "").isalpha() else -2.5
    grounds["it is written unlike the lines after it"] = None
    return 2.5 * len(column.held) / (len(column.held) + 3)


def _recurrence(first: Sequence[str], columns: Sequence[Cells], rows: int, grounds: dict[str, None]) -> float:
    """Weigh whether words of the line occur again: ids do, names of columns do not."""
    texts = [column for column in columns if not column.empty and not column.numeric and not column.dated]
    cells = [
        cell
        for cell, column in zip(first, columns, strict=False)
        if cell and any(column is each for each in texts)
    ]
    times: dict[str, int] = {}
    for column in texts:
        for value, count in column.counted.items():
            times[value] = times.get(value, 0) + count
    if any(times.get(cell, 0) for cell in cells):
        grounds["a word of it occurs again"] = None
        return -3.5
    alone = sum(
        all(
            times[column.values[row]] < 2
            for column in texts
            if row < len(column.values) and column.values[row]
        )
        for row in range(rows)
    )
    grounds["no word of it occurs again"] = None
    # Half a row where there is none: its logarithm is finite.
    share = max(alone, 0.5) / max(rows, 1)
    return min(_UNSEEN, -0.8 * math.log(min(share, 1.0)))
