"""Empirical audits of epsilon. They give a lower bound on epsilon, from many runs on two neighbouring inputs.

The harness runs a mechanism on a graph and on a neighbour, picks the most telling event on one half of the
outputs, and estimates that event's two probabilities on the other half, so that the choice costs no
confidence. A sound mechanism's lower bound stays under its guarantee; one that adds too little noise is
caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

from core.errors import InvalidInput

CONFIDENCE = 0.999
MIN_RUNS = 100
# More candidates would cost time, not confidence: they are chosen on the other half of the runs.
MAX_THRESHOLDS = 256
MAX_POINTS = 64


@dataclass(frozen=True)
class AuditResult:
    """With ``confidence``, epsilon is at least ``lower_bound``. ``event`` says what distinguished the
    inputs."""

    lower_bound: float
    confidence: float
    event: str


@dataclass(frozen=True)
class _Event:
    """A set of outputs, and which of the two inputs it speaks for."""

    name: str
    holds: Callable[[np.ndarray], np.ndarray]
    favours_graph: bool = True


def audit_epsilon(
    run: Callable[[Any, int], np.ndarray],
    graph: Any,
    neighbour: Any,
    *,
    runs: int,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
) -> AuditResult:
    """Compute a lower bound on the epsilon of ``run``. It is valid with probability ``confidence`` over the
    runs.

    ``run(graph, count)`` runs the mechanism ``count`` times, independently, and returns (count,) or (count,
    d) numbers, one row of output features each; :func:`repeated` makes it from a single-run function.
    ``runs`` is the number on each input; half of them choose the event. Candidate events: thresholds of
    every feature and of the linear discriminant, and the most frequent exact rows, each in both directions.

    Proof: the chosen event does not depend on the second half. There P(E | favoured) and P(E | other) are
    bounded by one-sided Clopper-Pearson intervals at (1 - confidence) / 2 each (Bonferroni), and epsilon >=
    ln((P(E | favoured) - delta) / P(E | other)) under (epsilon, delta)-DP.
    """
    if runs < MIN_RUNS or not 0 < confidence < 1 or not 0 <= delta < 1:
        raise InvalidInput(
            f"an audit takes at least {MIN_RUNS} runs and a confidence in (0, 1)", field="runs"
        )
    samples = [_features(run(world, runs), runs) for world in (graph, neighbour)]
    half = runs // 2
    # Of two bounds, each is wrong with at most half of what the confidence leaves (Bonferroni).
    alpha = (1 - confidence) / 2
    choice = _best_event(samples[0][:half], samples[1][:half], delta, alpha)
    held_out = [sample[half:] for sample in samples]
    hits = [int(choice.holds(part).sum()) for part in held_out]
    if not choice.favours_graph:
        hits.reverse()
    bound = _bounds(np.array(hits[:1]), np.array(hits[1:]), runs - half, delta, alpha)
    return AuditResult(max(0.0, float(bound[0])), confidence, choice.name)


def repeated(once: Callable[[Any], np.ndarray]) -> Callable[[Any, int], np.ndarray]:
    """Make a ``run`` for :func:`audit_epsilon`. It calls ``once(graph)`` afresh for each row."""
    return lambda graph, count: np.stack([np.atleast_1d(once(graph)) for _ in range(count)])


def clopper_pearson(hits: np.ndarray, runs: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute one-sided bounds (low, high) on probabilities, each wrong with probability <= ``alpha``."""
    hits = np.asarray(hits)
    # Beta quantiles are not defined for no hits (below) and
    # for nothing but hits (above): there 0 and 1 bound.
    low = np.where(hits == 0, 0.0, beta.ppf(alpha, np.maximum(hits, 1), runs - hits + 1))
    high = np.where(hits == runs, 1.0, beta.ppf(1 - alpha, hits + 1, np.maximum(runs - hits, 1)))
    return low, high


def _bounds(hits: np.ndarray, other: np.ndarray, runs: int, delta: float, alpha: float) -> np.ndarray:
    """Compute lower bounds on epsilon; -inf where the favoured probability may be as low as delta."""
    low = clopper_pearson(hits, runs, alpha)[0] - delta
    high = clopper_pearson(other, runs, alpha)[1]
    # 1e-300 only keeps the logarithm quiet where the other branch is taken.
    return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)


def _features(outputs: np.ndarray, runs: int) -> np.ndarray:
    array = np.asarray(outputs, dtype=np.float64)
    array = array.reshape(len(array), -1)
    if len(array) != runs or not np.isfinite(array).all():
        raise InvalidInput("a run returns one finite row per repetition", field="run")
    return array


def _best_event(p: np.ndarray, q: np.ndarray, delta: float, alpha: float) -> _Event:
    """Choose the candidate with the highest lower bound on the first half; a small sample is no merit."""
    best, best_score = _Event("everything", lambda x: np.ones(len(x), dtype=bool)), -math.inf
    for hits_p, hits_q, event_at in _candidates(p, q):
        for favours, first, second in ((True, hits_p, hits_q), (False, hits_q, hits_p)):
            scores = _bounds(first, second, len(p), delta, alpha)
            top = int(scores.argmax())
            if scores[top] > best_score:
                best_score = float(scores[top])
                name, holds = event_at(top)
                best = _Event(name, holds, favours)
    return best


_EventAt = Callable[[int], tuple[str, Callable[[np.ndarray], np.ndarray]]]


def _candidates(p: np.ndarray, q: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, _EventAt]]:
    """Yield families of events: how often each holds in p and in q, and a way to name its i-th."""
    both = np.concatenate([p, q])
    directions = [(f"feature {j}", row) for j, row in enumerate(np.eye(p.shape[1]))]
    directions.append(("discriminant", _discriminant(p, q, both)))
    for name, weights in directions:
        values = np.unique(both @ weights)
        if len(values) > MAX_THRESHOLDS:
            values = values[np.linspace(0, len(values) - 1, MAX_THRESHOLDS).astype(int)]
        sorted_p, sorted_q = np.sort(p @ weights), np.sort(q @ weights)
        at_most = [np.searchsorted(each, values, side="right") for each in (sorted_p, sorted_q)]
        at_least = [len(p) - np.searchsorted(each, values, side="left") for each in (sorted_p, sorted_q)]
        yield at_most[0], at_most[1], _thresholds(name, weights, values, -1)
        yield at_least[0], at_least[1], _thresholds(name, weights, values, 1)
    rows, inverse = np.unique(both, axis=0, return_inverse=True)
    # Both halves have one length, so that the rows of p are the first half of ``both``.
    counts = [np.bincount(part, minlength=len(rows)) for part in np.split(inverse.ravel(), 2)]
    common = np.argsort(-(counts[0] + counts[1]), kind="stable")[:MAX_POINTS]
    yield counts[0][common], counts[1][common], _points(rows[common])


def _discriminant(p: np.ndarray, q: np.ndarray, both: np.ndarray) -> np.ndarray:
    """Compute Fisher's linear discriminant between the two halves, lightly regularised."""
    spread = np.cov(both, rowvar=False).reshape(p.shape[1], -1)
    # Without it a feature that never varies, or repeats another, would leave nothing to solve for.
    ridge = 1e-9 + 1e-6 * np.trace(spread)
    return np.linalg.solve(spread + ridge * np.eye(p.shape[1]), p.mean(axis=0) - q.mean(axis=0))


def _thresholds(name: str, weights: np.ndarray, values: np.ndarray, sign: int) -> _EventAt:
    def event_at(i: int) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
        relation = ">=" if sign > 0 else "<="
        return f"{name} {relation} {values[i]:.6g}", lambda x: sign * (x @ weights - values[i]) >= 0

    return event_at


def _points(rows: np.ndarray) -> _EventAt:
    return lambda i: (f"output = {rows[i].tolist()}", lambda x: (x == rows[i]).all(axis=1))
