"""A target is searched for: what is tried, which round is taken, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from core.methods.base import no_progress
from core.privacy.entropy import public_generator
from papers.ppgsl import fit, search
from papers.ppgsl.learner import Learned
from papers.ppgsl.params import PpgslParams, Target
from papers.ppgsl.tests.test_learning import QUICK, visible

ROUNDS = 5


def searched(monkeypatch, target: Target, auc_of) -> search.Found:
    """A search in which the AUC is a function of alpha."""
    asked_of: list[float] = []

    def learn(problem, params, alpha, start, steps, tick):
        asked_of.append(alpha)
        tick(steps)
        return Learned(start + 1, [0.0], [0.0])

    monkeypatch.setattr(search, "learn", learn)
    monkeypatch.setattr(search, "measured", lambda *_: auc_of(asked_of[-1]))
    problem = type("Problem", (), {"original": torch.zeros(3)})()
    want = search.Asked(target, np.arange(3), np.arange(3), 10)
    ticks: list[int] = []
    params = PpgslParams.varied(rounds=ROUNDS, steps=10)
    found = search.search(problem, params, want, ticks.append)
    assert ticks == np.cumsum(search.steps_of(params)).tolist()
    assert found.alphas == tuple(asked_of)
    assert [int(found.learned.raw[0]) - 1] == [asked_of.index(found.alpha)]  # begun where the last one ended
    return found


@pytest.mark.parametrize("true", [0.03, 0.2, 4.0])
def test_the_alpha_that_meets_the_target_is_closed_in_on(monkeypatch, true):
    """Both sorts of target: AUC grows with alpha and passes .6 at ``true``."""

    def auc(alpha):
        return 0.6 + 0.1 * float(np.log(alpha / true))

    least, most = search.ALPHAS["relative"]
    width = np.log(most / least) / 2**ROUNDS
    attack = searched(monkeypatch, Target(attack_auc=0.6), auc)
    assert attack.reached
    assert attack.alpha <= true
    link = searched(monkeypatch, Target(link_auc=0.6), auc)
    assert link.reached
    assert link.alpha >= true
    assert np.log(link.alpha / attack.alpha) <= 2 * width + 1e-9


def test_a_target_out_of_reach_takes_the_end_of_the_range_and_says_so(monkeypatch):
    attack = searched(monkeypatch, Target(attack_auc=0.55), lambda alpha: 0.9)
    assert not attack.reached
    assert attack.alpha == min(attack.alphas)
    link = searched(monkeypatch, Target(link_auc=0.95), lambda alpha: 0.6)
    assert not link.reached
    assert link.alpha == max(link.alphas)


@pytest.mark.parametrize("target", [{"attack_auc": 0.75}, {"link_auc": 0.75}])
def test_a_search_ends_with_weights_and_its_curve_in_the_report(target):
    params = PpgslParams.varied(**QUICK.model_dump() | {"target": target, "rounds": 3})
    events: list[tuple[str, int, int]] = []
    given = visible()
    found = fit.learned_weights(given, params, public_generator(4), lambda *event: events.append(event))
    assert not np.isin(found.keys, given.sensitive).any()
    kind = "attack" if "attack_auc" in target else "link"
    curves = found.training.curves
    assert len(curves["alpha tried"]) == len(curves[f"{kind} AUC of it"]) == 3
    assert all(0 <= auc <= 1 for auc in curves[f"{kind} AUC of it"])
    assert "was chosen among those tried" in found.training.notes[0]
    total = sum(search.steps_of(params)) + (params.steps if kind == "link" else 0)
    assert events == [("learn", done, total) for done in range(1, total + 1)]


def test_a_target_out_of_reach_is_told(monkeypatch):
    monkeypatch.setattr(search, "measured", lambda *_: 0.99)
    params = PpgslParams.varied(**QUICK.model_dump() | {"target": {"attack_auc": 0.5}, "rounds": 2})
    found = fit.learned_weights(visible(), params, public_generator(4), no_progress)
    assert "none of them reached the attack AUC" in found.training.notes[0]


@pytest.mark.parametrize(
    "given", [{}, {"attack_auc": 0.5, "link_auc": 0.8}, {"attack_auc": 0.4}, {"link_auc": 1}, {"auc": 0.5}]
)
def test_a_target_is_one_of_two(given):
    with pytest.raises(ValidationError):
        Target.model_validate(given)


def test_area_under_the_curve_counts_ties_by_half():
    assert search.area(np.array([1.0, 2.0]), np.array([0.0, 2.0])) == (1 + 0 + 1 + 0.5) / 4
