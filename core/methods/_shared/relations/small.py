"""Which cells the static recipe fits: small two-sided ones. Public rules."""

from __future__ import annotations

from core.privacy.queries import Shape

MAX_SLOTS = 2**24
MAX_WORK = 2**26  # slots times columns: what one round of fitting costs


def small(shape: Shape) -> bool:
    """Tell whether the recipe fits a cell of that shape. It has sides, and few slots. A public rule."""
    if shape.undirected:
        return False
    slots = shape.source_count * shape.target_count
    rounds = 1 if shape.edge_type.functional else sides(shape)[1]
    return slots <= MAX_SLOTS and slots * rounds <= MAX_WORK


def rows_are_sources(shape: Shape) -> bool:
    """Tell whether the recipe's rows are the sources.

    They are where it is functional, or its sources are the more.
    """
    return shape.edge_type.functional or shape.source_count >= shape.target_count


def sides(shape: Shape) -> tuple[int, int]:
    """Return the numbers of rows and columns."""
    both = (shape.source_count, shape.target_count)
    return both if rows_are_sources(shape) else both[::-1]
