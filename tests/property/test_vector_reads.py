"""The read of protected vectors: what another row moves by brute force, charges, noise's law, and its use."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from core.errors import InvalidInput, PlanExceeded
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType
from core.graphs.schema.node_bins import moved_by
from core.methods._shared.node_values.vectors import shares_of
from core.privacy.accounting.events import NANO, Event, GaussianEvent, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan, rows_of
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import samplers
from core.privacy.reads.node_values import Counted, Noise
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

PARTY = Attribute(name="party", protection="protected", categories=("a", "b"))
LENGTH, ROWS = 3, rows_of("node")
NUMBERS = (-2.0, 0.0, 2.0)
PAID = Pure(NANO, "test")
SIGMA = Fraction(3, 2)


def vector(length: int = LENGTH, **declared: Any) -> Attribute:
    given = {"bounds": (-2, 2), "cuts": (-1, 1), "length": length, **declared}
    return Attribute(name="words", kind="vector", protection="protected", **given)


def graph_of(declared: Attribute, rows: Any, parties: list[str | None]) -> Graph:
    kind = NodeType(count=len(parties), attributes=(PARTY, declared))
    schema = GraphSchema(node_types=(kind,), edge_types=(EdgeType(),))
    columns = {"party": pa.array(parties, type=pa.string()), "words": np.asarray(rows, np.float32)}
    return Graph.build(
        schema,
        {"node": NodeTable(len(parties), None, columns)},
        {"edge": EdgeTable(np.array([0]), np.array([1]))},
    )


def session(graph: Graph, event: Event = PAID) -> tuple[PrivateGraph, Meter]:
    delta = 0 if isinstance(event, Pure) else 10**12
    plan = PrivacyPlan("test", Unit.EDGE, None, 1, (Allotment(ROWS, None, event, "test"),), delta)
    meter = Meter(plan, MemoryRecorder())
    return PrivateGraph(graph, meter), meter


def counted(graph: Graph, of: Any = None, noise: Noise = PAID) -> Counted:
    asked, _ = session(graph, noise if isinstance(noise, Pure) else GaussianEvent(Fraction(noise)))
    return asked.node_values("node").vectors("words", of, noise=noise, purpose="test")


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Add no noise; what the reads claim to move by, in L1."""
    claimed: list[int] = []

    def seen(values: np.ndarray, l1_sensitivity: int, nano_epsilon: int) -> np.ndarray:
        claimed.append(l1_sensitivity)
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", seen)
    monkeypatch.setattr(samplers, "add_discrete_gaussian_wide", lambda rng, values, scale: values)
    return claimed


@pytest.mark.parametrize("nonzero", [1, 2, None])
def test_no_row_moves_counts_by_more_than_is_claimed_and_some_by_as_much(nonzero: int | None, no_noise):
    """All rows of one node beside another's, those too that have more than was declared."""
    declared, of = vector(nonzero=nonzero), ("party", np.array([0, 1]))
    told = [
        counted(graph_of(declared, [row, (2, 0, -2)], [party, "b"]), of).values.ravel()
        for row in itertools.product((*NUMBERS, np.nan), repeat=LENGTH)
        for party in ("a", "b", None)
    ]
    apart = np.array(told)[:, None] - np.array(told)[None]
    bound = 2 * (nonzero or LENGTH)
    assert np.abs(apart).sum(axis=2).max() == np.square(apart).sum(axis=2).max() == bound
    assert set(no_noise) == {bound} == {moved_by(declared)}


def test_gaussian_counts_move_by_no_more_on_their_grid(no_noise, monkeypatch: pytest.MonkeyPatch):
    """A length of sqrt(2 k) counts is at most the noise's deviation over its multiplier, in grid steps."""
    scales, values = [], []

    def seen(rng: Any, told: np.ndarray, scale: int) -> np.ndarray:
        scales.append(scale)
        values.append(told)
        return told

    monkeypatch.setattr(samplers, "add_discrete_gaussian_wide", seen)
    for row in ((2, 2, 2), (-2, -2, -2)):
        counted(graph_of(vector(), [row, (0, 0, 0)], ["a", "b"]), noise=SIGMA)
    length = Fraction(int(np.square(values[0] - values[1]).sum()))
    assert scales[0] == scales[1]
    assert scales[0] ** 2 >= SIGMA**2 * length
    assert length > 0


def test_counts_are_by_group_place_and_bin_and_leave_zero_out(no_noise):
    rows = [(2, 0, -2), (2, 2, 0), (0, 0, 0)]
    found = counted(graph_of(vector(), rows, ["a", "b", "b"]), ("party", np.array([0, 1]))).values
    assert found.shape == (2, LENGTH, 3)
    assert found[:, :, 1].sum() == 0
    assert found[0].tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert found[1].tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    few = counted(graph_of(vector(nonzero=1), rows, ["a", "b", "b"]), None).values
    assert few[0].tolist() == [[0, 0, 2], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(("noise", "event"), [(PAID, PAID), (SIGMA, GaussianEvent(SIGMA))])
def test_a_read_is_charged_to_rows_once_and_not_beyond_the_plan(noise: Noise, event: Event):
    asked, meter = session(graph_of(vector(), [(2, 0, 0), (0, 0, 0)], ["a", "b"]), event)
    reads = asked.node_values("node")
    reads.vectors("words", None, noise=noise, purpose="test")
    assert [(each.edge_type, each.step, each.event) for each in meter.transcript] == [(ROWS, None, event)]
    with pytest.raises(PlanExceeded):
        reads.vectors("words", None, noise=noise, purpose="test")


def test_only_declared_vectors_are_read():
    asked, meter = session(graph_of(vector(), [(2, 0, 0), (0, 0, 0)], ["a", "b"]))
    for name in ("party", "nothing"):
        with pytest.raises(InvalidInput):
            asked.node_values("node").vectors(name, None, noise=PAID, purpose="test")
    assert not meter.transcript


@pytest.mark.parametrize("noise", [PAID, SIGMA], ids=["laplace", "gaussian"])
def test_noise_is_of_the_law_that_the_plan_pays_for(noise: Noise):
    """8,000 cells of nothing, looked at three times, each at a millionth."""
    wide, most = 4_000, 2
    graph = graph_of(vector(wide, nonzero=most), np.zeros((2, wide)), ["a", "b"])
    for _ in range(3):
        found = counted(graph, noise=noise)
        told = np.delete(found.values, 1, axis=2).ravel()
        if isinstance(noise, Pure):
            law = stats.dlaplace(noise.nano_epsilon / NANO / (2 * most))
            edges = np.arange(-12, 13)
            inside = np.bincount(np.clip(told, -12, 12).astype(int) + 12, minlength=25)
            chances = law.pmf(edges)
            chances[0], chances[-1] = law.cdf(-12), law.sf(11)
            value = stats.chisquare(inside, chances * len(told)).pvalue
            assert found.deviation == pytest.approx(law.std(), rel=1e-6)
        else:
            value = stats.kstest(told, stats.norm(0, float(noise) * np.sqrt(2 * most)).cdf).pvalue
            assert found.deviation >= float(noise) * np.sqrt(2 * most)
        if value > 1e-6:
            return
    pytest.fail("noise of another law")


def test_what_noise_explains_does_not_set_groups_apart():
    """Without noise each group has its own shares; under some, those of all together; under much, 0 alone."""
    values, nodes, fifty = np.zeros((2, 50, 3)), np.array([50, 50]), vector(50)
    values[0, :, 0], values[1, :, 0] = 45, 35
    own, together, nothing = (shares_of(Counted(values, each), nodes, fifty) for each in (0.0, 20.0, 1e3))
    assert np.allclose(own[0], [0.9, 0.1, 0])
    assert np.allclose(own[1], [0.7, 0.3, 0])
    assert np.allclose(together[0], together[1])
    assert np.allclose(together[0], [0.6, 0.4, 0])
    assert np.allclose(nothing, [0, 1, 0])


def test_noise_about_rare_numbers_does_not_become_numbers():
    rng = np.random.default_rng(3)
    true = np.zeros((1, 2_000, 2))
    true[0, :20, 1] = 300
    noisy = true + rng.normal(0, 30, true.shape) * [0, 1]
    words = vector(2_000, bounds=(0, 1), cuts=(0.5,), nonzero=20)
    shares = shares_of(Counted(noisy, 30.0), np.array([1_000]), words)[0, :, 1]
    assert shares.sum() <= 20
    assert shares[:20].mean() > 0.1
    assert np.median(shares[20:]) < 0.01
