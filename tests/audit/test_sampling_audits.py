"""Randomised response and DP-SGD through the metered session: sound copies stay under their epsilon.

Copies with half the noise are caught. The noise has no seed: a false alarm of a sound copy must stay rare.
"""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.accounting.audited import MECHANISMS, AuditSpec, canary_schema, mechanism_plans
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import randomised_response
from core.privacy.units import Unit
from core.publishing import audit_targets
from tests.support.auditing import SOUND, caught, in_both_forms


def measured(method, epsilon, runs, confidence, *, unit=Unit.EDGE, window=None, delta=0.0, **params):
    """(lower bound, promise) of one mechanism on the canary graphs."""
    mechanism = MECHANISMS[method]
    schema = canary_schema(unit, window)
    checked = mechanism.Params.model_validate(params)
    plans = mechanism_plans(mechanism, checked, schema, unit, int(epsilon * NANO), int(delta * 10**18))
    spec = AuditSpec(
        method=method,
        params=checked.model_dump(),
        runs=runs,
        graph_schema=schema,
        plan=plans[0].to_json(),
        control=plans[1].to_json(),
    )
    target = audit_targets.target_of(spec)
    result = audit_epsilon(
        repeated(lambda graph: target.once(graph, target.plan)),
        target.graph,
        target.neighbour,
        runs=runs,
        delta=target.plan.cost().delta_atto / 10**18,
        confidence=confidence,
    )
    return result.lower_bound, target.plan.cost().nano_epsilon / NANO


def beyond(measure, runs: int, part: int = 1) -> bool:
    """Whether the bound of ``measure`` is caught above its promise."""

    def excess(runs: int, confidence: float) -> float:
        bound, promised = measure(runs=runs, confidence=confidence)
        return bound - promised

    return caught(excess, 0, runs, part)


@pytest.fixture
def half_noise_response(monkeypatch):
    """Every coin is that of twice the epsilon; what is charged is not."""
    true = randomised_response.flip

    def broken(source, target, shape, flips, **options):
        return true(
            source,
            target,
            shape,
            randomised_response.Flips.symmetric(2 * flips.nano_epsilon),
            **options,
        )

    monkeypatch.setattr(randomised_response, "flip", broken)


@pytest.fixture
def half_noise_training(divide_gaussian_noise):
    """Every step's noise has half the scale that was planned."""
    divide_gaussian_noise(2)


@pytest.mark.parametrize(
    ("unit", "window", "form"),
    [(Unit.EDGE, None, "symmetric"), (Unit.EVENT, None, "balanced"), (Unit.W_EVENT, 2, "symmetric")],
)
def test_randomised_response(unit, window, form):
    measure = partial(measured, "randomised_response", 1.5, unit=unit, window=window, form=form)
    bound, promised = measure(runs=600, confidence=SOUND)
    assert bound <= promised <= 1.5
    assert caught(lambda *look: measure(*look)[0], 0.3, 400)  # the edge is told apart


@in_both_forms
def test_randomised_response_with_half_the_noise_is_caught(half_noise_response, part):
    assert beyond(partial(measured, "randomised_response", 1.0), 500, part)


def steps(graph, training, runs):
    """What every step of one long training moves along the canary: independent runs of a single step."""
    event = DpSgd(training.rate, training.noise_multiplier, runs).event
    plan = PrivacyPlan("steps", Unit.EDGE, None, 1, (Allotment("edge", None, event, "steps"),))
    return audit_targets.canary_path(graph, plan)[:, None]


def measured_steps(training, runs, confidence, delta):
    """(lower bound, promise) of one step."""
    worlds = audit_targets.worlds(canary_schema(Unit.EDGE, None), Unit.EDGE)
    result = audit_epsilon(
        lambda graph, count: steps(graph, training, count),
        *worlds,
        runs=runs,
        delta=delta,
        confidence=confidence,
    )
    once = PrivacyPlan(
        "step",
        Unit.EDGE,
        None,
        1,
        (Allotment("edge", None, training.event, "step"),),
        int(delta * 10**18),
    )
    return result.lower_bound, once.cost().nano_epsilon / NANO


EVERY = DpSgd(1, Fraction(9, 10), 1)
QUARTER = DpSgd(Fraction(1, 4), Fraction(9, 10), 1)


def test_dp_sgd():
    for training in (EVERY, QUARTER):
        bound, promised = measured_steps(training, 500, SOUND, 0.1)
        assert 0 <= bound <= promised


def test_dp_sgd_with_half_the_noise_is_caught(half_noise_training):
    assert beyond(partial(measured_steps, EVERY, delta=0.1), 1_500)


@pytest.mark.slow
def test_dp_sgd_whose_sampling_is_more_than_is_paid_for_is_caught(monkeypatch):
    """The plan counts on a rate of 1 / 4; the copy takes every edge."""
    monkeypatch.setattr(
        "core.privacy.mechanisms.gradients.DpSgdSession._drawn", lambda self, rng: self._edges
    )
    assert beyond(partial(measured_steps, QUARTER, delta=0.1), 4_000)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_dp_sgd_many_runs():
    bound, promised = measured("dp_sgd", 2.0, 3_000, SOUND, delta=0.01, unit=Unit.EVENT)
    assert 0 < bound <= promised <= 2.0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_dp_sgd_many_runs_with_half_the_noise_are_caught(half_noise_training):
    assert beyond(partial(measured, "dp_sgd", 2.0, delta=0.01), 8_000)


def test_both_worlds_hold_the_same_background():
    schema = canary_schema(Unit.W_EVENT, 3)
    graph, neighbour = audit_targets.worlds(schema, Unit.W_EVENT)
    assert graph.edges["edge"].count - neighbour.edges["edge"].count == 3
    assert np.unique(neighbour.edges["edge"].step).tolist() == [0, 1, 2]
    assert graph.schema == neighbour.schema
