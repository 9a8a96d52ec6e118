"""The stored graph as a fit sees it. The release of that fit is compared with it so."""

from __future__ import annotations

from pathlib import Path

from core.graphs.graph import Graph
from core.graphs.stored.whole import read_graph
from core.graphs.views.pseudonyms import in_id_order
from core.graphs.views.sensitive import FILE as SENSITIVE


def read_original(folder: Path, *, snapshot: bool, protected_values: bool) -> Graph:
    """Read the original graph in ``folder``. Its nodes are in the order of their ids.

    In the order as stored where it is a ``snapshot`` of a stream, all of which have that of the first, or has
    a list of sensitive links, which numbers nodes so. ``protected_values``: as ``read_graph`` takes it.
    """
    graph = read_graph(folder, protected_values=protected_values)
    return graph if snapshot or (folder / SENSITIVE).exists() else in_id_order(graph)
