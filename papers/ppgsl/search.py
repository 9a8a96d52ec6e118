"""Bisection for the utility weight that reaches the target. Each round goes on from the last."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from core.privacy.entropy import Generator as Rng
from papers._shared.defences.absent import absent_pairs
from papers.ppgsl.learner import Learned, Problem, learn
from papers.ppgsl.params import PpgslParams, Target
from papers.ppgsl.surrogate import Surrogate, train

ALPHAS = {"relative": (0.01, 10.0), "squared": (1e-4, 0.1)}
"""Between which alphas a search goes, by what the change is measured in."""
RESTART_SHARE = 0.4
"""Steps of a round that goes on from the last one, as a share of the first's."""


@dataclass(frozen=True)
class Asked:
    """The pairs that a round is measured by.

    ``pairs`` that are links, keys, against as many that are none.
    """

    target: Target
    pairs: np.ndarray
    none: np.ndarray
    nodes: int

    def enough(self, auc: float) -> bool:
        """Tell whether there is privacy to spare. Then alpha may grow."""
        if self.target.attack_auc is not None:
            return auc <= self.target.attack_auc
        return auc < float(self.target.link_auc or 0)


@dataclass(frozen=True)
class Found:
    """The chosen round's alpha and weights. Of all rounds, in their order, there are alpha and AUC."""

    alpha: float
    learned: Learned
    alphas: tuple[float, ...]
    aucs: tuple[float, ...]
    reached: bool


def asked(target: Target, pairs: np.ndarray, taken: np.ndarray, nodes: int, rng: Rng) -> Asked:
    """Sample as many unlinked pairs as there are ``pairs``. They serve all rounds. ``taken``: all links."""
    return Asked(target, pairs, absent_pairs(taken, nodes, len(pairs), rng), nodes)


def steps_of(params: PpgslParams) -> list[int]:
    """List how many steps each round takes."""
    return [params.steps] + [max(1, int(RESTART_SHARE * params.steps))] * (params.rounds - 1)


def search(problem: Problem, params: PpgslParams, want: Asked, tick: Callable[[int], None]) -> Found:
    """Search for the round closest to the target.

    It is one of those that reach it; ``tick(done)`` goes over all rounds. For ``attack_auc`` the largest
    alpha at which the AUC was low enough, else the smallest alpha. For ``link_auc`` the smallest at which it
    was high enough, else the largest. The weights of a round begin as the last round left them; the surrogate
    does not.
    """
    low, high = map(math.log, ALPHAS[params.change])
    start, done = problem.original, 0
    tried: list[tuple[float, float, Learned]] = []
    for steps in steps_of(params):
        alpha = math.exp((low + high) / 2)
        learned = learn(problem, params, alpha, start, steps, partial(_later, tick, done))
        done, start = done + steps, learned.raw
        auc = measured(problem, params, learned.weights, want)
        tried.append((alpha, auc, learned))
        if want.enough(auc):
            low = math.log(alpha)
        else:
            high = math.log(alpha)
    attack = want.target.attack_auc is not None
    good = [each for each in tried if want.enough(each[1]) == attack]
    largest = attack == bool(good)
    chosen = (max if largest else min)(good or tried, key=lambda each: each[0])
    alphas, aucs, _ = zip(*tried, strict=True)
    return Found(chosen[0], chosen[2], alphas, aucs, bool(good))


def _later(tick: Callable[[int], None], before: int, done: int) -> None:
    tick(before + done)


def measured(problem: Problem, params: PpgslParams, weights: torch.Tensor, want: Asked) -> float:
    """Measure the AUC of an attacker on one rounding.

    It is trained from fresh weights; 1/2 if nothing is requested.
    """
    rounded = (weights >= 0.5).float() if params.rounding == "threshold" else torch.bernoulli(weights)
    model = Surrogate(problem.inputs, params).to(weights.device)
    train(model, problem.pattern, rounded, problem.features, params.surrogate_steps)
    if not len(want.pairs) or not len(want.none):
        return 0.5
    with torch.no_grad():
        rows = model.embed(model.smoothed(problem.pattern, rounded), problem.features @ model.first)
        yes, no = (
            model.score(
                rows, *(torch.from_numpy(each).to(rows.device) for each in np.divmod(keys, want.nodes))
            )
            .cpu()
            .numpy()
            for keys in (want.pairs, want.none)
        )
    return area(yes, no)


def area(positive: np.ndarray, negative: np.ndarray) -> float:
    """Compute P(positive > negative) + P(equal) / 2."""
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, "left") + np.searchsorted(ordered, positive, "right")
    return float(below.mean() / (2 * len(ordered)))
