"""Classes are inferred from rows that carry them, by every attacker, and from noise by none."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.shadow_model import MAJORITY, class_inference, scored, worst
from core.evaluation.attacks.semantic import CLASSIFIERS

CLASSES = np.repeat([0, 0, 1, 2], 100)


def rows(strength: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(400, 4)) + strength * np.eye(4)[CLASSES]


def test_a_shadow_of_the_same_method_gives_the_classes_away():
    found = class_inference(rows(6, 1), CLASSES, rows(6, 2), CLASSES, 0)
    assert set(found) == {*CLASSIFIERS, MAJORITY}
    for name in CLASSIFIERS:
        assert min(found[name].micro_f1, found[name].macro_f1, found[name].weighted_f1) > 0.9
    assert found[MAJORITY].micro_f1 == 0.5
    assert found[MAJORITY].macro_f1 == pytest.approx(2 / 3 / 3)


def test_noise_gives_nothing_away():
    found = class_inference(rows(0, 1), CLASSES, rows(0, 2), CLASSES, 0)
    # Guessing has an accuracy of 0.5 at most, with a standard error of 0.025 on 400 victims.
    assert all(each.micro_f1 < 0.62 for each in found.values())
    assert worst(found).macro_f1 < 0.5


def test_the_worst_attacker_is_no_guesser():
    found = class_inference(rows(6, 1), CLASSES, rows(6, 2), CLASSES, 0)
    assert worst(found) == max((found[name] for name in CLASSIFIERS), key=lambda each: each.macro_f1)


def test_constant_columns_and_classes_that_nobody_names_are_no_fault():
    shadow, victims = rows(6, 1), rows(6, 2)
    shadow[:, 3] = victims[:, 3] = 7.0
    found = class_inference(shadow, np.minimum(CLASSES, 1), victims, CLASSES, 0)
    assert all(np.isfinite([each.micro_f1, each.macro_f1, each.weighted_f1]).all() for each in found.values())
    told = scored(np.array([0, 0, 1]), np.array([0, 0, 0]))
    assert (told.micro_f1, told.macro_f1) == (pytest.approx(2 / 3), pytest.approx(0.4))
    assert told.weighted_f1 == pytest.approx(2 / 3 * 0.8)


@pytest.mark.parametrize("columns", [0, 2])
def test_whoever_sees_nothing_names_the_largest_class(columns):
    found = class_inference(np.ones((400, columns)), CLASSES, rows(6, 2)[:, :columns], CLASSES, 0)
    assert set(found) == {*CLASSIFIERS, MAJORITY}
    assert {each.micro_f1 for each in found.values()} == {0.5}


@pytest.mark.parametrize("victims", [np.zeros((4, 3)), np.zeros((0, 4))])
def test_rows_must_fit(victims):
    with pytest.raises(ValueError, match="columns"):
        class_inference(np.zeros((5, 4)), np.zeros(5, dtype=np.int64), victims, np.zeros(len(victims)), 0)
