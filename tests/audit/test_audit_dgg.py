"""DGG end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

The published program adds noise of scale 1/epsilon to degrees of sensitivity 2, half of what is due: the
broken copy here does the same, and must be caught.
"""

import pytest

from core.generators.dgg import GENERATOR, DGGParams
from tests.support.metered_outputs import CAUGHT, SOUND, measured

EPSILON, PARAMS = 2.5, DGGParams(count_share=0.5)


def test_the_noise_is_enough(monkeypatch):
    assert measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=400, confidence=SOUND) <= EPSILON


def test_half_the_noise_is_caught(monkeypatch):
    """Its true epsilon is 5."""
    found = measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=1_000, confidence=CAUGHT, broken=True)
    assert found > EPSILON


@pytest.mark.slow
def test_many_runs(monkeypatch):
    found = measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=4_000, confidence=SOUND)
    assert 0.5 < found <= EPSILON
