"""PrivHRG end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

The share of the leaves is set low: their exponential pass has an audit of its own, and its labels are no
Laplace output. It gathers the two nodes in one leaf, so that each later read is one number.
"""

import pytest

from core.generators.privhrg import GENERATOR, PrivHRGParams
from tests.support.metered_outputs import CAUGHT, SOUND, measured

EPSILON = 2.5
PARAMS = PrivHRGParams(leaves=2, adjust_share=0.01, evidence_share=0.5, steps_per_leaf=1)


def test_the_noise_is_enough(monkeypatch):
    assert measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=250, confidence=SOUND) <= EPSILON


def test_half_the_noise_is_caught(monkeypatch):
    """Its true epsilon is 5."""
    found = measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=800, confidence=CAUGHT, broken=True)
    assert found > EPSILON


@pytest.mark.slow
def test_many_runs(monkeypatch):
    found = measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=4_000, confidence=SOUND)
    assert 0.5 < found <= EPSILON
