"""The fit of a composition: every relation by its own method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from core.graphs.schema import GraphSchema
from core.methods._shared.composition.model import ComposedModel, ComposedState, Fitted, folder_of
from core.methods._shared.composition.params import ComposedParams
from core.methods._shared.composition.parts import Part, parts_in, plan_of_part
from core.methods.base import Progress, StreamState, no_progress
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.session.private_graph import PrivateGraph


def fit(graph: PrivateGraph, plan: PrivacyPlan, params: ComposedParams, progress: Progress) -> ComposedModel:
    """Fit every relation by its own method. It costs what the plan does at most."""
    fitted = []
    for part in _followed(params, graph.schema, plan, progress):
        model = part.generator.fit(graph, plan_of_part(plan, graph.schema, part), part.params, no_progress)
        fitted.append(Fitted(part.relations, part.generator, model))
    return _model(graph, fitted)


def step(
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: ComposedParams,
    state: Path | None,
    progress: Progress,
) -> tuple[ComposedModel, ComposedState]:
    """Fit one snapshot of a live stream. Returned too is what each relation's next one may know."""
    fitted: list[Fitted] = []
    states: list[StreamState | None] = []
    for place, part in enumerate(_followed(params, graph.schema, plan, progress)):
        assert part.generator.step is not None
        own = None if state is None else state / folder_of(place)
        # A relation that leaves nothing to its next step has no folder.
        before = own if own is not None and own.is_dir() else None
        model, left = part.generator.step(
            graph, plan_of_part(plan, graph.schema, part), part.params, before, no_progress
        )
        fitted.append(Fitted(part.relations, part.generator, model))
        states.append(left)
    return _model(graph, fitted), ComposedState(states)


def _followed(
    params: ComposedParams, schema: GraphSchema, plan: PrivacyPlan, progress: Progress
) -> Iterator[Part]:
    parts = parts_in(params, schema, plan)
    for done, part in enumerate(parts):
        progress("fit", done, len(parts))
        yield part
    progress("fit", len(parts), len(parts))


def _model(graph: PrivateGraph, fitted: Sequence[Fitted]) -> ComposedModel:
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    return ComposedModel(graph.schema, counts, tuple(fitted))
