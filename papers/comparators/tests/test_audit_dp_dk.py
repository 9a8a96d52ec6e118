"""dK-1 and dK-2 end to end on two neighbouring graphs: the measured epsilon stays under the printed one."""

from functools import partial

import pytest

from papers.comparators.dp_dk import GENERATOR, DKParams
from tests.support.auditing import SOUND, caught
from tests.support.metered_outputs import measured

EPSILON = 2.5
# Half for the count and nearly half for the degrees: those tell most.
ORDERS = {1: DKParams(order=1, count_share=0.5), 2: DKParams(order=2, count_share=0.5, matrix_share=0.02)}


@pytest.mark.parametrize("order", ORDERS)
def test_the_noise_is_enough(order):
    found = measured(GENERATOR, ORDERS[order], EPSILON, 250, SOUND)
    assert found <= EPSILON


@pytest.mark.parametrize("order", ORDERS)
def test_half_the_noise_is_caught(half_noise, order):
    """Its true epsilon is 5."""
    assert caught(partial(measured, GENERATOR, ORDERS[order], EPSILON), EPSILON, 600)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_many_runs(order):
    found = measured(GENERATOR, ORDERS[order], EPSILON, 4_000, SOUND)
    assert 0.5 < found <= EPSILON
