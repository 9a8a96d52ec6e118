"""An audit as it is asked for: planned without data, run in a folder, judged beside its half-noise copy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.errors import InvalidInput, NotAccepted, UnknownMethod
from core.methods import registry
from core.privacy.accounting.audited import MECHANISMS, AuditSpec, default_runs
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms import randomised_response, samplers
from core.publishing import audit
from core.publishing.audit_targets import target_of
from core.settings import Settings
from core.workflows.audits.plans import AuditRequest, planned
from tests.support.auditing import LOOKS, SOUND

SETTINGS = Settings()


def spec_of(**request: Any) -> AuditSpec:
    return planned(AuditRequest(**request), SETTINGS)


def judged(**request: Any) -> dict[str, Any]:
    spec = spec_of(**request)
    return audit.judged(spec, target_of(spec), lambda stage, done, total: None)


LAPLACE = {"method": "laplace", "epsilon": "1", "runs": 1_500}
RESPONSE = {"method": "randomised_response", "epsilon": "1", "runs": 1_500}
SGD = {
    "method": "dp_sgd",
    "epsilon": "2",
    "delta": "0.1",
    "parameters": {"rate": 1, "steps": 1},
    "runs": 4_000,
}


@pytest.mark.parametrize(
    "request_",
    [LAPLACE, pytest.param(RESPONSE, marks=pytest.mark.audits), pytest.param(SGD, marks=pytest.mark.slow)],
    ids=lambda r: r["method"],
)
def test_a_true_mechanism_passes_and_its_half_noise_copy_is_caught(request_, monkeypatch):
    measured = audit.audit_epsilon

    def careful(run, graph, neighbour, **options):
        told.append(1)
        confidence = SOUND if len(told) % 2 else 0.999  # only the true mechanism's false alarm counts
        return measured(run, graph, neighbour, **options, confidence=confidence)

    told: list[int] = []
    monkeypatch.setattr(audit, "audit_epsilon", careful)
    for look in range(LOOKS):  # the copy is missed once in 300 times: looked at again with more runs
        found = judged(**{**request_, "runs": request_["runs"] << look})
        assert found["passed"]
        if found["control"]["caught"]:
            break
    assert found["control"]["caught"]
    assert found["verdict"] == "passed"
    assert found["lower_bound"] < found["nano_epsilon"] / NANO < found["control"]["lower_bound"]
    assert found["nano_epsilon"] <= int(request_["epsilon"]) * NANO


def half_laplace(monkeypatch):
    true = mechanisms.discrete_laplace
    monkeypatch.setattr(
        mechanisms, "discrete_laplace", lambda v, l1, nano, **options: true(v, l1, 2 * nano, **options)
    )


def half_response(monkeypatch):
    true, flips = randomised_response.flip, randomised_response.Flips.symmetric
    monkeypatch.setattr(
        randomised_response, "flip", lambda s, t, shape, f: true(s, t, shape, flips(2 * f.nano_epsilon))
    )


def half_training(monkeypatch):
    true = samplers.add_discrete_gaussian_wide
    monkeypatch.setattr(
        samplers, "add_discrete_gaussian_wide", lambda rng, v, sigma: true(rng, v, sigma // 2)
    )


@pytest.mark.parametrize(
    ("request_", "breaks"),
    [
        (LAPLACE, half_laplace),
        pytest.param(RESPONSE, half_response, marks=pytest.mark.audits),
        pytest.param(SGD, half_training, marks=pytest.mark.slow),
    ],
    ids=["laplace", "randomised_response", "dp_sgd"],
)
def test_a_mechanism_that_adds_half_its_noise_fails(request_, breaks, monkeypatch):
    breaks(monkeypatch)
    found = judged(**request_)
    for look in range(1, LOOKS):  # noise has no seed: a miss is looked at again with more runs
        if not found["passed"]:
            break
        found = judged(**{**request_, "runs": request_["runs"] << look})
    assert (found["passed"], found["verdict"]) == (False, "failed")
    assert found["lower_bound"] > found["nano_epsilon"] / NANO


def test_too_few_runs_are_inconclusive():
    found = judged(method="laplace", epsilon="5", runs=100)
    assert (found["passed"], found["control"]["caught"], found["verdict"]) == (True, False, "inconclusive")


def test_the_result_is_written_and_progress_is_told(tmp_path):
    told: list[tuple[str, int, int]] = []
    spec = spec_of(method="randomised_response", epsilon="1", runs=300)
    found = audit.run_audit(spec, tmp_path / "out", lambda *step: told.append(step))
    assert json.loads((tmp_path / "out" / audit.RESULT).read_text()) == found
    assert [step for step in told if step[1] in (0, 600)] == [
        ("audit", 0, 600),
        ("audit", 600, 600),
        ("control", 0, 600),
        ("control", 600, 600),
    ]
    assert all(done <= total for _, done, total in told)


UNITS = {
    "edge": {"unit": "edge"},
    "event": {"unit": "event"},
    "w-event": {"unit": "w-event", "window": 3},
    "pair": {"unit": "pair"},
    "node": {"unit": "node"},
}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", MECHANISMS)
def test_every_mechanism_keeps_its_promise_on_paper_under_every_unit_it_names(method, unit):
    request = {"method": method, "epsilon": "1.5", "delta": "0.01", **UNITS[unit]}
    if unit not in MECHANISMS[method].units:
        with pytest.raises(NotAccepted):
            spec_of(**request)
        return
    spec = spec_of(**request)
    plan, control = PrivacyPlan.from_json(spec.plan), PrivacyPlan.from_json(spec.control)
    assert plan.cost().nano_epsilon <= 1.5 * NANO < control.cost().nano_epsilon
    target = target_of(spec)
    for world in (target.graph, target.neighbour):
        for each in (plan, control):
            assert target.once(world, each).ndim == 1


@pytest.mark.parametrize("method", sorted(registry.generators()))
@pytest.mark.parametrize("unit", UNITS)
def test_every_generator_that_promises_anything_can_be_audited(method, unit):
    generator = registry.get(method)
    request = {"method": method, "epsilon": "2", "delta": "0.01", **UNITS[unit]}
    try:
        spec = spec_of(**request)
    except NotAccepted:
        assert unit not in generator.units or (method != "psgraph" and unit != "node")
        return
    plan, control = PrivacyPlan.from_json(spec.plan), PrivacyPlan.from_json(spec.control)
    assert plan.cost().nano_epsilon <= 2 * NANO < control.cost().nano_epsilon <= 4 * NANO
    if method == "psgraph" or unit == "node":
        target = target_of(spec)
        assert target.once(target.graph, control).shape == target.once(target.neighbour, plan).shape


def test_a_generator_is_audited_by_what_it_draws_where_its_model_is_not_known(monkeypatch):
    from core.publishing import audit_targets

    monkeypatch.setattr(audit_targets, "_METERED", {})
    target = target_of(spec_of(method="psgraph", epsilon="2", unit="event"))
    assert target.once(target.graph, target.plan).shape == (8,)  # two steps of four numbers


@pytest.mark.parametrize(
    ("request_", "error", "field"),
    [
        ({"method": "nothing", "epsilon": "1"}, UnknownMethod, "method"),
        ({"method": "laplace", "epsilon": "21"}, InvalidInput, "epsilon"),
        ({"method": "laplace", "epsilon": "0"}, InvalidInput, None),
        (
            {"method": "laplace", "epsilon": "1", "parameters": {"query": "all"}},
            InvalidInput,
            "parameters.query",
        ),
        ({"method": "laplace", "epsilon": "1", "unit": "w-event"}, InvalidInput, "window"),
        ({"method": "laplace", "epsilon": "1", "unit": "edge", "window": 2}, InvalidInput, "window"),
        ({"method": "gaussian", "epsilon": "1"}, NotAccepted, "delta"),
        ({"method": "laplace", "epsilon": "1", "runs": 10**7}, InvalidInput, "runs"),
        ({"method": "psgraph", "epsilon": "1", "parameters": {"no": 1}}, InvalidInput, "parameters.no"),
        ({"method": "psgraph", "epsilon": "1", "unit": "pair"}, NotAccepted, "unit"),
    ],
)
def test_what_cannot_be_audited_is_refused_with_the_field_to_mend(request_, error, field):
    with pytest.raises(error) as refused:
        spec_of(**request_)
    if field is not None:
        assert refused.value.members["field"] == field


def test_runs_grow_with_what_must_be_seen_up_to_the_limit():
    assert default_runs("laplace", 6) > default_runs("laplace", 1)
    small = SETTINGS.model_copy(update={"max_audit_runs": 500})
    assert planned(AuditRequest(method="laplace", epsilon="1"), small).runs == 500


def test_a_pure_promise_ignores_delta():
    spec = spec_of(method="laplace", epsilon="1", delta="0.5")
    plan = PrivacyPlan.from_json(spec.plan)
    assert plan.cost().delta_atto == 0
    assert plan.allotments[0].event == Pure(NANO, "audited")
