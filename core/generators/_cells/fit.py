"""The pass over the cells of a plan, and the one number that these methods pay for first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.generators._cells.model import DrawnModel, Ends
from core.generators.base import Progress
from core.privacy.events import pure_nano_epsilon
from core.privacy.plan import PrivacyPlan
from core.privacy.private_graph import PrivateCell, PrivateGraph
from core.privacy.randomised_response import slot_count


def draw_cells(
    graph: PrivateGraph,
    plan: PrivacyPlan,
    progress: Progress,
    draw: Callable[[PrivateCell, int], Ends],
) -> DrawnModel:
    """The model of what ``draw(cell, nano_epsilon)`` gives for every allotted cell, in the plan's order."""
    cells: dict[tuple[str, int | None], Ends] = {}
    for done, allotment in enumerate(plan.allotments):
        progress("fit", done, len(plan.allotments))
        cell = graph.cell(allotment.edge_type, allotment.step)
        nano_epsilon = pure_nano_epsilon(allotment.event) or 0
        cells[allotment.edge_type, allotment.step] = draw(cell, nano_epsilon)
    progress("fit", len(plan.allotments), len(plan.allotments))
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    return DrawnModel(graph.schema, counts, cells)


def noisy_count(cell: PrivateCell, nano_epsilon: int) -> int:
    """The cell's number of edges with discrete Laplace noise, held within 0..slots.

    Sensitivity: 1. Unit: one edge of the cell. Costs ``nano_epsilon``; the limits are public.
    """
    noisy = cell.laplace("edge_count", nano_epsilon=nano_epsilon, purpose="edge count")
    return int(np.clip(noisy[0], 0, slot_count(cell.shape)))
