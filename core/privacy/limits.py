"""Limits of the samplers. They say how many values a read returns, and how far a unit may move it, at most.

The reads ask here, and so does a plan of public facts alone, before anything is reserved. Both look the
limits up in this module each time, so that there is one of each.
"""

from __future__ import annotations

from typing import Any

from core.errors import NotAccepted

MAX_VALUES = 2**26
"""Most values that one read may return; 512 MiB of int64."""

MAX_COUNTED = 2**32
"""Most values of a read of edges in parts, which is noised a block at a time; the memory of the nodes bounds
it first."""

MAX_SIGMA = 2**24
"""Largest standard deviation of Gaussian noise."""

MAX_SENSITIVITY = 2**20
"""Furthest that a unit may move a read with noise, in L1; in L2 the square of it."""


def check_values(
    values: int, what: str = "a read", *, field: str = "values", mend: str = "", counted: bool = False
) -> int:
    """Return how many values ``what`` returns. NotAccepted where they are more than any read may, or any of
    edges in parts (``counted``)."""
    most = MAX_COUNTED if counted else MAX_VALUES
    if values > most:
        raise NotAccepted(f"{what} would return {values} values, of at most {most}{mend}", field=field)
    return values


def check_sensitivity(
    moved: Any, what: str = "a read", *, field: str = "l1_sensitivity", mend: str = ""
) -> int:
    """Return how far a unit moves ``what``. NotAccepted unless it is an integer that the samplers take."""
    # Not isinstance: True is an int.
    if type(moved) is not int or not 1 <= moved <= MAX_SENSITIVITY:
        raise NotAccepted(
            f"a sensitivity is an integer in [1, {MAX_SENSITIVITY}], and one unit may move {what} by "
            f"{moved}{mend}",
            field=field,
        )
    return moved
