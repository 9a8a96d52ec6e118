"""DGG end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

The published program adds noise of scale 1/epsilon to degrees of sensitivity 2, half of what is due: the
broken copy here does the same, and must be caught.
"""

from functools import partial

import pytest

from papers.comparators.dgg import GENERATOR, DGGParams
from tests.support.auditing import SOUND, caught
from tests.support.metered_outputs import measured

EPSILON, PARAMS = 2.5, DGGParams(count_share=0.5)


def test_the_noise_is_enough():
    assert measured(GENERATOR, PARAMS, EPSILON, 400, SOUND) <= EPSILON


def test_half_the_noise_is_caught(half_noise):
    """Its true epsilon is 5."""
    assert caught(partial(measured, GENERATOR, PARAMS, EPSILON), EPSILON, 1_000)


@pytest.mark.slow
def test_many_runs():
    found = measured(GENERATOR, PARAMS, EPSILON, 4_000, SOUND)
    assert 0.5 < found <= EPSILON
