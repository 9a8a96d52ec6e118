"""The auditor itself: near the truth where the truth is known, silent where there is nothing to tell."""

import math

import numpy as np
import pytest

from core.errors import InvalidInput
from core.privacy.accounting.audit import audit_epsilon, clopper_pearson, repeated


def response(keep):
    """Randomised response on one bit that keeps it with probability ``keep``."""
    rng = np.random.default_rng(5)
    return lambda bit, count: np.where(rng.random(count) < keep, bit, 1 - bit)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_randomised_response_is_measured(epsilon):
    run = response(math.exp(epsilon) / (1 + math.exp(epsilon)))
    result = audit_epsilon(run, 1, 0, runs=40_000)
    assert 0.9 * epsilon < result.lower_bound <= epsilon
    assert result.confidence == 0.999
    assert result.event


def test_delta_is_taken_off():
    """(0, 0.2)-DP: a fifth of the outputs give the input away, and that is all."""
    rng = np.random.default_rng(5)

    def run(bit, count):
        return np.where(rng.random(count) < 0.2, bit, 2)

    assert audit_epsilon(run, 1, 0, runs=20_000).lower_bound > 3
    assert audit_epsilon(run, 1, 0, runs=20_000, delta=0.2).lower_bound == 0


def test_a_signal_spread_over_many_features_is_found():
    """Each of 30 features tells little; the discriminant tells more than any of them."""
    rng = np.random.default_rng(5)
    result = audit_epsilon(lambda x, c: x * 0.15 + rng.normal(size=(c, 30)), 1, 0, runs=20_000)
    assert result.lower_bound > 0.5
    assert result.event.startswith("discriminant")


def test_confidence_holds_where_nothing_differs():
    rng = np.random.default_rng(5)
    bounds = [
        audit_epsilon(lambda x, c: rng.integers(0, 50, c), 1, 0, runs=400, confidence=0.9).lower_bound
        for _ in range(100)
    ]
    assert sum(b > 0 for b in bounds) <= 20


def test_repeated_stacks_single_runs():
    assert repeated(lambda g: np.array([g, 1]))(7, 3).tolist() == [[7, 1]] * 3


def test_clopper_pearson_against_the_binomial():
    low, high = clopper_pearson(np.array([0, 30, 100]), 100, 0.025)
    np.testing.assert_allclose(low, [0, 0.2124, 0.9638], atol=1e-4)
    np.testing.assert_allclose(high, [0.0362, 0.3998, 1], atol=1e-4)


def test_bad_runs_are_refused():
    for run in (lambda x, c: np.zeros(3), lambda x, c: np.full(c, np.nan)):
        with pytest.raises(InvalidInput):
            audit_epsilon(run, 1, 0, runs=200)
    with pytest.raises(InvalidInput):
        audit_epsilon(response(0.5), 1, 0, runs=10)
