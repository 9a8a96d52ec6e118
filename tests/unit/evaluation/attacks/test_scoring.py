"""Scores of attacks whose quality is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from core.evaluation.attacks import scoring
from core.reports.evidence import AttackScore


def test_perfect_inverted_and_blind_attacks():
    labels = np.repeat([True, False], [3000, 2000])
    perfect = scoring.score(labels.astype(float), labels)
    half = 1 - 0.025 ** (1 / 2000)
    assert perfect["auc"] == pytest.approx({"value": 1.0, "low": 1 - half, "high": 1.0})
    assert perfect["tpr_at_fpr_1e3"]["value"] == perfect["tpr_at_fpr_1e2"]["value"] == 1.0
    inverted = scoring.score(-labels.astype(float), labels)
    assert inverted["auc"] == pytest.approx({"value": 0.0, "low": 0.0, "high": half})
    assert inverted["tpr_at_fpr_1e2"]["value"] == 0.0
    blind = scoring.score(np.zeros(5000), labels)
    assert blind["auc"] == pytest.approx({"value": 0.5, "low": 0.5 - half, "high": 0.5 + half})
    assert blind["tpr_at_fpr_1e2"]["value"] == 0.0  # equal scores are never split in the attacker's favour
    for found in (perfect, inverted, blind):
        AttackScore.model_validate(found)


def test_a_few_certain_members_show_in_the_rates_though_not_in_the_auc():
    rng = np.random.default_rng(1)
    labels = np.repeat([True, False], 5000)
    scores = rng.normal(size=10_000)
    scores[:250] = 50.0
    found = scoring.score(scores, labels)
    assert found["auc"]["value"] < 0.55
    assert found["tpr_at_fpr_1e3"]["low"] > 0.04


def test_rates_need_as_many_negatives_as_they_speak_of():
    scores, labels = np.arange(1098.0), np.arange(1098) < 99
    found = scoring.score(scores, labels)  # 999 negatives
    assert found["tpr_at_fpr_1e3"] is None
    assert found["tpr_at_fpr_1e2"] is not None
    few = scoring.score(scores[:198], labels[:198])
    assert few["tpr_at_fpr_1e2"] is None


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(ValueError, match="not a number"):
        scoring.score(np.array([0.1, np.nan]), np.array([True, False]))
    with pytest.raises(ValueError, match="both classes"):
        scoring.score(np.zeros(3), np.ones(3, dtype=bool))


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.5])
def test_the_intervals_hold_the_truth_as_often_as_they_say(shift):
    # Two normal scores: AUC = Phi(shift / sqrt 2). 400 trials at 95 %: below 92 % has probability < 1 %, and
    # the draws are fixed.
    rng = np.random.default_rng(9)
    truth, held = norm.cdf(shift / np.sqrt(2)), 0
    for _ in range(400):
        found = scoring.auc(rng.normal(shift, 1, 60), rng.normal(0, 1, 90))
        held += found["low"] <= truth <= found["high"]
    assert 0.92 <= held / 400 <= 0.99
