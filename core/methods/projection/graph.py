"""The fit of ``projection``: its relation, and what its edges carry."""

from __future__ import annotations

from pathlib import Path

from core.methods._shared.values.model import ValuedModel, with_values
from core.methods._shared.values.share import PURPOSE
from core.methods.base import Progress
from core.methods.projection import events, fit
from core.methods.projection.model import PeopleModel
from core.methods.projection.model import load as load_model
from core.methods.projection.params import NAME, PEOPLE_OF, ProjectionParams, between_groups, plain
from core.methods.projection.values import valued
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.reads.public_groups import group_attribute
from core.privacy.session.counted import CountedSession


def fit_graph(
    graph: CountedSession, plan: PrivacyPlan, params: ProjectionParams, progress: Progress
) -> PeopleModel | ValuedModel:
    """Fit the model, at the plan's cost at most. Of a graph in parts by the same reads."""
    progress("fit", 0, 1)
    granted = {each.purpose: pure_nano_epsilon(each.event) or 0 for each in plan.allotments}
    of_values = granted.pop(PURPOSE, 0)
    ((purpose, nano_epsilon),) = granted.items()
    name = purpose.removeprefix(PEOPLE_OF)
    people = graph.people(name)
    columns = (fit.fit if plain(people.relation) else events.fit)(people, nano_epsilon, params)
    progress("fit", 1, 1)
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    model = PeopleModel(NAME, graph.schema, counts, params, {(name, None): columns})
    if not of_values:
        return model
    groups = group_attribute(people.kind, params.groups)
    asked = between_groups(people.kind, people.relation, params)
    return valued(model, people, of_values, groups if asked else None)


def load(folder: Path) -> PeopleModel | ValuedModel:
    """Read the model that its ``save`` wrote."""
    return with_values(load_model(folder), folder, NAME, ProjectionParams)
