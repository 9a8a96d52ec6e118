"""Attack scores against scikit-learn, SciPy and brute force over all pairs and thresholds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from sklearn.metrics import roc_auc_score

from core.evaluation.attacks import scoring

values = st.integers(-4, 4).map(float) | st.floats(-1e6, 1e6)
samples = st.lists(values, min_size=1, max_size=40).map(np.array)


def kernel(positive, negative):
    """1 where the positive scores above the negative, 1/2 where equal."""
    return (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)


@given(samples, samples)
@settings(deadline=None)
def test_the_auc_is_that_of_scikit_learn_and_of_all_pairs(positive, negative):
    found = scoring.auc(positive, negative)
    labels = np.repeat([True, False], [len(positive), len(negative)])
    assert found["value"] == pytest.approx(kernel(positive, negative).mean(), abs=1e-12)
    assert found["value"] == pytest.approx(roc_auc_score(labels, np.concatenate([positive, negative])))
    assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1


@given(samples, samples)
def test_the_interval_is_delongs_on_the_logit_scale(positive, negative):
    pairs = kernel(positive, negative)
    area, m, n = pairs.mean(), len(positive), len(negative)
    found = scoring.auc(positive, negative)
    variance = 0.0
    if min(m, n) > 1:
        variance = pairs.mean(axis=1).var(ddof=1) / m + pairs.mean(axis=0).var(ddof=1) / n
    if variance < 1e-15:
        half = 1 - 0.025 ** (1 / min(m, n))
        expected = max(area - half, 0), min(area + half, 1)
    else:
        half = norm.ppf(0.975) * math.sqrt(variance) / (area * (1 - area))
        expected = tuple(1 / (1 + (1 - area) / area * np.exp(-np.array([-half, half]))))
    assert (found["low"], found["high"]) == pytest.approx(expected, abs=1e-9)


@given(samples, samples)
def test_the_attack_and_its_mirror_image_mirror_each_other(positive, negative):
    there, back = scoring.auc(positive, negative), scoring.auc(-positive, -negative)
    for one, other in (("value", "value"), ("low", "high"), ("high", "low")):
        assert there[one] == pytest.approx(1 - back[other], abs=1e-9)


@given(samples, st.lists(values, min_size=1, max_size=300).map(np.array), st.integers(2, 60))
def test_the_rate_is_the_best_of_all_thresholds_that_stay_below_the_false_positive_rate(
    positive, negative, one_in
):
    found = scoring.tpr_at(positive, negative, one_in)
    if len(negative) < one_in:
        assert found is None
        return
    bars = np.append(np.concatenate([positive, negative]), np.inf)
    rates = [(positive >= bar).mean() for bar in bars if (negative >= bar).sum() * one_in <= len(negative)]
    assert found["value"] == pytest.approx(max(rates))
    assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1


@given(st.integers(1, 300), st.integers(0, 300))
@settings(deadline=None)
def test_clopper_pearson_is_that_of_scipy(trials, successes):
    successes = min(trials, successes)
    expected = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert scoring.clopper_pearson(successes, trials) == pytest.approx(tuple(expected), abs=1e-9)
