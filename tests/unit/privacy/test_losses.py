"""Epsilon by privacy losses: never below the truth, close to it, and one accountant from plan to promise."""

from __future__ import annotations

import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy.stats import norm

from core.errors import InvalidInput, NotAccepted, PlanExceeded
from core.privacy.accounting import accountant, losses
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.dp_sgd import GRAIN, DpSgd, noise_multiplier
from core.privacy.accounting.events import (
    NANO,
    Composed,
    GaussianEvent,
    Parallel,
    PoissonSampled,
    Pure,
    Repeated,
    Unprotected,
    parts,
)
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms.noise import check_gaussian
from core.privacy.units import Unit

DELTA = 10**12
ADD_OR_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE


def sampled(rate, sigma):
    return PoissonSampled(Fraction(rate), GaussianEvent(Fraction(sigma)))


def plan(*events, unit=Unit.EDGE, chosen=Accountant.PRIVACY_LOSS, delta=DELTA):
    rows = tuple(Allotment("edge", None, event, "x") for event in events)
    return PrivacyPlan("t", unit, None, 1, rows, delta, accountant=chosen)


def true_delta(epsilon, mu):
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("sigma", "times", "delta"), [(0.7, 1, 1e-5), (4.0, 4, 1e-6), (40.0, 9, 1e-9)])
def test_gaussian_events_cost_what_the_closed_form_says(sigma, times, delta):
    found = losses.epsilon(0, {GaussianEvent(Fraction(sigma)): times}, delta)
    mu = math.sqrt(times) / sigma
    assert true_delta(found, mu) <= delta
    assert true_delta(found * (1 - 1e-4) - 2 * losses.GRAIN, mu) > delta


def test_gaussian_and_pure_events_cost_what_an_integral_says():
    """Randomised response of epsilon .5 before Gaussian noise, summed up on a fine grid of outputs."""
    pure, sigma, delta = 0.5, 1.5, 1e-6
    found = losses.epsilon(NANO // 2, {GaussianEvent(Fraction(sigma)): 1}, delta)
    x = np.linspace(-20, 20, 400_001)
    here, there = norm.pdf(x, 1, sigma), norm.pdf(x, 0, sigma)
    share = math.exp(pure) / (1 + math.exp(pure))

    def distance(epsilon):
        both = (share * here, (1 - share) * there), ((1 - share) * here, share * there)
        return sum(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in both) * (x[1] - x[0])

    assert distance(found) <= delta * (1 + 1e-6)
    assert distance(found * (1 - 1e-4)) > delta


def integral_of(rate, sigma, epsilon, added):
    """The hockey-stick divergence of one sampled Gaussian, by the trapezoidal rule."""
    x = np.linspace(-14 * sigma, 1 + 14 * sigma, 1_000_001)
    absent = norm.pdf(x, 0, sigma)
    mixed = (1 - rate) * absent + rate * norm.pdf(x, 1, sigma)
    p, q = (absent, mixed) if added else (mixed, absent)
    return np.maximum(p - math.exp(epsilon) * q, 0).sum() * (x[1] - x[0])


@pytest.mark.parametrize(
    ("rate", "sigma", "delta"), [(0.25, 1.0, 1e-6), (0.01, 0.8, 1e-5), (0.9, 8.0, 0.01), (0.9, 1.0, 1e-8)]
)
def test_one_sampled_event_is_bounded_in_both_directions(rate, sigma, delta):
    found = losses.epsilon(0, {sampled(rate, sigma): 1}, delta)
    ways = [integral_of(rate, sigma, found, added) for added in (False, True)]
    assert max(ways) <= delta * (1 + 1e-6)
    less = found * 0.995 - 2 * losses.GRAIN
    assert max(integral_of(rate, sigma, less, added) for added in (False, True)) > delta


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize(
    ("rate", "sigma", "times"),
    [
        (0.5, 5.0, 20),
        *(pytest.param(*each, marks=pytest.mark.audits) for each in ((0.05, 1.0, 40), (1e-3, 0.7, 500))),
    ],
)
def test_every_point_of_the_curve_lies_above_an_optimistic_estimate_and_near_a_pessimistic_one(
    rate, sigma, times, added
):
    """dp-accounting's two estimates of the same composition, on a grid of a ten-thousandth."""
    curve = losses._convolved([(rate, sigma, times)], 1e-6, added)
    theirs = []
    for pessimistic in (False, True):
        one = privacy_loss_distribution.from_gaussian_mechanism(
            sigma,
            pessimistic_estimate=pessimistic,
            value_discretization_interval=1e-4,
            sampling_prob=rate,
            use_connect_dots=pessimistic,
            neighboring_relation=ADD_OR_REMOVE,
        ).self_compose(times)
        theirs.append(one._pmf_add if added else one._pmf_remove)
    low, high = theirs
    centre = high.get_epsilon_for_delta(1e-6)
    for epsilon in np.linspace(0.8, 1.05, 6) * centre:
        assert curve.delta(epsilon) >= low.get_delta_for_epsilon(epsilon)
        assert curve.delta(epsilon * 1.01) <= high.get_delta_for_epsilon(epsilon)


@pytest.mark.parametrize("delta", [1e-5, 1e-9, 1e-15])
def test_a_long_training_is_cheaper_by_losses_than_by_divergences_at_every_delta(delta):
    """A plain Fourier transform knows nothing below 1e-15: dp-accounting finds no epsilon there."""
    events = (Repeated(sampled("1/100", 1), 1000),)
    atto = round(delta * 1e18)
    by_losses = accountant.loss_nano_epsilon(events, atto)
    by_curves = accountant.cell_nano_epsilon(events, atto, Accountant.RENYI)
    assert 0.85 < by_losses / by_curves < 0.91


def test_each_step_of_the_grid_dominates_its_event():
    """The split law keeps both laws' masses, but for what is added: no loss is lowered."""
    for added in (False, True):
        step = losses._step(0.2, 1.0, 0.01, 9.0, -3.0, added, 1)
        grid = (step.first + np.arange(len(step.masses))) * 0.01
        assert step.masses.sum() == pytest.approx(1, abs=1e-9)
        assert (step.masses * np.exp(-grid)).sum() <= 1 + 1e-9
        for epsilon in (0.0, 0.05, 0.1, 0.15):
            found = (step.masses * np.maximum(1 - np.exp(epsilon - grid), 0)).sum() + step.infinite
            assert found >= integral_of(0.2, 1.0, epsilon, added) * (1 - 1e-6)


def test_parts_of_an_event_are_counted():
    gaussian = GaussianEvent(Fraction(3))
    nested = Repeated(Composed((Pure(5, "x"), Repeated(gaussian, 4), PoissonSampled(1, gaussian))), 3)
    assert parts(nested) == (15, {gaussian: 15})
    apart = Parallel((gaussian, Pure(1, "x")))
    assert parts(Repeated(apart, 2)) == (0, {apart: 2})
    assert parts(Unprotected("why")) == (0, {Unprotected("why"): 1})


@pytest.mark.parametrize("event", [Parallel((GaussianEvent(Fraction(2)), Pure(1, "x"))), Unprotected("why")])
def test_an_event_without_a_dominating_pair_is_left_to_the_divergences(event):
    assert losses.epsilon(0, {event: 1}, 1e-6) == math.inf
    if isinstance(event, Parallel):
        found = [accountant.cell_nano_epsilon((event,), DELTA, each) for each in Accountant]
        assert found[0] == found[1]


@pytest.mark.parametrize("rate", ["1", "1/20"])
@pytest.mark.parametrize("besides", [(), (Pure(NANO // 2, "x"),)])
def test_the_least_noise_the_plan_and_the_promise_are_of_one_accountant(rate, besides):
    for chosen in Accountant:
        sigma = noise_multiplier(NANO, DELTA, Fraction(rate), 30, besides, chosen)
        training = DpSgd(Fraction(rate), sigma, 30)
        agreed = plan(*besides, training.event, chosen=chosen)
        less = DpSgd(Fraction(rate), sigma - Fraction(1, GRAIN), 30)
        assert agreed.cost().nano_epsilon <= NANO
        assert plan(*besides, less.event, chosen=chosen).cost().nano_epsilon > NANO
        meter = Meter(agreed, MemoryRecorder())
        for event in (*besides, training.event):
            meter.charge("edge", None, event, "x")
        assert guarantee_of(agreed, meter.transcript, DELTA).nano_epsilon == agreed.cost().nano_epsilon
    wide, narrow = (noise_multiplier(NANO, DELTA, Fraction(rate), 30, besides, each) for each in Accountant)
    assert narrow < 0.96 * wide


def test_the_unit_pair_composes_all_cells():
    sigma = Fraction(5)
    whole = plan(GaussianEvent(sigma), GaussianEvent(sigma), unit=Unit.PAIR)
    assert whole.cost().nano_epsilon == accountant.loss_nano_epsilon(
        (Repeated(GaussianEvent(sigma), 2),), DELTA
    )


def test_an_older_plan_keeps_its_cost_and_digest():
    """What was recorded before there was a choice names no accountant, and is converted as it was then."""
    older = plan(Repeated(sampled("1/100", 2), 300), chosen=Accountant.RENYI)
    assert "accountant" not in older.to_json()
    assert older.digest() == "8fd1b44557deff7a314567440377bbe2bd6afc9240848afc14750e7361df33a4"
    assert older.cost().nano_epsilon == 452_983_395
    assert PrivacyPlan.from_json(older.to_json()) == older


def test_a_plan_names_the_accountant_that_it_needs_and_no_other():
    newer = plan(Repeated(sampled("1/100", 2), 300))
    assert newer.to_json()["accountant"] == "privacy-loss"
    assert PrivacyPlan.from_json(newer.to_json()) == newer
    assert newer.digest() != plan(Repeated(sampled("1/100", 2), 300), chosen=Accountant.RENYI).digest()
    assert plan(Pure(1, "x"), delta=0).accountant is Accountant.RENYI
    for wrong in ({"accountant": "renyi"}, {"accountant": "x"}, {"delta_atto": 0}, {"more": 1}):
        with pytest.raises(InvalidInput):
            PrivacyPlan.from_json(newer.to_json() | wrong)


def test_where_losses_are_counted_a_curve_below_the_plans_is_no_proof():
    """A divergence bounds no probability of a loss by itself; what was planned is counted instead."""
    planned, taken = GaussianEvent(Fraction(2)), Repeated(GaussianEvent(Fraction(8)), 16)
    Meter(plan(planned, chosen=Accountant.RENYI), MemoryRecorder()).charge("edge", None, taken, "x")
    with pytest.raises(PlanExceeded):
        Meter(plan(planned), MemoryRecorder()).charge("edge", None, taken, "x")


def test_the_meter_counts_events_and_pure_epsilon():
    granted = plan(Repeated(GaussianEvent(Fraction(4)), 3), Pure(10, "x"))
    meter = Meter(granted, MemoryRecorder())
    meter.charge("edge", None, PoissonSampled(1, GaussianEvent(Fraction(4))), "x")
    meter.charge("edge", None, Pure(4, "y"), "x")
    meter.charge("edge", None, Composed((Pure(6, "z"), Repeated(GaussianEvent(Fraction(4)), 2))), "x")
    for event in (GaussianEvent(Fraction(4)), Pure(1, "x"), Unprotected("why")):
        again = Meter(granted, MemoryRecorder())
        for entry in meter.transcript:
            again.charge("edge", None, entry.event, "x")
        with pytest.raises(PlanExceeded):
            again.charge("edge", None, event, "x")


def test_coarse_noise_on_integers_is_not_offered_where_losses_are_counted():
    check_gaussian(1, 3, Accountant.RENYI)
    check_gaussian(1, accountant.FINEST, Accountant.PRIVACY_LOSS)
    with pytest.raises(NotAccepted):
        check_gaussian(1, 3, Accountant.PRIVACY_LOSS)


def test_discrete_noise_on_the_coarsest_grid_is_no_better_told_apart_than_what_is_counted():
    """One step of the grid, or a shift of one standard deviation, summed over all integers."""
    for sigma, shift in ((accountant.FINEST, accountant.FINEST), (accountant.FINEST, 3 * accountant.FINEST)):
        x = np.arange(-40 * sigma, 44 * sigma, dtype=float)
        law = np.exp(-(x**2) / (2 * sigma**2))
        moved = np.exp(-((x - shift) ** 2) / (2 * sigma**2))
        law, moved = law / law.sum(), moved / moved.sum()
        for delta in (1e-3, 1e-6, 1e-9):
            found = losses.epsilon(0, {GaussianEvent(Fraction(sigma, shift)): 1}, delta)
            assert np.maximum(moved - math.exp(found) * law, 0).sum() <= delta
