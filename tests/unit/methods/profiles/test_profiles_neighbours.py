"""Whole fits of ``profiles`` on every neighbour: what each read has to hide, beside the noise it paid for.

Every answer is one of its own, the same for all graphs, so that later questions are the same and the distance
between the true values is exactly what noise has to hide. Neighbours: all records that one person may have,
in all relations and steps together.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from core.graphs.schema import EdgeType, GraphSchema
from core.methods.base import PublicFacts
from core.methods.profiles import GENERATOR, columns
from core.methods.profiles import fit as fitting
from core.methods.profiles.params import ProfilesParams
from core.privacy.accounting.events import NANO, GaussianEvent
from core.privacy.reads import people_things
from core.privacy.reads.people_things import PeopleAndThings
from core.privacy.units import Unit
from tests.support.groups import in_part
from tests.support.replaced_persons import (
    CLASS,
    GENRES,
    PLAIN,
    TIMED,
    built,
    records,
    schema_of,
    some_records,
)
from tests.support.typed_neighbours import Told, told

DELTA_ATTO = 10**12
ITEM_FIRST = EdgeType(name="made", source="film", target="user", directed=True, functional=True)
SCHEMAS = {
    "timed, with classes": schema_of(TIMED, CLASS, GENRES, films=2),
    "once": schema_of(TIMED.model_copy(update={"once": True}), GENRES, films=2),
    "without time": schema_of(PLAIN, GENRES, films=4),
    "two relations": schema_of(PLAIN, TIMED, films=2),
    "classes over time": schema_of(CLASS.model_copy(update={"temporal": True})),
    "things of one person": schema_of(ITEM_FIRST, GENRES, films=3),
}


def fit(schema: GraphSchema, record: dict, folder: Path, delta_atto: int = DELTA_ATTO) -> Told:
    names = tuple(each.name for each in schema.edge_types if not each.public)
    facts = PublicFacts(schema, Unit.NODE, None, 2 * NANO, delta_atto, names)
    first, second = some_records(schema, 2)
    return told(GENERATOR, ProfilesParams(), facts, built(schema, [first, record, second]), folder)


def neighbours(schema: GraphSchema, folder: Path, most: int = 64) -> list[Told]:
    """A fit for every record that the person may have; for ``most`` of them, spread evenly, where there are
    more."""
    every = list(records(schema))
    chosen = every[:: math.ceil(len(every) / most)]
    return [fit(schema, record, folder / str(i)) for i, record in enumerate(chosen)]


def require_hidden(fits: list[Told]) -> float:
    """AssertionError unless the fits differ in what noise hides alone; the most that it is used, of 1."""
    one, most = fits[0], Fraction(0)
    sigmas = [
        event.noise_multiplier for event in one.plan.cells["*", None] if isinstance(event, GaussianEvent)
    ]
    for other in fits:
        assert other.recorded == one.recorded
        assert other.progress == one.progress
        assert other.files == one.files
        assert not other.asked.pure
        assert len(other.asked.gaussian) == len(sigmas)
    for number, sigma in enumerate(sigmas):
        (scale,) = {fit.asked.gaussian[number][1] for fit in fits}
        values = [fit.asked.gaussian[number][0] for fit in fits]
        assert len({value.shape for value in values}) == 1
        for a, b in itertools.combinations(values, 2):
            apart = sum((int(x) - int(y)) ** 2 for x, y in zip(a, b, strict=True)) * sigma**2 / scale**2
            assert apart <= 1, number
            most = max(most, apart)
    return float(most)


@in_part("schema", SCHEMAS.values(), 3, ids=SCHEMAS.keys())
def test_neighbours_differ_in_what_the_noise_hides_alone(schema, tmp_path):
    assert require_hidden(neighbours(schema, tmp_path)) > 0.99


@in_part("schema", SCHEMAS.values(), 2, ids=SCHEMAS.keys())
def test_without_a_delta_they_differ_in_what_laplace_noise_hides(schema, tmp_path):
    every = list(records(schema))
    chosen = every[:: math.ceil(len(every) / 32)]
    fits = [fit(schema, record, tmp_path / str(i), 0) for i, record in enumerate(chosen)]
    one, most = fits[0], Fraction(0)
    costs = [event.nano_epsilon for event in one.plan.cells["*", None]]
    for other in fits:
        assert (other.recorded, other.progress, other.files) == (one.recorded, one.progress, one.files)
        assert not other.asked.gaussian
        spent = [
            rate * int(np.abs(a - b).sum())
            for (a, rate), (b, _) in zip(one.asked.pure, other.asked.pure, strict=True)
        ]
        assert all(cost <= granted for cost, granted in zip(spent, costs, strict=True))
        most = max(most, sum(spent) / sum(costs))
    assert most > 0.4


@pytest.mark.parametrize("name", ["without time", "things of one person"])
def test_so_they_do_where_things_have_columns_of_their_own(name, monkeypatch, tmp_path):
    monkeypatch.setattr(columns, "WORTH", 1e6)
    monkeypatch.setattr(columns, "FLOOR", 1e-9)  # of these answers nearly all edges are one thing's
    asked: list[int] = []
    true = PeopleAndThings.second_moments

    def heard(self, relation, **given):
        asked.append(given["attributes"].shape[1])
        return true(self, relation, **given)

    monkeypatch.setattr(PeopleAndThings, "second_moments", heard)
    assert require_hidden(neighbours(SCHEMAS[name], tmp_path, 16)) > 0.99
    assert min(asked) > 1  # what is public of these things tells them apart in one direction


def test_things_that_are_singled_out_by_their_true_edges_are_caught(monkeypatch, tmp_path):
    """By the most edges in truth, not in what was paid for."""
    monkeypatch.setattr(columns, "WORTH", 1e6)
    schema = SCHEMAS["without time"]
    true = fitting.Relation._tastes

    def leaky(self, active, things):
        edges = self._reads._edges("owns", 3, 4)
        return true(self, active, things + 9 * np.bincount(edges.thing, minlength=4)[:, None])

    monkeypatch.setattr(fitting.Relation, "_tastes", leaky)
    with pytest.raises(AssertionError):
        require_hidden(neighbours(schema, tmp_path, 16))


@pytest.mark.parametrize("read", ["degree_histogram", "thing_totals"])
def test_a_true_number_beside_a_noisy_one_is_caught(read, monkeypatch, tmp_path):
    """Whether the number of edges is even shows in one entry."""
    true = getattr(PeopleAndThings, read)

    def leaky(self, relation, **given):
        found = true(self, relation, **given)
        values = found.values.copy()
        values[1] += -1000.0 if len(self._edges(relation, *self._sizes(relation)).person) % 2 else 1000.0
        return people_things.Noisy(values, found.deviation)

    monkeypatch.setattr(PeopleAndThings, read, leaky)
    with pytest.raises(AssertionError):
        require_hidden(neighbours(SCHEMAS["without time"], tmp_path, 8))


def test_unclipped_persons_are_caught(monkeypatch, tmp_path):
    monkeypatch.setattr(
        people_things,
        "clipped_weights",
        lambda squared, bound, radius: np.full(len(squared), math.isqrt(radius**2 // bound)),
    )
    with pytest.raises(AssertionError):
        require_hidden(neighbours(SCHEMAS["timed, with classes"], tmp_path))
