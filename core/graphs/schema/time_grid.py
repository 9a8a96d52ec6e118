"""Public snapshots, declared in integers or in dates."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer

from core.graphs.schema.edge_attributes import DAY_SECONDS
from core.graphs.schema.names import Frozen

MAX_STEPS = 100_000
MAX_PERIOD = 1_000
MAX_TIME = 2**62  # differences of times then fit 64 bits
WIDTHS = {"w": 7 * DAY_SECONDS, "d": DAY_SECONDS, "h": 3_600, "min": 60, "s": 1}
"""Letters that say what a width counts, and their seconds."""


def _seconds_since_1970(said: Any) -> Any:
    """Read a date, with a time of day or none, in UTC unless it says otherwise."""
    # A text of digits becomes an integer after this.
    if not isinstance(said, str) or said.lstrip("-").isdigit():
        return said
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        raise ValueError(f"{said!r} is no integer, and no date such as 2024-03-01") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _seconds_wide(said: Any) -> Any:
    """Read a width such as ``1d`` or ``15min`` as seconds."""
    found = re.fullmatch(r"([0-9]{1,12})(w|d|h|min|s)", said) if isinstance(said, str) else None
    return said if found is None else int(found[1]) * WIDTHS[found[2]]


DATES = range(10**8, 253_402_300_800)
"""Times that are taken to count seconds since 1970: from 1973 to the end of 9999."""


def shown_time(time: int) -> str:
    """Write a time as a date where it counts seconds since 1970."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if time in DATES else str(time)


def shown_width(width: int, start: int) -> str:
    """Write a width in the largest unit of time it is a multiple of, where ``start`` is a date."""
    if start not in DATES:
        return str(width)
    return next(f"{width // seconds}{unit}" for unit, seconds in WIDTHS.items() if width % seconds == 0)


class TimeGrid(Frozen):
    """Public snapshots: step ``t`` covers times ``start + t*width <= time < start + (t+1)*width``.

    Times are integers in one unit (seconds, days, a running number). Where they are dates the start may be
    one, and the width ``1w``, ``1d``, ``6h``, ``15min`` or ``30s``: both are kept as seconds since 1970. An
    event outside the grid is refused.

    ``period`` declares that steps so far apart are alike, such as 24 for hours: known beforehand, never read
    off the data, for methods that remember what was published. Written only where it is set.
    """

    start: Annotated[
        int,
        Field(ge=-MAX_TIME, le=MAX_TIME),
        BeforeValidator(_seconds_since_1970, json_schema_input_type=int | str),
    ] = 0
    width: Annotated[
        int, Field(ge=1, le=MAX_TIME), BeforeValidator(_seconds_wide, json_schema_input_type=int | str)
    ] = 1
    count: Annotated[int, Field(ge=1, le=MAX_STEPS)]
    period: Annotated[int, Field(ge=2, le=MAX_PERIOD)] | None = None

    @model_serializer(mode="wrap")
    def _compact(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # so that it keeps its JSON Schema
        written: dict[str, Any] = write(self)
        if self.period is None:
            written.pop("period", None)
        return written

    def times_of(self, steps: Any) -> Any:
        """Compute the first time of each step. It is as an upload would say it; of a number or an int64
        array."""
        return steps * self.width + self.start
