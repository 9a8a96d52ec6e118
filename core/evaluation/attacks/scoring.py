"""How well scores separate members from others.

AUC, and true positives at very few false ones. An average hides what matters: an attack that names a handful
of members with certainty harms them, even if its AUC is near a half. Hence the rates at 0.1 % and 1 % false
positives (Carlini et al., "Membership Inference Attacks From First Principles", IEEE S&P 2022). All intervals
are two-sided, 95 %.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaincinv

TAIL = 0.025
Z = 1.959963984540054  # the normal distribution's upper 2.5 % point


def score(scores: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Compute the fields of the report's AttackScore.

    There is one float score and one bool label a target.

    ``auc``, ``tpr_at_fpr_1e3`` and ``tpr_at_fpr_1e2``, each with ``value``, ``low``, ``high``; a rate is None
    with fewer than 1/FPR negatives. ValueError for NaN, or where one class is empty. O(n log n).
    """
    labels = np.asarray(labels, dtype=bool)
    scores = np.asarray(scores, dtype=np.float64)
    if np.isnan(scores).any():
        raise ValueError("a score is not a number")
    positive, negative = scores[labels], scores[~labels]
    if not len(positive) or not len(negative):
        raise ValueError("an attack is scored on targets of both classes")
    return {
        "auc": auc(positive, negative),
        "tpr_at_fpr_1e3": tpr_at(positive, negative, 1000),
        "tpr_at_fpr_1e2": tpr_at(positive, negative, 100),
    }


def auc(positive: np.ndarray, negative: np.ndarray) -> dict[str, float]:
    """Compute P(positive score > negative score) + P(equal) / 2.

    It is exact, with its interval. The interval is DeLong's (Biometrics 1988; placements by midranks, Sun and
    Xu 2014) on the logit scale, so that it stays inside [0, 1]. Where the estimated variance is 0 or unknown
    (complete separation, equal scores, one target of a class), the half-width is 1 - 0.025^(1/k), k the
    smaller class: what Clopper-Pearson says of k successes in k trials. O(n log n).
    """
    m, n = len(positive), len(negative)
    # Share of the other class below each target, ties by half.
    of_positive = _share_below(positive, negative)
    of_negative = _share_below(negative, positive)
    value = float(of_positive.mean())
    variance = 0.0
    if min(m, n) > 1:
        # DeLong: the variance of each class's placements, over its number.
        variance = float(of_positive.var(ddof=1)) / m + float(of_negative.var(ddof=1)) / n
    spread = value * (1 - value)
    if variance < 1e-18 or spread < 1e-12:
        half = 1 - TAIL ** (1 / min(m, n))
        low, high = value - half, value + half
    else:
        # The delta method: on the logit scale a deviation is divided by p (1 - p).
        middle, half = math.log(value / (1 - value)), Z * math.sqrt(variance) / spread
        low, high = _logistic(middle - half), _logistic(middle + half)
    return {"value": _share(value), "low": _share(min(low, value)), "high": _share(max(high, value))}


def tpr_at(positive: np.ndarray, negative: np.ndarray, one_in: int) -> dict[str, float] | None:
    """Compute the true positive rate at a false positive rate.

    It is the share of positives identified while at most one in ``one_in`` negatives is named; an interval.
    The threshold is the lowest whose false-positive rate does not exceed the target; equal scores stand or
    fall together, never broken in the attacker's favour. The interval is Clopper-Pearson's, given the
    threshold. None with fewer than ``one_in`` negatives. O(n log n).
    """
    allowed = len(negative) // one_in
    if not allowed:
        return None
    # Strictly above this one lie at most ``allowed`` others; whoever ties with it is not named.
    bar = np.partition(negative, len(negative) - 1 - allowed)[len(negative) - 1 - allowed]
    hits = int((positive > bar).sum())
    low, high = clopper_pearson(hits, len(positive))
    return {"value": hits / len(positive), "low": low, "high": high}


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """Compute a probability's exact two-sided 95 % interval. It is from ``successes`` of ``trials``."""
    misses = trials - successes
    low = float(betaincinv(successes, misses + 1, TAIL)) if successes else 0.0
    high = float(betaincinv(successes + 1, misses, 1 - TAIL)) if misses else 1.0
    return _share(low), _share(high)


def _share_below(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute for each value the share of ``others`` below it, those equal counted by half."""
    ordered = np.sort(others)
    below, upto = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
    return (below + upto) / (2 * len(others))


def _logistic(x: float) -> float:
    # Either form for its own sign: exp of a large number would overflow.
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)
