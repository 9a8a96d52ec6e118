"""Audits of DP-SGD on the device: a step keeps its promise, and one with too little noise is caught."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from core.privacy.accounting.audit import audit_epsilon
from core.privacy.accounting.audited import canary_schema
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import samplers
from core.privacy.units import Unit
from core.publishing import audit_targets
from tests.support.auditing import SOUND, caught

STEP = DpSgd(Fraction(1), Fraction(9, 10), 1)
DELTA = 0.1


def measured(runs: int, confidence: float) -> tuple[float, float]:
    """(lower bound, promise) of one step, of which one long training has ``runs``."""

    def steps(graph, count):
        event = DpSgd(STEP.rate, STEP.noise_multiplier, count).event
        plan = PrivacyPlan("steps", Unit.EDGE, None, 1, (Allotment("edge", None, event, "steps"),))
        return audit_targets.canary_path(graph, plan)[:, None]

    worlds = audit_targets.worlds(canary_schema(Unit.EDGE, None), Unit.EDGE)
    found = audit_epsilon(steps, *worlds, runs=runs, delta=DELTA, confidence=confidence)
    allotted = Allotment("edge", None, STEP.event, "step")
    once = PrivacyPlan("step", Unit.EDGE, None, 1, (allotted,), int(DELTA * 10**18))
    return found.lower_bound, once.cost().nano_epsilon / NANO


def test_a_step_on_the_device_keeps_its_promise(place: torch.device) -> None:
    bound, promised = measured(200, SOUND)
    assert 0 <= bound <= promised


def test_a_step_with_a_fourth_of_its_noise_is_caught(
    place: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = samplers.add_discrete_gaussian_wide
    monkeypatch.setattr(
        samplers, "add_discrete_gaussian_wide", lambda rng, sums, scale: true(rng, sums, max(1, scale // 4))
    )

    def excess(runs: int, confidence: float) -> float:
        bound, promised = measured(runs, confidence)
        return bound - promised

    assert caught(excess, 0, 400)
