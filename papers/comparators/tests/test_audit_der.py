"""DER on two neighbouring graphs: the measured epsilon of all that it is told stays under the printed one."""

from functools import partial

import pytest

from papers.comparators.der import GENERATOR, DERParams
from tests.support.auditing import SOUND, caught
from tests.support.metered_outputs import measured

EPSILON = 2.5
# One level of the tree, and a third of epsilon for each read: all of them tell.
PARAMS = DERParams.varied(smallest_side=1, count_share=1 / 3, order_share=1 / 3)


def test_the_printed_epsilon_holds():
    bound = measured(GENERATOR, PARAMS, EPSILON, 250, SOUND)
    assert bound <= EPSILON


def test_half_the_noise_is_caught(half_noise):
    """Its true epsilon is 5."""
    assert caught(partial(measured, GENERATOR, PARAMS, EPSILON), EPSILON, 1_800)


@pytest.mark.slow
def test_many_runs():
    bound = measured(GENERATOR, PARAMS, EPSILON, 4_000, SOUND)
    assert 0.3 < bound <= EPSILON
