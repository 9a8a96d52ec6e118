"""Counts of the motifs of each size."""

from __future__ import annotations

from core.evaluation.metric import Value
from core.evaluation.utility import clustering
from core.evaluation.utility.motifs import five, four, sampled
from core.evaluation.view import UndirectedView


def on_three(view: UndirectedView) -> dict[str, Value]:
    """Count the induced path and triangle on 3 nodes. The counts are always exact."""
    triangles = 0 if view.bipartite else int(view.once(clustering.triangles).sum()) // 3
    return {"motif_3_path": four.stars(view.degrees, 2) - 3 * triangles, "motif_3_triangle": triangles}


def on_four(view: UndirectedView) -> dict[str, Value]:
    """Count the induced motifs on 4 nodes, exact or estimated."""
    exact = four.induced_four(view)
    return sampled.induced(view, 4) if exact is None else dict(exact)


def on_five(view: UndirectedView) -> dict[str, Value]:
    """Count the induced motifs on 5 nodes, exact or estimated."""
    exact = five.induced_five(view)
    return sampled.induced(view, 5) if exact is None else dict(exact)
