"""PrivHRG end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

The share of the leaves is set low: their exponential pass has an audit of its own, and its labels are no
Laplace output. It gathers the two nodes in one leaf, so that each later read is one number.
"""

from functools import partial

import pytest

from papers.comparators.privhrg import GENERATOR, PrivHRGParams
from tests.support.auditing import SOUND, caught
from tests.support.metered_outputs import measured

EPSILON = 2.5
PARAMS = PrivHRGParams.varied(leaves=2, adjust_share=0.01, evidence_share=0.5, steps_per_leaf=1)


def test_the_noise_is_enough():
    assert measured(GENERATOR, PARAMS, EPSILON, 250, SOUND) <= EPSILON


def test_half_the_noise_is_caught(half_noise):
    """Its true epsilon is 5."""
    assert caught(partial(measured, GENERATOR, PARAMS, EPSILON), EPSILON, 400)


@pytest.mark.slow
def test_many_runs():
    found = measured(GENERATOR, PARAMS, EPSILON, 4_000, SOUND)
    assert 0.5 < found <= EPSILON
