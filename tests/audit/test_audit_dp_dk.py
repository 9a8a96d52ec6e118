"""dK-1 and dK-2 end to end on two neighbouring graphs: the measured epsilon stays under the printed one."""

import pytest

from core.generators.dp_dk import GENERATOR, DKParams
from tests.support.metered_outputs import CAUGHT, SOUND, measured

EPSILON = 2.5
# Half for the count and nearly half for the degrees: those tell most.
ORDERS = {order: DKParams(order=order, count_share=0.5, matrix_share=0.02) for order in (1, 2)}


@pytest.mark.parametrize("order", ORDERS)
def test_the_noise_is_enough(monkeypatch, order):
    found = measured(monkeypatch, GENERATOR, ORDERS[order], EPSILON, runs=250, confidence=SOUND)
    assert found <= EPSILON


@pytest.mark.parametrize("order", ORDERS)
def test_half_the_noise_is_caught(monkeypatch, order):
    """Its true epsilon is 5."""
    params, runs = ORDERS[order], 1_200
    found = measured(monkeypatch, GENERATOR, params, EPSILON, runs=runs, confidence=CAUGHT, broken=True)
    assert found > EPSILON


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_many_runs(monkeypatch, order):
    found = measured(monkeypatch, GENERATOR, ORDERS[order], EPSILON, runs=4_000, confidence=SOUND)
    assert 0.5 < found <= EPSILON
