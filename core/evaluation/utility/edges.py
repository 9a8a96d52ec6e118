"""Edge counts and density of a cell."""

from __future__ import annotations

from core.graphs.graph import Cell


def slots(cell: Cell) -> int:
    """How many edges the cell could hold: n(n-1)/2, n(n-1) when directed, or n_source * n_target."""
    n = cell.source_count
    if not cell.edge_type.homogeneous:
        return n * cell.target_count
    return n * (n - 1) if cell.edge_type.directed else n * (n - 1) // 2


def statistics(cell: Cell) -> dict[str, float | None]:
    """``edges`` and ``density`` = edges / slots; the density of a cell without slots is 0."""
    room = slots(cell)
    return {"edges": cell.count, "density": cell.count / room if room else 0.0}
