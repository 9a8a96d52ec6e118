"""The fit of ``keyframe``: a whole grid, or one snapshot of a live stream after those before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from core.graphs.graph import Graph
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import CellsModel, drawn_by_cell, load_stored
from core.methods.base import Progress
from core.methods.keyframe.budget import NAME, KeyframeParams, divide, granted_to
from core.methods.keyframe.draw import draw
from core.methods.keyframe.state import KeyframeState, load_state
from core.methods.keyframe.step import Memory, fit_step
from core.privacy import entropy
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph


def fit(graph: PrivateGraph, plan: PrivacyPlan, params: KeyframeParams, progress: Progress) -> CellsModel:
    """Fit a whole grid, at the plan's cost. O(steps * n log n + m)."""
    return _run(graph, plan, params, {}, progress)[0]


def fit_snapshot(
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: KeyframeParams,
    state: Path | None,
    progress: Progress,
) -> tuple[CellsModel, KeyframeState]:
    """Fit one snapshot of a live stream. Returned too are the filters for the next. O(n log n + m)."""
    memory = load_state(state) if state is not None else {}
    before = {name: known.keys for name, known in memory.items()}
    model, memory = _run(graph, plan, params, memory, progress)
    return live(model, memory, before)


def _run(
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: KeyframeParams,
    memory: dict[str, Memory],
    progress: Progress,
) -> tuple[CellsModel, dict[str, Memory]]:
    budgets = granted_to(plan)
    rng = entropy.noise_generator()
    cells: dict[tuple[str, int | None], Columns] = {}
    for done, ((name, step), granted) in enumerate(budgets.items()):
        progress("fit", done, len(budgets))
        budget = divide(params, granted)
        cells[name, step], memory[name] = fit_step(
            graph, (name, step), budget, memory.get(name), plan.first_step + step, rng
        )
    progress("fit", len(budgets), len(budgets))
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    return StreamModel(NAME, graph.schema, counts, params, cells, draw), memory


def load(folder: Path) -> CellsModel:
    """Read the model that its ``save`` wrote."""
    return StreamModel(**vars(load_stored(folder, NAME, KeyframeParams)), draw=draw)


class StreamModel(CellsModel):
    """Paid-for columns of every step, in order. A step is sampled given the sample of the one before."""

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw one synthetic graph, step after step; see :func:`drawn_by_cell`."""
        last: dict[str, np.ndarray] = {}

        def drawn(name: str, columns: Columns) -> np.ndarray:
            last[name] = draw(columns, self.shape(name).source_count, self.params, rng, last.get(name))
            return last[name]

        return drawn_by_cell(self.schema, self.nodes, self.cells, drawn, rng, progress)


def live(
    model: CellsModel, memory: dict[str, Memory], before: dict[str, np.ndarray]
) -> tuple[CellsModel, KeyframeState]:
    """Draw a live snapshot's edges, which the model then holds. The next one may know them.

    What was published of the one before is in ``before``. Post-processing.
    """
    rng = noise_generator()
    cells: dict[tuple[str, int | None], Columns] = {}
    for (name, step), columns in model.cells.items():
        keys = draw(columns, model.shape(name).source_count, model.params, rng, before.get(name))
        cells[name, step] = {**columns, "key": keys}
        memory[name] = replace(memory[name], keys=keys)
    return replace(model, cells=cells), KeyframeState(memory)
