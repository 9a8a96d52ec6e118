import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest

from core.errors import InvalidInput
from core.privacy.accounting.divergences import rdp
from core.privacy.accounting.events import (
    MAX_NANO_EPSILON,
    NANO,
    Composed,
    Event,
    GaussianEvent,
    Parallel,
    PoissonSampled,
    Pure,
    Repeated,
    Unprotected,
    from_json,
    pure_nano_epsilon,
    to_json,
    unprotected_reasons,
)
from core.privacy.accounting.reference import to_dp_event

ORDERS = (1.5, 2, 8, 64)
HALF = Pure(NANO // 2, "laplace")
SGD = Repeated(PoissonSampled(Fraction(1, 100), GaussianEvent(Fraction(11, 10))), 100)

EVERY_EVENT = [
    HALF,
    GaussianEvent(Fraction(3, 2)),
    PoissonSampled(0.25, HALF),
    SGD,
    Composed((HALF, GaussianEvent(2))),
    Parallel((HALF, Pure(7, "exponential"))),
    Unprotected("follows the paper"),
]


@pytest.mark.parametrize("event", EVERY_EVENT, ids=lambda e: type(e).__name__)
def test_json_is_exact(event):
    assert from_json(to_json(event)) == event


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"kind": "laplace"},
        {"kind": "pure", "nano_epsilon": 1},
        {"kind": "pure", "nano_epsilon": 1, "mechanism": "x", "extra": 1},
        {"kind": "pure", "nano_epsilon": 1.0, "mechanism": "x"},
        {"kind": "gaussian", "noise_multiplier": 1.0},
        {"kind": "gaussian", "noise_multiplier": "1/0"},
        {"kind": "composed", "events": []},
        {"kind": "composed", "events": "pure"},
    ],
)
def test_unknown_json_is_refused(value):
    with pytest.raises(InvalidInput):
        from_json(value)


def test_deep_json_is_refused():
    value = to_json(HALF)
    for _ in range(40):
        value = {"kind": "repeated", "event": value, "times": 1}
    with pytest.raises(InvalidInput):
        from_json(value)


@pytest.mark.parametrize("amount", [0, -1, True, 1.0, math.nan, math.inf, MAX_NANO_EPSILON + 1, "1", None])
def test_bad_amounts_are_refused(amount):
    with pytest.raises(InvalidInput):
        Pure(amount, "laplace")


@pytest.mark.parametrize("sigma", [0, -1, math.nan, math.inf, "1", True, None])
def test_bad_noise_is_refused(sigma):
    with pytest.raises(InvalidInput):
        GaussianEvent(sigma)


@pytest.mark.parametrize("rate", [0, 1.5, math.nan])
def test_bad_rates_are_refused(rate):
    with pytest.raises(InvalidInput):
        PoissonSampled(rate, HALF)


def test_a_stranger_is_no_event():
    class Stranger(Event):
        pass

    for use in (pure_nano_epsilon, to_json, lambda e: rdp(e, ORDERS), unprotected_reasons, to_dp_event):
        with pytest.raises(InvalidInput):
            use(Stranger())
    with pytest.raises(InvalidInput):
        Composed((HALF, Stranger()))


def test_pure_epsilons_add_multiply_and_maximise():
    assert pure_nano_epsilon(Composed((HALF, Pure(3, "x")))) == NANO // 2 + 3
    assert pure_nano_epsilon(Repeated(HALF, 5)) == 5 * (NANO // 2)
    assert pure_nano_epsilon(Parallel((HALF, Pure(3, "x")))) == NANO // 2
    for event in (GaussianEvent(1), SGD, Composed((HALF, GaussianEvent(1))), Unprotected("why")):
        assert pure_nano_epsilon(event) is None


def test_sampling_amplifies_and_rounds_up():
    exact = math.log1p(0.25 * math.expm1(0.5))
    nano = pure_nano_epsilon(PoissonSampled(0.25, HALF))
    assert 0 <= nano - exact * NANO <= 2
    assert pure_nano_epsilon(PoissonSampled(1, HALF)) == HALF.nano_epsilon


def discrete_laplace_divergence(epsilon, order):
    """Rényi divergence between discrete Laplace laws at 0 and 1, summed over the integers in closed range."""
    x = np.arange(-4000, 4001)
    log_p = -np.abs(x) * epsilon + math.log(math.tanh(epsilon / 2))
    log_q = -np.abs(x - 1) * epsilon + math.log(math.tanh(epsilon / 2))
    return np.logaddexp.reduce(order * log_p + (1 - order) * log_q) / (order - 1)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("order", ORDERS)
def test_the_pure_bound_covers_laplace_and_randomised_response(epsilon, order):
    bound = rdp(Pure(int(epsilon * NANO), "laplace"), [order])[0]
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    response = math.log(
        keep**order * (1 - keep) ** (1 - order) + (1 - keep) ** order * keep ** (1 - order)
    ) / (order - 1)
    assert bound == pytest.approx(min(epsilon, order * epsilon**2 / 2))
    assert max(discrete_laplace_divergence(epsilon, order), response) <= bound * (1 + 1e-9)


def test_gaussian_events_are_dp_accountings():
    np.testing.assert_allclose(rdp(GaussianEvent(2), ORDERS), np.array(ORDERS) / 8)
    accountant = dp_accounting.rdp.RdpAccountant(list(ORDERS))
    accountant.compose(to_dp_event(SGD))
    direct = accountant.get_epsilon(1e-6)
    ours = dp_accounting.rdp.compute_epsilon(list(ORDERS), list(rdp(SGD, ORDERS)), 1e-6)[0]
    assert ours == pytest.approx(direct)


def test_parallel_is_the_maximum_per_order():
    branches = (Pure(NANO, "x"), GaussianEvent(1))
    expected = np.maximum(rdp(branches[0], ORDERS), rdp(branches[1], ORDERS))
    np.testing.assert_array_equal(rdp(Parallel(branches), ORDERS), expected)
    assert (rdp(branches[0], ORDERS) < rdp(branches[1], ORDERS)).any()


def test_composition_adds_at_every_order():
    parts = (HALF, GaussianEvent(2), HALF)
    np.testing.assert_allclose(rdp(Composed(parts), ORDERS), sum(rdp(p, ORDERS) for p in parts))


def test_unprotected_has_no_finite_divergence():
    event = Composed((HALF, Repeated(Unprotected("raw"), 2)))
    assert np.isinf(rdp(event, ORDERS)).all()
    assert unprotected_reasons(event) == ("raw",)


def test_orders_are_checked():
    for orders in ([], [1.0], [math.inf]):
        with pytest.raises(InvalidInput):
            rdp(HALF, orders)
