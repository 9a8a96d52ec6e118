"""What edges of people carry.

Two looks at the number of records of each class of values; under a declared bound also values between public
groups. Nothing is read of a single person's edges: noise would hide it. Classes are bins, or even stretches
of them where noise would hide single ones. Reads and proofs:
:meth:`core.privacy.reads.people.People.by_value`, :mod:`core.privacy.reads.bounded_values`; all else is
post-processing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.graphs.columns.tables import EdgeTable
from core.methods._shared.degrees.fitted import DegreeLaw
from core.methods._shared.frame.columns import Columns
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
from core.methods._shared.values.model import ValuedModel, paid_cells
from core.methods._shared.values.share import divided as divided_share
from core.methods.base import no_progress
from core.methods.projection.law import LOST, kept_share
from core.methods.projection.looks import variance
from core.methods.projection.model import PeopleModel
from core.methods.projection.params import HISTOGRAM, ROUGHLY
from core.privacy.accounting.events import NANO
from core.privacy.entropy import noise_generator
from core.privacy.limits import MAX_SENSITIVITY
from core.privacy.mechanisms.projection import MAX_THETA
from core.privacy.reads.people import People

MOST_CLASSES = 64
CLASS_THETA = 4.0  # in mean numbers of a person's records of a class, where all classes are alike
CLASS_NOISE = 0.5  # of the records of a mean class: more of them are not told apart
THETAS = (1.0, 64.0), 12
"""Thetas of the second look, in mean numbers of a person's records of a class; the best is taken."""
PARTS = 16  # shares of a person's records at which what a projection loses is computed


class Items(NamedTuple):
    """A person's records, or edges. The law of their number, and how many there are in all; paid for."""

    law: DegreeLaw
    total: float

    def times(self, more: float) -> Items:
        """Return the records of edges with so many each."""
        return Items(DegreeLaw(self.law.grid * more, self.law.mass), self.total * more)


def valued(model: PeopleModel, people: People, nano_epsilon: int, group: str | None) -> ValuedModel:
    """Pay for what edges carry, at ``nano_epsilon`` in all. ``group``: the public attribute that groups
    persons, where values are read between its groups."""
    rng, relation = noise_generator(), people.relation
    numbers, each = divided_share(relation, nano_epsilon)
    known = Items(*model.known())
    drawn = model.sample(rng, no_progress).edges[relation.name]
    declared = relation.attributes

    def paid(place: int, records: EdgeTable) -> Columns:
        name, cost = (declared[place].name, each) if place < len(declared) else (None, numbers)
        own = known if name is None else known.times(records.count / max(drawn.count, 1))
        return _paid(people, name, own, records, group, cost)

    cells = paid_cells(relation, drawn, paid, rng)
    return ValuedModel(model, StoredCells(model.method, model.schema, model.nodes, model.params, cells))


def _paid(
    people: People, name: str | None, items: Items, drawn: EdgeTable, group: str | None, nano_epsilon: int
) -> Columns:
    """Pay for one attribute's tables, as :func:`core.methods._shared.values.fit.paid` names them.

    ``drawn``: records of a drawn graph; ``group``: the public attribute that groups persons.
    """
    bins = people.bins(name)
    first, rest = (nano_epsilon, 0) if group is None else divide(nano_epsilon, HISTOGRAM)
    histogram = histogram_of(people, name, items, first)
    division = divided(bins, histogram, people.count)
    mass = np.bincount(division.bins, weights=histogram)
    classes = np.zeros(people.count, dtype=np.int64)
    pairs = np.bincount(division.kinds, weights=mass)
    if group is not None:
        values = people.bounded(people.kind.degree_bound or 0).values(name)
        most = class_count(drawn.count, noise_of(values, rest), division, undirected=True)
        classes = people.groups(group, most)
        pairs = pair_shares(between_classes(values, (classes,), division, rest), division, mass)
    # Nothing is read of single persons: their values follow from their edges' classes.
    unknown = np.full((people.count, 1 if len(division.score) else len(mass)), np.nan)
    sides = 2 if people.relation.directed else 1
    periods = mass[None, :], np.zeros(people.steps)
    return columns_of(histogram, division, ([unknown] * sides, [classes] * sides), pairs, periods)


def histogram_of(people: People, name: str | None, items: Items, nano_epsilon: int) -> np.ndarray:
    """Measure each bin's share of records, float64 (bins,).

    It takes two looks; even inside a class of bins.
    """
    bins, (rough, fine) = people.bins(name), divide(nano_epsilon, ROUGHLY)
    mean, classes = float(items.law.grid @ items.law.mass), min(bins.count, MOST_CLASSES)
    # Fewer classes each have more records, and a person moves them by less in all.
    while (
        classes > 2 and classes * _theta(mean, classes) * NANO / rough > CLASS_NOISE * items.total / classes
    ):
        classes = -(-classes // 2)
    labels = np.arange(bins.count) * classes // bins.count
    first = _looked(people, name, items, labels, [_theta(mean, classes)] * classes, rough)
    shares = shares_told(first[0])
    second = _looked(people, name, items, labels, _thetas(people, name, items, shares, fine), fine)
    # By precision.
    weights = 1 / first[1], 1 / second[1]
    combined = (weights[0] * first[0] + weights[1] * second[0]) / (weights[0] + weights[1])
    return np.asarray((shares_told(combined) / np.bincount(labels))[labels])


def _theta(mean: float, classes: int) -> int:
    return int(np.clip(round(CLASS_THETA * mean / classes), 1, _most(classes)))


def _most(classes: int) -> int:
    return min(MAX_THETA, MAX_SENSITIVITY // classes)


def _bound(people: People, name: str | None) -> int | None:
    """The most records of a person that public facts allow."""
    bound, records = people.kind.degree_bound, people.relation.records_per_slot or 1
    return None if bound is None else bound * (1 if name is None else records)


def _thetas(
    people: People, name: str | None, items: Items, shares: np.ndarray, nano_epsilon: int
) -> list[int]:
    """The thetas at which noise and what they cut off by the rough shares are least; under a bound that which
    cuts nothing is one of the choices."""
    mean, bound = float(items.law.grid @ items.law.mass), _bound(people, name)
    most = _most(len(shares)) if bound is None else min(bound, _most(len(shares)))
    found, least = [], np.inf
    times = [*np.geomspace(*THETAS[0], THETAS[1]), *([np.inf] if bound is not None else [])]
    for each in times:
        thetas = np.full(len(shares), most)
        if np.isfinite(each):
            thetas = np.clip(np.rint(each * mean * shares), 1, most).astype(np.int64)
        # A person replaced moves no more than all of its records, before and after.
        moved = int(thetas.sum()) if bound is None else min(int(thetas.sum()), 2 * bound)
        held = np.array(
            [_kept(items, float(part), int(cap), bound) for part, cap in zip(shares, thetas, strict=True)]
        )
        missed = float(((LOST * (1 - held) * shares * items.total) ** 2).sum())
        missed += len(shares) * variance(moved, nano_epsilon)
        if missed < least:
            found, least = thetas.tolist(), missed
    return found


def _kept(items: Items, part: float, theta: int, bound: int | None) -> float:
    return 1.0 if bound is not None and theta >= bound else kept_share(items.law, part, theta)


def _looked(
    people: People, name: str | None, items: Items, labels: np.ndarray, thetas: list[int], nano_epsilon: int
) -> tuple[np.ndarray, np.ndarray]:
    """Records of each class with the projections undone, and about the squared error of each."""
    read, bound = people.by_value(name, labels, thetas), _bound(people, name)
    purpose = f"values of {people.bins(name).attribute.name}"
    kept = read.counts(nano_epsilon=nano_epsilon, purpose=purpose).astype(np.float64)
    parts = np.geomspace(1e-3, 1.0, PARTS)
    caps, place = np.unique(thetas, return_inverse=True)
    held = np.array([[_kept(items, float(part), int(cap), bound) for part in parts] for cap in caps])
    found, share = kept, np.ones(len(kept))
    for _ in range(4):  # a projection takes more of a frequent value
        part = shares_told(found)
        share = np.array([np.interp(p, parts, held[row]) for p, row in zip(part, place, strict=True)])
        found = kept / share
    lost = LOST * (1 - share) * np.maximum(found, 0)
    return found, variance(read.moved, nano_epsilon) / share**2 + lost**2
