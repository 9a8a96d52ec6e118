"""What edges of people carry: one histogram, and values between public groups, under the declared bound.

Nothing is read of a single person's edges: at 2 degree_bound records a person, noise would hide it. Reads and
proofs: :mod:`core.privacy.reads.bounded_values`; all else is post-processing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.graphs.columns.tables import EdgeTable
from core.methods._shared.frame.model import StoredCells
from core.methods._shared.frame.plan import divide
from core.methods._shared.values.bins import divided
from core.methods._shared.values.fit import (
    between_classes,
    class_count,
    columns_of,
    noise_of,
    pair_shares,
    shares_told,
)
from core.methods._shared.values.share import divided as divided_share
from core.methods._shared.values.stage import ValuedModel, paid_cells
from core.methods.base import no_progress
from core.methods.projection.params import HISTOGRAM
from core.privacy.entropy import noise_generator

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.methods.projection.model import PeopleModel
    from core.privacy.reads.bounded_values import BoundedValues
    from core.privacy.reads.people import People


def valued(model: PeopleModel, people: People, nano_epsilon: int, group: str | None) -> ValuedModel:
    """Pay for what edges carry, at ``nano_epsilon`` in all. ``group``: the public attribute that groups
    persons."""
    rng, relation = noise_generator(), people.relation
    numbers, each = divided_share(relation, nano_epsilon)
    graph = people.bounded(people.kind.degree_bound or 0)

    declared = relation.attributes

    def paid(place: int, records: EdgeTable) -> Columns:
        name, cost = (declared[place].name, each) if place < len(declared) else (None, numbers)
        return _paid(people, graph.values(name), records, group, cost)

    cells = paid_cells(relation, model.sample(rng, no_progress).edges[relation.name], paid, rng)
    return ValuedModel(model, StoredCells(model.method, model.schema, model.nodes, model.params, cells))


def _paid(
    people: People, values: BoundedValues, drawn: EdgeTable, group: str | None, nano_epsilon: int
) -> Columns:
    """Pay for one attribute's tables, as :func:`core.methods._shared.values.fit.paid` names them.

    ``drawn``: records of a drawn graph; ``group``: the public attribute that groups persons.
    """
    first, rest = (nano_epsilon, 0) if group is None else divide(nano_epsilon, HISTOGRAM)
    told = values.histogram(nano_epsilon=first, purpose=f"values of {values.bins.attribute.name}")
    histogram = shares_told(told)
    division = divided(values.bins, histogram, people.count)
    mass = np.bincount(division.bins, weights=histogram)
    classes = np.zeros(people.count, dtype=np.int64)
    pairs = np.bincount(division.kinds, weights=mass)
    if group is not None:
        most = class_count(drawn.count, noise_of(values, rest), division, undirected=True)
        classes = people.groups(group, most)
        pairs = pair_shares(between_classes(values, (classes,), division, rest), division, mass)
    unknown = np.full((people.count, 1 if len(division.score) else len(mass)), np.nan)
    periods = mass[None, :], np.zeros(1)
    return columns_of(histogram, division, ([unknown], [classes]), pairs, periods)
