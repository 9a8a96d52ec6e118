"""The fit of ``anchored``: every relation within what it was granted."""

from __future__ import annotations

from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import same_columns
from core.methods._shared.relations.fit import fit_relation
from core.methods._shared.relations.params import AnchoredParams
from core.methods.anchored import directions
from core.methods.anchored.allotted import NAME, granted, require_room
from core.methods.anchored.budget import lazy_relations, require_kept
from core.methods.anchored.model import AnchoredModel
from core.methods.base import Progress
from core.privacy import entropy
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.session.private_graph import PrivateGraph


def fit(graph: PrivateGraph, plan: PrivacyPlan, params: AnchoredParams, progress: Progress) -> AnchoredModel:
    """Fit the model, at the plan's cost at most. O(edges in and out + nodes * steps)."""
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    lazy = lazy_relations(plan, graph.schema, counts, params)
    relations = granted(plan)
    require_room(relations, graph.schema, counts)  # before anything is read: the sizes are public
    require_kept(params, plan, graph.schema, counts)
    rng = entropy.noise_generator()
    cells: dict[tuple[str, int | None], Columns] = {}
    for done, (name, grant) in enumerate(relations.items()):
        progress("fit", done, len(relations))
        private = [graph.cell(name, step) for step in grant.steps]
        found = fit_relation(private, grant.nano_epsilon, params, name in lazy, rng)
        cells |= {(name, step): columns for step, columns in zip(grant.steps, found, strict=True)}
    for name, grant in relations.items():
        if grant.directions is not None:
            score = directions.fitted(graph, name, cells, grant.directions, params, rng)
            first = name, grant.steps[0]
            cells[first] = {**cells[first], **score}
    progress("fit", len(relations), len(relations))
    return AnchoredModel(NAME, graph.schema, counts, params, same_columns(cells))
