"""DER on two neighbouring graphs: the measured epsilon of all that it is told stays under the printed one."""

import pytest

from core.generators.der import GENERATOR, DERParams
from tests.support.metered_outputs import CAUGHT, SOUND, measured

EPSILON = 2.5
# One level of the tree, and a third of epsilon for each read: all of them tell.
PARAMS = DERParams(smallest_side=1, count_share=1 / 3, order_share=1 / 3)


def test_the_printed_epsilon_holds(monkeypatch):
    bound = measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=250, confidence=SOUND)
    assert bound <= EPSILON


def test_half_the_noise_is_caught(monkeypatch):
    """Its true epsilon is 5."""
    bound = measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=1_800, confidence=CAUGHT, broken=True)
    assert bound > EPSILON


@pytest.mark.slow
def test_many_runs(monkeypatch):
    bound = measured(monkeypatch, GENERATOR, PARAMS, EPSILON, runs=4_000, confidence=SOUND)
    assert 0.3 < bound <= EPSILON
