"""Propose a time grid in round units. It lies over the times of an upload."""

from __future__ import annotations

from datetime import UTC, datetime

from core.graphs.schema.time_grid import MAX_TIME, WIDTHS, TimeGrid

MAX_SINGLE_STEPS = 366  # beyond that many distinct times, steps are widened
MAX_WIDE_STEPS = 53  # a year of weeks

DAY, WEEK = 86_400, 7 * 86_400
_MONDAY = 4 * DAY  # the first one after the epoch
_UNITS = {
    1: "a second",
    60: "a minute",
    600: "ten minutes",
    3_600: "an hour",
    21_600: "six hours",
    DAY: "a day",
    WEEK: "a week",
    4 * WEEK: "four weeks",
    13 * WEEK: "13 weeks",
    52 * WEEK: "52 weeks",
}
# Up to 2^37 times 52 weeks: fewer than MAX_WIDE_STEPS of them cover all times of 64 bits.
_DOUBLED = tuple(52 * WEEK << k for k in range(1, 38))
_EARLIEST, _LATEST = 315_532_800, 4_102_444_800  # 1980 and 2100: what seconds since 1970 look like


def proposed_grid(low: int, high: int, grain: int) -> TimeGrid:
    """Propose a grid over ``low`` to ``high``. It has one time a step where these are few, else a round
    width.

    Times over a long span are taken as seconds, or as milli-, micro- or nanoseconds where these lie between
    1980 and 2100.
    ``grain`` divides every time: dates alone are not cut finer than a day. Weeks begin on Monday.
    """
    scale = _scale(low, high)
    dated = low // scale >= _EARLIEST and high // scale < _LATEST
    if not dated and high - low < MAX_SINGLE_STEPS:
        return TimeGrid(start=low, width=1, count=high - low + 1)
    finest = DAY if dated and grain % (DAY * scale) == 0 else 1
    for unit in (*_UNITS, *_DOUBLED):
        width, origin = unit * scale, _MONDAY * scale if unit >= WEEK else 0
        # Back to a round time, but not to one that no grid may start at.
        start = max(low - (low - origin) % width, -MAX_TIME)
        count = (high - start) // width + 1
        if unit >= finest and count <= MAX_WIDE_STEPS:
            return TimeGrid(start=start, width=width, count=count)
    raise AssertionError("the widest steps cover every time")


def in_dates(grid: TimeGrid) -> dict[str, str | int]:
    """Write a grid of seconds as a schema takes it. It has a date, and a width such as ``1d``."""
    begin = datetime.fromtimestamp(grid.start, UTC)
    start = begin.date().isoformat() if grid.start % DAY == 0 else begin.strftime("%Y-%m-%dT%H:%M:%SZ")
    letter, size = next((each, size) for each, size in WIDTHS.items() if grid.width % size == 0)
    return {"start": start, "width": f"{grid.width // size}{letter}", "count": grid.count}


def width_in_words(grid: TimeGrid) -> str:
    """Describe the width of a wide grid's steps."""
    seconds = grid.width // _scale(grid.start, grid.start)
    return _UNITS.get(seconds, f"{seconds} seconds")


def _scale(low: int, high: int) -> int:
    """Tell how many units a second has: of milli-, micro- or nanoseconds where times of today are in them."""
    scales = (10**3, 10**6, 10**9)
    return next((each for each in scales if low >= _EARLIEST * each and high < _LATEST * each), 1)
