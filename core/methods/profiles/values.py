"""What edges of persons and things carry.

It is read by sums over persons that are clipped as those over things are. Of each attribute of a relation,
and first of the number of an edge's records where each is kept: 1. how many records have a value of each bin,
with time in each of 8 periods; 2. of every thing, how many records have a value of each kind. Persons are
anonymous: nothing is read of what one person's edges carry, and who gives what to whom follows from the
things. What clipping took is undone by what it takes of a sampled graph. Reads and proofs:
:meth:`core.privacy.reads.people_things.PeopleAndThings.value_totals`; all else is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from core.graphs.columns.tables import EdgeTable
from core.graphs.schema.value_bins import bins_of
from core.graphs.views.records import asked_for
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import StoredCells
from core.methods._shared.values.bins import Division, divided
from core.methods._shared.values.fit import PERIODS, columns_of, rates_of, shares_of, shares_told
from core.methods._shared.values.memory import Nodes
from core.methods._shared.values.model import ValuedModel, paid_cells
from core.methods.base import no_progress
from core.methods.profiles.budget import RECORDS, VALUES, Read
from core.privacy.accounting.events import Pure
from core.privacy.entropy import Generator as Rng
from core.privacy.reads.people_things import Edges, Noise, Noisy, PeopleAndThings, clipped_totals, full_weight

if TYPE_CHECKING:
    from core.methods.profiles.model import ProfilesModel

_RADIUS = 2**20


def valued(
    model: ProfilesModel,
    reads: PeopleAndThings,
    noise: Mapping[str, Noise],
    bounds: Mapping[str, int],
    rng: Rng,
) -> ValuedModel:
    """Pay for what edges carry. ``bounds``: where persons are clipped, of each relation that carries some."""
    drawn = model.sample(rng, no_progress)
    cells: dict[tuple[str, int | None], Columns] = {}
    for name, bound in bounds.items():
        paid = partial(_paid, model, reads, noise, name, bound)
        cells |= paid_cells(model.schema.edge_type(name), drawn.edges[name], paid, rng)
    return ValuedModel(model, StoredCells(model.method, model.schema, model.nodes, model.params, cells))


def _paid(
    model: ProfilesModel,
    reads: PeopleAndThings,
    noise: Mapping[str, Noise],
    name: str,
    bound: int,
    place: int,
    records: EdgeTable,
) -> Columns:
    """Pay for the attribute of that place; the one after the last is the number of an edge's records."""
    declared = model.schema.edge_type(name).attributes
    attribute = declared[place].name if place < len(declared) else None
    return _Values(model, reads, noise, name, bound, attribute, records).paid()


class _Values:
    """One attribute of one relation, while it is read. ``drawn``: records of a drawn graph."""

    def __init__(
        self,
        model: ProfilesModel,
        reads: PeopleAndThings,
        noise: Mapping[str, Noise],
        name: str,
        bound: int,
        attribute: str | None,
        drawn: EdgeTable,
    ) -> None:
        relation = model.schema.edge_type(name)
        self._reads, self._noise, self._drawn, self._bound = reads, noise, drawn, bound
        self._asked = name, attribute
        self._fine = bins_of(asked_for(relation, attribute))
        self._first = relation.source == reads.person_type
        sides = model.nodes[relation.source], model.nodes[relation.target]
        self._persons, self._things = sides if self._first else sides[::-1]
        self._steps = model.schema.steps if relation.temporal else 1
        self._grid = model.schema.steps
        self._pure = isinstance(
            noise[Read(name, (RECORDS if attribute is None else VALUES)[1], 0.0).purpose], Pure
        )

    def paid(self) -> Columns:
        """Read both tables, and make of them what values are drawn by."""
        periods = np.arange(self._steps) * min(PERIODS, self._steps) // self._steps
        alike = np.zeros(self._things, dtype=np.int64)
        fine = self._read(0, alike, periods, np.arange(self._fine.count))
        histogram = shares_told(fine.values[0].sum(axis=0))
        division = divided(self._fine, histogram, self._things)
        mass = np.bincount(division.bins, weights=histogram)
        by_period: np.ndarray = np.zeros((len(fine.values[0]), len(mass)))
        np.add.at(by_period.T, division.bins, fine.values[0].T)
        # ``shares_of`` takes the scale of Laplace noise, whose deviation is sqrt(2) times that.
        scale = fine.deviation / np.sqrt(2)
        by_period = shares_of(by_period, mass[None, :], scale) if len(by_period) > 1 else mass[None, :]
        rates = self._rates(division, mass)
        # Nothing is read of persons: their ends tell nothing.
        unknown = np.full((self._persons, rates.shape[1]), np.nan)
        sides = [unknown, rates] if self._first else [rates, unknown]
        classes = [np.zeros(len(each)) for each in sides]
        overall = np.bincount(division.kinds, weights=mass)
        return columns_of(histogram, division, (sides, classes), overall, (by_period, periods))

    def _rates(self, division: Division, mass: np.ndarray) -> np.ndarray:
        """What every thing's records carry: the mean score, or the share of each bin."""
        together = np.zeros(self._steps, dtype=np.int64)
        own = np.arange(self._things)
        ordered = bool(len(division.score))
        labels = (division.kinds if ordered else np.arange(len(mass)))[division.bins]
        read = self._read(1, own, together, labels)
        undone = self._undone()
        counts, noise = read.values[:, 0] * undone, (read.deviation * undone) ** 2
        degrees = np.bincount(self._drawn_persons().thing, minlength=self._things)
        if not ordered:
            return rates_of(Nodes.read(counts, noise, degrees), division, mass)
        of_kind = np.bincount(division.kinds, weights=mass)
        score = np.bincount(division.kinds, weights=mass * division.score) / np.maximum(of_kind, 1e-12)
        sums = (counts @ score)[:, None]
        return rates_of(Nodes.read(sums, noise * float(score @ score), degrees), division, mass)

    def _read(self, by_thing: int, things: np.ndarray, periods: np.ndarray, labels: np.ndarray) -> Noisy:
        name, attribute = self._asked
        purpose = Read(name, (RECORDS if attribute is None else VALUES)[by_thing], 0.0).purpose
        grid = periods if len(periods) == self._grid else np.zeros(self._grid, dtype=np.int64)
        return self._reads.value_totals(
            *self._asked,
            things=things,
            periods=grid,
            labels=labels,
            bound=self._bound,
            noise=self._noise[purpose],
            purpose=purpose,
        )

    def _drawn_persons(self) -> Edges:
        ends = self._drawn.source.astype(np.int64), self._drawn.target.astype(np.int64)
        person, thing = ends if self._first else ends[::-1]
        return Edges(person, thing, np.zeros_like(person), self._persons, self._things)

    def _undone(self) -> float:
        """How many times more records a drawn graph has than clipped sums count of it."""
        edges = self._drawn_persons()
        none = np.zeros(len(edges.person), dtype=np.int64)
        clipped = clipped_totals(edges, none, 1, self._bound, _RADIUS, pure=self._pure)
        mass = clipped.sum() / full_weight(self._bound, _RADIUS, pure=self._pure)
        return len(edges.person) / max(float(mass), 1.0)
