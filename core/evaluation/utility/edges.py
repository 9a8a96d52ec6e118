"""Edge counts and density."""

from __future__ import annotations

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.view import Sized

SCALARS = (
    Metric("edges", "Edges", "Number of edges, as the relation stores them.", "edges", grows=1),
    Metric(
        "density", "Density", "Edges divided by possible edges; 0 where none is possible.", "edges", grows=-1
    ),
)


def scalars(view: Sized, suite: Suite) -> dict[str, Value]:
    """Compute ``edges`` and ``density``. O(1)."""
    return {"edges": view.stored, "density": view.stored / view.slots if view.slots else 0.0}
