"""Deconvolved degrees of a side over its steps, and sums put right."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.methods._shared.degrees.deconvolution import deconvolved, filtered, posterior_means
from core.methods._shared.degrees.sides import REACH, fitted_sides, summing_to
from core.privacy.entropy import public_generator
from core.privacy.mechanisms.noise import discrete_laplace
from tests.support.groups import examples

MOST = 400


@pytest.fixture
def rng():
    return public_generator(3)


def true_degrees(nodes=1_500, steps=5, seed=1):
    """Four nodes of five are idle in each step, the others' degrees have a long tail."""
    rng = np.random.default_rng(seed)
    active = rng.random((steps, nodes)) < 0.2
    tail = np.minimum((4 * (1 - rng.random((steps, nodes))) ** -0.8).astype(np.int64), MOST)
    return list(np.where(active, tail, 0))


def noisy_of(degrees, nano_epsilon, l1=1, seed=2):
    rng = np.random.default_rng(seed)
    return [discrete_laplace(values, l1, nano_epsilon, rng=rng) for values in degrees]


def apart(ours, theirs):
    size = max(ours.max(), theirs.max()) + 1
    counts = [np.bincount(values, minlength=size) for values in (ours, theirs)]
    return np.abs(counts[0] - counts[1]).sum() / 2 / len(ours)


def test_a_filter_is_the_sum_that_it_stands_for():
    values = np.random.default_rng(0).random(40)
    place = np.arange(40)
    plain = (values * 0.7 ** np.abs(place[:, None] - place[None, :])).sum(axis=1)
    np.testing.assert_allclose(filtered(values, 0.7), plain)


def test_a_round_is_expectation_maximisation():
    """Against the matrix of likelihoods, one round from a law that is not uniform."""
    seen, zero, ratio = np.array([3.0, 9, 4, 2, 0, 1, 1]), 2, 0.6
    start = np.array([0.5, 0.3, 0.1, 0.06, 0.04])
    kernel = ratio ** np.abs(np.arange(7)[:, None] - (zero + np.arange(5))[None, :])
    plain = start * (kernel.T @ (seen / (kernel @ start)))
    np.testing.assert_allclose(deconvolved(seen, zero, start, ratio, 1, False), plain / plain.sum())
    means = (kernel * start) @ np.arange(5) / (kernel @ start)
    np.testing.assert_allclose(posterior_means(7, zero, start, ratio), means)


def test_smoothing_leaves_a_geometric_law_idle_nodes_and_single_edges_alone():
    law = 0.5 ** np.arange(1, 14.0)
    law /= law.sum()
    ratio = 1e-12  # no noise: expectation-maximisation itself changes nothing
    smooth = deconvolved(law, 0, law, ratio, 1, True)
    np.testing.assert_allclose(smooth[:-1] / smooth[0], law[:-1] / law[0], rtol=1e-9)


@pytest.mark.parametrize("nano_epsilon", [500_000_000, 1_000_000_000, 2_000_000_000])
def test_the_law_is_far_closer_than_degrees_that_are_only_cut(rng, nano_epsilon):
    true = true_degrees()
    noisy = noisy_of(true, nano_epsilon)
    fitted = fitted_sides(noisy, nano_epsilon, rng, most=MOST)
    cut = fitted_sides(noisy, nano_epsilon, rng, most=MOST, deconvolve=False)
    ours, plain = (np.mean([apart(a, b) for a, b in zip(true, each, strict=True)]) for each in (fitted, cut))
    assert ours < 0.6 * plain
    idle = np.mean([(values == 0).mean() for values in fitted])
    assert abs(idle - np.mean([(values == 0).mean() for values in true])) < 0.04


def test_steps_help_each_other(rng):
    """A step's law alone, from few nodes, is worse than with nine others of the same kind."""
    true = true_degrees(nodes=150, steps=10)
    noisy = noisy_of(true, 700_000_000)
    together = fitted_sides(noisy, 700_000_000, rng, most=MOST)
    alone = [fitted_sides([values], 700_000_000, rng, most=MOST)[0] for values in noisy]
    ours, theirs = (
        np.mean([apart(a, b) for a, b in zip(true, each, strict=True)]) for each in (together, alone)
    )
    assert ours < theirs


def test_hardly_any_noise_gives_the_degrees_back(rng):
    true = true_degrees()
    fitted = fitted_sides([values.copy() for values in true], 50_000_000_000, rng, most=MOST)
    for ours, theirs in zip(fitted, true, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_sensitivity_widens_the_noise_that_is_taken_out(rng):
    true = true_degrees()
    noisy = noisy_of(true, 1_000_000_000, l1=2)
    right, wrong = (fitted_sides(noisy, 1_000_000_000, rng, l1=l1, most=MOST) for l1 in (2, 1))
    errors = [np.mean([apart(a, b) for a, b in zip(true, each, strict=True)]) for each in (right, wrong)]
    assert errors[0] < errors[1]


@pytest.mark.parametrize(
    ("noisy", "most"),
    [
        ([np.array([-5, -1, -7])], 10),
        ([np.array([2**62, -(2**62), 3])], 10),
        ([np.array([4, 4, 4])], 0),
        ([np.empty(0, dtype=np.int64)], 3),
        ([np.array([7]), np.array([-7])], 1),
        ([np.array([REACH + 500, 2, 3])], 2**30),
    ],
    ids=["below", "saturated", "no-room", "no-node", "one-node", "huge"],
)
def test_any_noisy_values_give_degrees_in_range(rng, noisy, most):
    for nano_epsilon in (1_000_000, 9_000_000_000):
        for values, fitted in zip(noisy, fitted_sides(noisy, nano_epsilon, rng, most=most), strict=True):
            assert fitted.dtype == np.int64
            assert len(fitted) == len(values)
            assert ((fitted >= 0) & (fitted <= most)).all()


def test_degrees_beyond_reach_are_kept(rng):
    values = np.array([REACH + 500, 2, 3])
    assert fitted_sides([values], 1_000_000_000, rng, most=2**30)[0][0] == REACH + 500


def test_the_same_state_gives_the_same_degrees():
    noisy = noisy_of(true_degrees(nodes=200), 500_000_000)
    one, other = (fitted_sides(noisy, 500_000_000, public_generator(9), most=MOST) for _ in range(2))
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=30),
    st.integers(0, 400),
    st.integers(30, 40),
    st.integers(0, 2**32 - 1),
)
def test_sums_are_put_right_within_the_range(degrees, total, most, seed):
    degrees = np.array(degrees)
    fitted = summing_to(degrees, total, most, np.random.default_rng(seed))
    assert fitted.sum() == min(total, most * len(degrees))
    assert ((fitted >= 0) & (fitted <= most)).all()
    if total <= most * (degrees > 0).sum():
        assert not fitted[degrees == 0].any()


def test_what_lies_outside_the_range_is_cut_first(rng):
    np.testing.assert_array_equal(summing_to(np.array([-9, 4, 70]), 9, 5, rng), [0, 4, 5])


def test_a_right_sum_changes_nothing(rng):
    degrees = true_degrees()[0]
    np.testing.assert_array_equal(summing_to(degrees, int(degrees.sum()), MOST, rng), degrees)
