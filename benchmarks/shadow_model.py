"""Membership inference by semantics against a released representation: HeteSDG, section 5.3, Table 4.

The attacker has a network of his own with known classes, and the method. He runs the method on it (the
shadow), learns naive Bayes, k nearest neighbours and a decision tree from the shadow's rows to its classes,
and applies them to the rows that were released of the victims: which class is each of them? (Shokri et al.,
"Membership inference attacks against machine learning models", 2017, in the paper's form.) Rows hold what was
released because of the links, without public features: those name a class whatever is published.

:mod:`core.evaluation.attacks.semantic` asks the same of a released graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.evaluation.attacks._classifiers import classifiers
from core.evaluation.attacks.semantic import CLASSIFIERS

MAJORITY = "majority"
SMALLEST_SPREAD = 1e-12


@dataclass(frozen=True)
class ClassInference:
    """How often the class was named: F1 micro (the accuracy), macro, and weighted by the classes' sizes."""

    micro_f1: float
    macro_f1: float
    weighted_f1: float


def class_inference(
    shadow: np.ndarray, shadow_class: np.ndarray, victims: np.ndarray, true_class: np.ndarray, seed: int
) -> dict[str, ClassInference]:
    """For each classifier how well it names the victims' classes; and of naming the shadow's largest one.

    ``shadow`` (k, d) and ``victims`` (n, d) are finite float rows whose columns mean the same, classes are
    int64. Where no column of the shadow varies, everybody names its largest class. ValueError where a side is
    empty or columns differ. Deterministic. O(k n d) for the neighbours.
    """
    if shadow.ndim != 2 or shadow.shape[1:] != victims.shape[1:] or not len(shadow) or not len(victims):
        raise ValueError("shadow and victims are rows of the same columns, one at least each")
    largest = scored(true_class, np.full(len(true_class), np.bincount(shadow_class).argmax()))
    centre, scale = shadow.mean(axis=0), shadow.std(axis=0)
    varied = scale > SMALLEST_SPREAD
    if not varied.any():
        return dict.fromkeys((*CLASSIFIERS, MAJORITY), largest)
    known, asked = ((rows - centre)[:, varied] / scale[varied] for rows in (shadow, victims))
    found = {}
    for name, classifier in classifiers(len(known), seed).items():
        classifier.fit(known, shadow_class)
        found[name] = scored(true_class, classifier.predict(asked))
    return found | {MAJORITY: largest}


def scored(true_class: np.ndarray, named: np.ndarray) -> ClassInference:
    """The three F1 scores; a class that nobody has or names counts as 0."""
    from sklearn.metrics import f1_score

    return ClassInference(
        *(
            float(f1_score(true_class, named, average=average, zero_division=0))
            for average in ("micro", "macro", "weighted")
        )
    )


def worst(found: dict[str, ClassInference]) -> ClassInference:
    """The best attacker's result, by macro F1; guessing is no attacker."""
    return max((found[name] for name in CLASSIFIERS), key=lambda each: each.macro_f1)
