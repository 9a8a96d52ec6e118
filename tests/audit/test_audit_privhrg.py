"""PrivHRG end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

The share of the leaves is set low: their exponential pass has an audit of its own, and its labels are no
Laplace output. One leaf holds each node.
"""

import pytest

from core.generators.privhrg import GENERATOR, PrivHRGParams
from tests.support.metered_outputs import CAUGHT, SOUND, measured

EPSILON = 2.0
PARAMS = PrivHRGParams(leaves=2, adjust_share=0.01, evidence_share=0.5, steps_per_leaf=1)


def test_the_noise_is_enough(monkeypatch):
    assert measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=400, confidence=SOUND) <= EPSILON


def test_half_the_noise_is_caught(monkeypatch):
    """Its true epsilon is 4."""
    found = measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=1_200, confidence=CAUGHT, broken=True)
    assert found > EPSILON


@pytest.mark.slow
def test_many_runs(monkeypatch):
    found = measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=4_000, confidence=SOUND)
    assert 0.5 < found <= EPSILON
