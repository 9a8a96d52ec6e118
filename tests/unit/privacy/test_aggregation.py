"""Noisy neighbour sums: the grid, the sensitivity by brute force, the noise's law, the metered session."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from core.errors import InvalidInput, MeterClosed, NotAccepted, PlanExceeded
from core.graphs.graph import Cell
from core.graphs.schema import EdgeType
from core.privacy.accounting.events import GaussianEvent
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import aggregation
from core.privacy.mechanisms.aggregation import noisy_sums, question_of
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.generating import graph_of, random_pairs

BIPARTITE = Shape(EdgeType(source="a", target="b"), 6, 4)
DIRECTED = Shape(EdgeType(directed=True), 5, 5)
UNDIRECTED = Shape(EdgeType(), 5, 5)
ASKED = [(BIPARTITE, "source"), (BIPARTITE, "target"), (DIRECTED, "target"), (UNDIRECTED, "both")]


def cell(shape, pairs):
    source, target = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    return Cell(shape.edge_type, None, shape.source_count, shape.target_count, source, target)


def unit_rows(rows, columns, seed=0):
    values = np.random.default_rng(seed).normal(size=(rows, columns))
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def others_of(shape, side):
    return shape.source_count if side == "target" else shape.target_count


def without_noise(monkeypatch):
    monkeypatch.setattr(
        aggregation.samplers, "add_discrete_gaussian_wide", lambda rng, values, scale: values.astype(np.int64)
    )


def sums(question, cells, monkeypatch):
    without_noise(monkeypatch)
    return noisy_sums(cells, question)


def test_rows_are_the_sums_over_neighbours(monkeypatch):
    features = unit_rows(4, 3)
    cells = [cell(BIPARTITE, [(0, 0), (0, 2), (5, 3)]), cell(BIPARTITE, [(0, 2)])]
    found = sums(question_of(BIPARTITE, features, "source", 1), cells, monkeypatch)
    expected = np.zeros((6, 3))
    expected[0], expected[5] = features[0] + 2 * features[2], features[3]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_an_undirected_edge_adds_to_both_ends(monkeypatch):
    features = unit_rows(5, 2)
    found = sums(
        question_of(UNDIRECTED, features, "both", 1), [cell(UNDIRECTED, [(0, 3), (3, 4)])], monkeypatch
    )
    np.testing.assert_allclose(found[3], features[0] + features[4], atol=1e-4)
    np.testing.assert_allclose(found[0], features[3], atol=1e-4)


@given(st.integers(1, 12), st.floats(0.01, 500), st.integers(0, 2**32))
def test_points_never_leave_the_ball(columns, sigma, seed):
    question = question_of(
        Shape(EdgeType(source="a", target="b"), 3, 9), unit_rows(9, columns, seed), "source", sigma
    )
    lengths = [sum(int(x) ** 2 for x in row) for row in question.points.tolist()]
    assert max(lengths) <= question.radius**2
    assert min(lengths) > 0.98 * question.radius**2 or question.radius < 2**12
    assert question.scale <= 2**24 + 1


@pytest.mark.parametrize(("shape", "side"), ASKED)
def test_one_edge_moves_the_sum_by_no_more_than_the_noise_is_made_for(shape, side, monkeypatch):
    sigma = Fraction(3, 2)
    question = question_of(shape, unit_rows(others_of(shape, side), 3), side, sigma)
    pairs = [(0, 1), (2, 3), (1, 3), (0, 2)]
    for i in range(len(pairs)):
        with_edge = sums(question, [cell(shape, pairs)], monkeypatch)
        without = sums(question, [cell(shape, pairs[:i] + pairs[i + 1 :])], monkeypatch)
        apart = np.rint((with_edge - without) * question.radius).astype(int)
        assert (apart**2).sum() * sigma**2 <= question.scale**2
        assert (apart**2).sum() * sigma**2 > 0.99 * question.scale**2  # and by about as much


def test_a_unit_of_two_edges_gets_twice_the_noise():
    one, two = (question_of(DIRECTED, unit_rows(5, 3), "source", 64, times) for times in (1, 2))
    assert two.scale / two.radius == pytest.approx(2 * one.scale / one.radius, rel=1e-4)


def test_the_noise_is_gaussian_of_the_stated_size():
    shape = Shape(EdgeType(source="a", target="b"), 4_000, 2)
    question = question_of(shape, unit_rows(2, 5), "source", 3)
    found = noisy_sums([cell(shape, [])], question, rng=np.random.default_rng(0))
    assert found.shape == (4_000, 5)
    assert kstest(found.ravel() / 3, "norm").pvalue > 1e-4


@pytest.mark.parametrize(
    ("shape", "features", "side", "sigma", "error"),
    [
        (BIPARTITE, unit_rows(4, 2), "both", 1, NotAccepted),
        (UNDIRECTED, unit_rows(5, 2), "source", 1, NotAccepted),
        (BIPARTITE, unit_rows(6, 2), "source", 1, InvalidInput),
        (BIPARTITE, unit_rows(4, 2)[:, 0], "source", 1, InvalidInput),
        (BIPARTITE, 1.01 * unit_rows(4, 2), "source", 1, InvalidInput),
        (BIPARTITE, np.full((4, 1), np.nan), "source", 1, InvalidInput),
        (BIPARTITE, unit_rows(4, 2), "source", 0, InvalidInput),
        (BIPARTITE, unit_rows(4, 2), "source", float("inf"), InvalidInput),
        (BIPARTITE, unit_rows(4, 2), "source", 2_000, InvalidInput),
    ],
)
def test_what_is_refused(shape, features, side, sigma, error):
    with pytest.raises(error):
        question_of(shape, features, side, sigma)


def session(unit, *, steps=None, times=1, recorder=None):
    graph = graph_of(random_pairs(8, 0.4), 8, steps=steps, directed=True)
    keys = [("edge", step) for step in graph.schema.steps_of("edge")]
    allotments = tuple(Allotment(*key, GaussianEvent(2), "x") for key in keys for _ in range(times))
    window = 2 if unit is Unit.W_EVENT else None
    plan = PrivacyPlan("t", unit, window, graph.schema.steps, allotments, 10**12)
    meter = Meter(plan, recorder or MemoryRecorder())
    return PrivateGraph(graph, meter), meter, keys


def test_every_cell_pays_before_one_is_read():
    private, meter, keys = session(Unit.EVENT, steps=3)
    found = private.aggregate(unit_rows(8, 2), cells=keys, side="source", noise_multiplier=2, purpose="p")
    assert found.shape == (8, 2)
    assert [(e.edge_type, e.step) for e in meter.transcript] == keys
    assert {e.event for e in meter.transcript} == {GaussianEvent(2)}
    with pytest.raises(PlanExceeded):
        private.aggregate(unit_rows(8, 2), cells=keys, side="source", noise_multiplier=2, purpose="p")
    with pytest.raises(MeterClosed):
        private.aggregate(unit_rows(8, 2), cells=keys, side="source", noise_multiplier=9, purpose="p")


def test_nothing_is_read_when_the_record_fails(monkeypatch):
    class Broken:
        def record(self, entry):
            raise OSError("no space left")

    private, _, keys = session(Unit.EVENT, steps=2, recorder=Broken())
    read = []
    monkeypatch.setattr(aggregation, "noisy_sums", lambda *_: read.append(1))
    with pytest.raises(OSError, match="no space"):
        private.aggregate(unit_rows(8, 2), cells=keys, side="source", noise_multiplier=2, purpose="p")
    assert not read


@pytest.mark.parametrize("unit", [Unit.PAIR, Unit.W_EVENT])
def test_units_of_several_cells_have_one_cell_at_a_time(unit):
    private, meter, keys = session(unit, steps=3)
    with pytest.raises(NotAccepted):
        private.aggregate(unit_rows(8, 2), cells=keys, side="source", noise_multiplier=2, purpose="p")
    assert not meter.transcript
    private.aggregate(unit_rows(8, 2), cells=keys[:1], side="source", noise_multiplier=2, purpose="p")


@pytest.mark.parametrize("cells", [[], [("edge", 0), ("edge", 0)], [("edge", 7)], [("other", 0)]])
def test_cells_are_named_once_and_exist(cells):
    private, meter, _ = session(Unit.EVENT, steps=3)
    with pytest.raises(InvalidInput):
        private.aggregate(unit_rows(8, 2), cells=cells, side="source", noise_multiplier=2, purpose="p")
    assert not meter.transcript
