"""Graphs in parts, read and checked whole."""

from __future__ import annotations

from core.graphs.stored.parted import PartedGraph
from core.graphs.stored.parts import checked_part


def check_parted(graph: PartedGraph) -> int:
    """Read and check every part. Each is checked by :func:`~core.graphs.stored.parts.checked_part`; returned
    is the number of edges."""
    return sum(
        len(source)
        for cell in graph.cells()
        for part in cell.parts
        for source, *_ in checked_part(graph.folder, part, cell.slots)
    )
