"""The fit of ``profiles``: every relation of persons and things, and what their edges carry."""

from __future__ import annotations

from pathlib import Path

from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import same_columns
from core.methods._shared.values.model import ValuedModel, with_values
from core.methods._shared.values.share import carrying
from core.methods.base import Progress
from core.methods.profiles.budget import noises
from core.methods.profiles.fit import Relation
from core.methods.profiles.model import ProfilesModel, frame_of
from core.methods.profiles.model import load as load_model
from core.methods.profiles.params import NAME, ProfilesParams
from core.methods.profiles.values import valued
from core.privacy import entropy
from core.privacy.accounting.plan import CellKey, PrivacyPlan
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph


def fit_graph(
    graph: PrivateGraph, plan: PrivacyPlan, params: ProfilesParams, progress: Progress
) -> ProfilesModel | ValuedModel:
    """Fit the model, at the plan's cost at most. O(edges log edges + things * periods)."""
    reads, noise, rng = graph.people_and_things(), noises(plan), entropy.noise_generator()
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    names = list(dict.fromkeys(purpose.split(" of ", 1)[1] for purpose in noise))
    cells: dict[CellKey, Columns] = {}
    bounds: dict[str, int] = {}
    for done, name in enumerate(names):
        progress("fit", done, len(names))
        relation = graph.schema.edge_type(name)
        shape = Shape(relation, counts[relation.source], counts[relation.target])
        frame = frame_of(graph.schema, shape)
        fitted = Relation(graph, reads, frame, noise, params, rng)
        cells[name, None] = fitted.fitted()
        bounds[name] = fitted.bound
    progress("fit", len(names), len(names))
    model = ProfilesModel(NAME, graph.schema, counts, params, same_columns(cells))
    if not params.attribute_share:
        return model
    carried = {each.name for each in carrying(graph.schema, tuple(names))}
    return valued(model, reads, noise, {name: bounds[name] for name in names if name in carried}, rng)


def load(folder: Path) -> ProfilesModel | ValuedModel:
    """Read the model that its ``save`` wrote."""
    return with_values(load_model(folder), folder, NAME, ProfilesParams)
