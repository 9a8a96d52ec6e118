"""Measured frequencies of every randomised response against the epsilon that the transcript says.

Coins: how often a true edge is kept and an absent pair appears, over all slots of several releases. Reports
of the local model and noisy degrees are no coins, yet answer in the same way for each node: there the
frequencies of a threshold stand for them. Each is held to its epsilon from above and below, so that noise
which is too weak or too strong both show, and copies with the flaws of published programs must be caught.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from core.methods import edgerand, tmf
from core.privacy.mechanisms import randomised_response
from core.privacy.mechanisms.randomised_response import WORD, Flips, _slots
from core.privacy.units import Unit
from papers.comparators import dgg, ldpgen
from tests.support.generating import NANO, fit, graph_of, random_pairs, rows_of

NODES = 600
SLOTS = NODES * (NODES - 1) // 2
CLOSE = 6  # standard errors: a false alarm stays rare over years of runs


@dataclass
class Frequencies:
    """Of true edges kept and absent pairs added; and the epsilon that a release was charged for its coins."""

    kept: int
    true: int
    added: int
    absent: int
    charged: float

    @property
    def ratios(self) -> list[tuple[float, float]]:
        """(log ratio, its standard error) of either answer: an edge is shown, and none is."""
        shown = (self.kept, self.true), (self.added, self.absent)
        hidden = (self.absent - self.added, self.absent), (self.true - self.kept, self.true)
        return [
            (
                math.log(a / m) - math.log(b / n),
                math.sqrt(1 / a - 1 / m + 1 / b - 1 / n),
            )
            for (a, m), (b, n) in (shown, hidden)
        ]

    @property
    def measured(self) -> tuple[float, float]:
        """The larger log ratio: a lower bound on epsilon up to its standard error."""
        return max(self.ratios)


def frequencies(generator, pairs, epsilon, runs, **params) -> Frequencies:
    graph = graph_of(pairs, NODES)
    true = pairs[:, 0] * NODES + pairs[:, 1]
    kept = added = 0
    charged = []
    for _ in range(runs):
        model, meter = fit(generator, graph, epsilon, **params)
        rows = rows_of(model.sample(np.random.default_rng(0), lambda *_: None))
        inside = int(np.isin(rows[:, 0] * NODES + rows[:, 1], true).sum())
        kept, added = kept + inside, added + len(rows) - inside
        charged.append(sum(e.event.nano_epsilon for e in meter.transcript if "count" not in e.purpose) / NANO)
    return Frequencies(kept, runs * len(true), added, runs * (SLOTS - len(true)), float(np.mean(charged)))


COINS = {
    "edgerand-symmetric": (edgerand.GENERATOR, {"form": "symmetric"}, 0.06, 1.0, 4),
    "edgerand-symmetric-strong": (edgerand.GENERATOR, {"form": "symmetric"}, 0.06, 3.0, 4),
    "edgerand-balanced": (edgerand.GENERATOR, {"form": "balanced"}, 0.06, 1.0, 12),
    "edgerand-balanced-dense": (edgerand.GENERATOR, {"form": "balanced"}, 0.7, 1.0, 4),
    "tmf-low-branch": (tmf.GENERATOR, {}, 0.06, 1.0, 12),
    "tmf-high-branch": (tmf.GENERATOR, {}, 0.06, 4.5, 12),
    "tmf-high-branch-dense": (tmf.GENERATOR, {}, 0.9, 4.5, 12),
}


@pytest.mark.parametrize("name", COINS)
def test_coins_fall_as_often_as_their_epsilon_says(name):
    generator, params, share, epsilon, runs = COINS[name]
    found = frequencies(generator, random_pairs(NODES, share), epsilon, runs, **params)
    ratio, error = found.measured
    assert found.charged <= epsilon
    assert error < 0.04
    assert ratio == pytest.approx(found.charged, abs=CLOSE * error + 0.005)


def test_the_high_branch_is_the_high_branch():
    """Otherwise the case above would measure balanced flips, which is EdgeRand once more."""
    edges = int(0.06 * SLOTS)
    paid = int(4.5 * 0.9 * NANO)
    assert paid / NANO > math.log(SLOTS / edges - 1)
    assert tmf.threshold_flips(paid, edges, SLOTS) != Flips.balanced(paid, edges, SLOTS)


@pytest.mark.parametrize("name", COINS)
def test_the_charge_is_what_the_coins_cost(name, monkeypatch):
    """The flips that were thrown, captured: their frequencies, one by one, and their price."""
    generator, params, share, epsilon, _ = COINS[name]
    thrown: list[Flips] = []
    true_flip = randomised_response.flip

    def listened(source, target, shape, flips, **options):
        thrown.append(flips)
        return true_flip(source, target, shape, flips, **options)

    monkeypatch.setattr(randomised_response, "flip", listened)
    found = frequencies(generator, random_pairs(NODES, share), epsilon, 1, **params)
    (flips,) = thrown
    keep, add = 1 - flips.drop / WORD, flips.add / WORD
    assert found.charged == flips.nano_epsilon / NANO
    assert found.charged == pytest.approx(
        max(math.log(keep / add), math.log((1 - add) / (1 - keep))), abs=2e-9
    )
    for count, slots, p in ((found.kept, found.true, keep), (found.added, found.absent, add)):
        assert abs(count - slots * p) <= CLOSE * math.sqrt(slots * p * (1 - p)) + 1


def swapped_and_filled(monkeypatch):
    """PGB's TmF: present cells at the other branch's threshold, then as many absent ones as are missing."""

    def published(source, target, shape, flips, *, rng=None):
        rng = rng or np.random.default_rng()
        edges = len(source)
        epsilon = flips.nano_epsilon / NANO
        threshold = math.log(SLOTS / edges - 1) / (2 * epsilon)
        passing = math.exp(-epsilon * max(threshold - 1, 0)) / 2
        stay = rng.random(edges) < passing
        keys = set((source[stay] * NODES + target[stay]).tolist())
        while len(keys) < edges:
            u, v = (ends[0] for ends in _slots(rng.integers(0, SLOTS, 1), shape))
            keys.add(int(u) * NODES + int(v))
        return np.divmod(np.array(sorted(keys)), NODES)

    monkeypatch.setattr(randomised_response, "flip", published)


def twice_the_epsilon(monkeypatch):
    true_flip = randomised_response.flip

    def bold(source, target, shape, flips, **options):
        louder = Flips.balanced(2 * flips.nano_epsilon, len(source), SLOTS)
        return true_flip(source, target, shape, louder, **options)

    monkeypatch.setattr(randomised_response, "flip", bold)


@pytest.mark.parametrize("flaw", [swapped_and_filled, twice_the_epsilon])
def test_flips_that_cost_more_than_they_say_are_caught(flaw, monkeypatch):
    flaw(monkeypatch)
    found = frequencies(tmf.GENERATOR, random_pairs(NODES, 0.02), 1.0, 2)
    ratio, error = found.measured
    assert ratio - CLOSE * error > found.charged


def threshold_ratio(low: np.ndarray, high: np.ndarray, at: int) -> tuple[float, float]:
    """Log ratio of P(answer >= at) where the true number is larger and where it is smaller, and its error."""
    a, b = int((high >= at).sum()), int((low >= at).sum())
    return (
        math.log(a / len(high)) - math.log(b / len(low)),
        math.sqrt(1 / a - 1 / len(high) + 1 / b - 1 / len(low)),
    )


def two_kinds_of_nodes(count: int):
    """``count`` pairs joined, ``count`` nodes alone: one degree of 0 or 1 each, and which is which."""
    joined = np.arange(2 * count).reshape(count, 2)
    linked = np.zeros(3 * count, dtype=bool)
    linked[: 2 * count] = True
    return graph_of(joined, 3 * count), linked


@pytest.mark.parametrize("factor", [1, 2])
def test_a_local_report_tells_one_node_s_edge_at_half_of_its_epsilon(factor, monkeypatch):
    """LDPGen: both ends report an edge, so each report is (epsilon_i / 2)-private on its own."""
    from core.privacy.accounting.meter import MemoryRecorder, Meter
    from core.privacy.mechanisms import noise as mechanisms
    from core.privacy.session.private_graph import PrivateGraph
    from papers.comparators.ldpgen.reports import report

    if factor != 1:
        true_noise = mechanisms.discrete_laplace
        monkeypatch.setattr(
            mechanisms,
            "discrete_laplace",
            lambda values, sensitivity, nano, **given: true_noise(
                values, sensitivity, factor * nano, **given
            ),
        )
    graph, linked = two_kinds_of_nodes(15_000)
    params = ldpgen.GENERATOR.Params()
    facts = _facts(graph, 2.0)
    cell = PrivateGraph(graph, Meter(ldpgen.GENERATOR.plan(params, facts), MemoryRecorder())).cell(
        "edge", None
    )
    told = report(cell, np.zeros(len(linked), dtype=np.int64), 2 * NANO, "one report")[:, 0]
    _holds(told, linked, 1.0, factor)


@pytest.mark.parametrize("factor", [1, 2])
def test_a_noisy_degree_tells_one_edge_at_half_of_its_epsilon(factor, monkeypatch):
    """DGG: two degrees change with one edge. The published program uses scale 1 / epsilon, twice as much."""
    from core.privacy.mechanisms import noise as mechanisms

    told: list[np.ndarray] = []
    true_noise = mechanisms.discrete_laplace

    def listened(values, sensitivity, nano, **given):
        told.append(true_noise(values, sensitivity, factor * nano, **given))
        return told[-1]

    monkeypatch.setattr(mechanisms, "discrete_laplace", listened)
    graph, linked = two_kinds_of_nodes(15_000)
    _, meter = fit(dgg.GENERATOR, graph, 2.0)
    charged = {e.purpose: e.event.nano_epsilon / NANO for e in meter.transcript}["degrees"]
    (degrees,) = (noisy for noisy in told if len(noisy) == len(linked))
    _holds(degrees, linked, charged / 2, factor)


def _facts(graph, epsilon):
    from core.methods.base import PublicFacts

    return PublicFacts(graph.schema, Unit.EDGE, None, int(epsilon * NANO), 0, ("edge",))


def _holds(told: np.ndarray, linked: np.ndarray, each: float, factor: int) -> None:
    """Answers of 1 and more: above the smaller number by 1, so that the ratio is e^each, exactly."""
    ratio, error = threshold_ratio(told[~linked], told[linked], 1)
    assert error < 0.04
    # P(X >= 0) / P(X >= 1) of the discrete Laplace law is e^epsilon.
    assert ratio == pytest.approx(factor * each, abs=CLOSE * error + 0.005)
    if factor > 1:
        assert ratio - CLOSE * error > each
