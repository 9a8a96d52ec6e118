"""What edges in parts carry: whole fits against every neighbour, the law of their noise, planted mistakes.

A unit node, which hides persons, refuses values in parts (``test_persons_in_parts.py``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from scipy import stats

from core.graphs.graph import Graph
from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.stored.parted import PartedGraph
from core.methods import registry
from core.methods._shared.values import fit as value_fit
from core.methods.base import FittedModel, Progress, PublicFacts, no_progress
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import CellKey, PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.reads.edge_values import EdgeValueReads
from core.privacy.session.counted import PrivateParts
from core.privacy.units import Unit
from tests.support.groups import in_part
from tests.support.parted_persons import in_parts
from tests.support.typed_neighbours import (
    OF_VALUES,
    Cells,
    Told,
    built,
    cells_of,
    one_edge,
    one_pair,
    one_window,
    require_hidden,
    schema_of,
    some,
    told,
)

NANO, WINDOW, VALUES = 10**9, 2, 3
STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, VALUES), aggregate="max")
SORT = EdgeAttribute(name="sort", kind="category", categories=("a", "b", "c"), aggregate="min")
CARRIED: dict[str, Any] = {"attributes": (STARS, SORT)}
KNOWS = EdgeType(name="knows", source="user", target="user", **CARRIED)
CITES = EdgeType(name="cites", source="film", target="film", directed=True, **CARRIED)
HAS = EdgeType(name="has", source="film", target="genre", **CARRIED)
CALLS = KNOWS.model_copy(update={"name": "calls", "temporal": True})
MEETS = EdgeType(name="meets", source="user", target="user", temporal=True)
SHOWS = HAS.model_copy(update={"name": "shows", "temporal": True})
COUNTS = {"triangle_share": 0, "clustering_share": 0, "product_share": 0, "groups": 1}
PURPOSES = {
    "histogram": (OF_VALUES, "histogram"),
    "by_node": ("of sort", "nodes"),
    "node_sums": ("of stars", "nodes"),
    "by_classes": (OF_VALUES, "classes"),
    "by_step": (OF_VALUES, "by step"),
}
"""The reads, and what the purposes of each have."""


@dataclass(frozen=True)
class Case:
    """A method with the parameters by which it reads parts, a unit, and relations."""

    method: str
    unit: Unit
    relations: tuple[EdgeType, ...]
    share: float = 0.4

    @property
    def schema(self) -> GraphSchema:
        return schema_of(*self.relations)

    @property
    def asked(self) -> tuple[Any, Any, PublicFacts]:
        """The method, its parameters and the public facts of a job."""
        generator = registry.get(self.method)
        counted = COUNTS if self.method == "dcsbm" else {"evidence": "none"}
        params = generator.Params(**counted, attribute_share=self.share)
        names, window = tuple(each.name for each in self.relations), WINDOW * (self.unit is Unit.W_EVENT)
        return generator, params, PublicFacts(self.schema, self.unit, window or None, 8 * NANO, 0, names)

    def fitted(self, graph: Graph, meter: Meter, plan: PrivacyPlan, progress: Progress) -> FittedModel:
        """Fit the graph in parts of two edges, about."""
        generator, params, _ = self.asked
        with_parts = PrivateParts(in_parts(graph, Path(mkdtemp()), 8), meter)
        model: FittedModel = generator.sharding.fit_parts(with_parts, plan, params, progress)
        return model

    def told(self, cells: Cells, folder: Path, turned: dict[tuple[CellKey, Any], int]) -> Told:
        return told(*self.asked, built(self.schema, cells, turned), folder, fit=self.fitted)


CASES = {
    "undirected": Case("dcsbm", Unit.EDGE, (KNOWS,)),
    "directed, and two types": Case("anchored", Unit.EDGE, (CITES, HAS)),
    "events": Case("dcsbm", Unit.EVENT, (CALLS, KNOWS)),
    "events of two types": Case("anchored", Unit.EVENT, (SHOWS,)),
    "windows": Case("anchored", Unit.W_EVENT, (SHOWS, KNOWS)),
    "pairs": Case("anchored", Unit.PAIR, (CITES, HAS, MEETS)),
}


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written in parts goes with the test; few edges have classes too."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(value_fit, "WORTH", 1e9)


def neighbours(case: Case, cells: Cells) -> Iterator[tuple[Cells, Cells, CellKey | None]]:
    """Two neighbours, and under units edge and event the cell in which they differ."""
    if case.unit is Unit.PAIR:
        yield from ((without, other, None) for without, other in one_pair(case.schema, cells))
    elif case.unit is Unit.W_EVENT:
        yield from ((cells, other, None) for other in one_window(case.schema, cells, WINDOW))
    else:
        yield from ((cells, other, cell) for cell, other in one_edge(case.schema, cells))


def furthest(case: Case, folder: Path, share: float = 0.5) -> dict[str, float]:
    """Compare whole fits of a graph with those of all neighbours: an edge more or less, of each value, and
    each other value of an edge. How much of its charge each read of values told them apart, at most."""
    cells, found, held = some(case.schema, share), dict[str, float](), dict[Any, Told]()

    def fit(of: Cells, turned: dict[tuple[CellKey, Any], int]) -> Told:
        name = repr((sorted(of.items(), key=str), sorted(turned.items(), key=str)))
        if name not in held:
            held[name] = case.told(of, folder / str(len(held)), turned)
        return held[name]

    def compare(one: Told, other: Told, cell: CellKey | None, times: int) -> None:
        for purpose, far in require_hidden(one, other, cell, times):
            if purpose.startswith(OF_VALUES):
                found[purpose] = max(found.get(purpose, 0.0), float(far))

    for one, other, cell in neighbours(case, cells):
        apart = [(key, pair) for key in other for pair in sorted(one[key] ^ other[key])]
        # What a read of several cells is charged: a step's edge in each, of a pair all for the one charge.
        times = max((sum(key[0] == name for key, _ in apart) for name, _ in cells), default=1)
        times = 1 if case.unit is Unit.PAIR else times
        for turn in range(VALUES):
            turned = dict.fromkeys(apart, turn)
            compare(fit(one, turned), fit(other, turned), cell, times)
    for key in cells_of(case.schema):
        for pair, turn in itertools.product(sorted(cells[key]), range(1, VALUES)):
            edge = None if case.unit in (Unit.PAIR, Unit.W_EVENT) else key
            compare(fit(cells, {}), fit(cells, {(key, pair): turn}), edge, 2)
    return found


@in_part("case", CASES, 3)
def test_whole_fits_of_parts_lie_within_the_plan_for_every_neighbour(case, tmp_path):
    """And some neighbour uses up what each read of values is charged, so that half its noise would show."""
    found = furthest(CASES[case], tmp_path / "fits")
    assert len(found) >= 6
    assert all(far >= 1 for far in found.values()), found


def halved(read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read has half the noise that it is charged for."""
    sound = getattr(EdgeValueReads, read)

    def half(*given: Any, **asked: Any) -> np.ndarray:
        with pytest.MonkeyPatch.context() as patch:
            laplace = mechanisms.discrete_laplace
            patch.setattr(
                mechanisms, "discrete_laplace", lambda values, l1, cost: laplace(values, l1, 2 * cost)
            )
            noisy: np.ndarray = sound(*given, **asked)
        return noisy

    monkeypatch.setattr(EdgeValueReads, read, half)


def twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of edges come twice."""
    sound = PartedGraph.records
    again = lambda *of: itertools.chain(sound(*of), sound(*of))  # noqa: E731
    monkeypatch.setattr(PartedGraph, "records", again)


def one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a pair only one direction is said to count."""
    monkeypatch.setattr("core.privacy.reads.edge_values.records_of_unit", lambda *_: 1)


MISTAKES = {
    **{read: ("events", partial(halved, read), ".*: ".join(of)) for read, of in PURPOSES.items()},
    "groups that come twice": ("undirected", twice, OF_VALUES),
    "one direction of a pair": ("pairs", one_way, OF_VALUES),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_half_the_noise_or_sensitivity_of_a_read_is_found_by_comparing_whole_fits(
    mistake, tmp_path, monkeypatch
):
    case, planted, purpose = MISTAKES[mistake]
    planted(monkeypatch)
    with pytest.raises(AssertionError, match=purpose):
        furthest(CASES[case], tmp_path / "fits")


@pytest.mark.parametrize("case", ["undirected", "pairs"])
def test_the_noise_of_whole_fits_of_parts_has_the_law_that_is_charged(case, monkeypatch):
    """Of every read of the fits, by its own charge and what a unit moves it; half of it would be found."""
    chosen, drawn = CASES[case], list[tuple[np.ndarray, int]]()
    laplace = mechanisms.discrete_laplace

    def seen(values: np.ndarray, moved: int, cost: int) -> np.ndarray:
        noisy = laplace(values, moved, cost)
        drawn.append((noisy - values, moved))
        return noisy

    monkeypatch.setattr(mechanisms, "discrete_laplace", seen)
    generator, params, facts = chosen.asked
    graph, plan = built(chosen.schema, some(chosen.schema, 0.5)), generator.plan(params, facts)
    noise, rates, rng = list[np.ndarray](), list[np.ndarray](), np.random.default_rng(1)
    for _ in range(60):
        drawn.clear()
        meter = Meter(plan, MemoryRecorder())
        chosen.fitted(graph, meter, plan, no_progress)
        charged = [pure_nano_epsilon(entry.event) for entry in meter.transcript]
        for (off, moved), cost in zip(drawn, charged, strict=True):
            noise.append(off)
            rates.append(np.full(len(off), cost / NANO / moved))
    off, rate = np.concatenate(noise), np.concatenate(rates)

    def even(of: np.ndarray) -> float:
        """Where noise of such rates would stand in its law, between 0 and 1: evenly, if it is that."""
        ratio = np.exp(-of)

        def below(at: np.ndarray) -> np.ndarray:
            tail = ratio ** np.abs(np.where(at < 0, at, at + 1)) / (1 + ratio)
            return np.where(at < 0, tail, 1 - tail)

        low, high = below(off - 1), below(off)
        return float(stats.kstest(low + (high - low) * rng.random(len(off)), "uniform").pvalue)

    assert len(off) > 2000
    assert even(rate) > 1e-6
    assert even(rate / 2) < 1e-12
