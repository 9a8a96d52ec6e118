"""LapGraph on two neighbouring graphs: the measured epsilon stays under the printed one.

The noisy cells are audited by themselves, where a copy with half the noise must be caught: is one pair
among the 20 largest of 780? The whole method is audited end to end.
"""

from functools import partial

import numpy as np
import pytest

from core.graphs.schema import EdgeType
from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.mechanisms.largest_slots import largest
from core.privacy.queries import Shape
from papers.comparators.lapgraph import GENERATOR
from tests.support.auditing import SOUND, caught
from tests.support.generating import NANO, drawn, graph_of, rows_of

NODES, KEEP = 40, 20


def cells(divisor: int, runs: int, confidence: float) -> float:
    """``divisor`` 2 asks for half the noise."""
    shape, rng = Shape(EdgeType(), NODES, NODES), np.random.default_rng(11)

    def run(edges, count):
        ends = np.zeros(edges, dtype=np.int64), np.ones(edges, dtype=np.int64)
        found = np.zeros(count)
        for i in range(count):
            s, t = largest(*ends, shape, KEEP, divisor * NANO, rng=rng)
            found[i] = float(s[0] == 0 and t[0] == 1)  # sorted: the pair would be the first
        return found

    return audit_epsilon(run, 1, 0, runs=runs, confidence=confidence).lower_bound


def test_the_noisy_cells_keep_to_epsilon():
    assert cells(1, 2_000, SOUND) <= 1.0


def test_half_the_noise_is_caught():
    assert caught(partial(cells, 2), 1.0, 2_000)


def whole(runs: int) -> float:
    def outcome(graph) -> np.ndarray:
        rows = rows_of(drawn(GENERATOR, graph, 1.0, count_share=0.5))
        return np.array([float((rows == [0, 1]).all(axis=1).any()), float(len(rows))])

    neighbours = graph_of([(0, 1)], 6), graph_of([], 6)
    return audit_epsilon(repeated(outcome), *neighbours, runs=runs, confidence=SOUND).lower_bound


def test_the_whole_method_keeps_to_epsilon():
    assert whole(300) <= 1.0


@pytest.mark.slow
def test_many_runs_of_the_cells():
    assert 0.4 < cells(1, 60_000, SOUND) <= 1.0


@pytest.mark.slow
def test_many_runs():
    assert 0 < whole(6_000) <= 1.0
