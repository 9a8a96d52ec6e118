"""Which nodes are active in which step, told from noisy degrees of all steps together.

By its own noisy degree an idle node looks active in some step or other, the more so the more steps there are.
So the law of the number of steps in which a node is active is found first, by expectation-maximisation; a
node's steps are independent coins but for that number. Then each step's degrees, whose law stays as it was
fitted, go to nodes drawn by their chance to be active there, given what was read of all steps.
Reads noisy values and degrees that were fitted to them: all of it is post-processing.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, logit

from core.methods._shared.degrees.deconvolution import filtered
from core.methods._shared.degrees.step_numbers import memberships
from core.privacy.entropy import Generator as Rng

ROUNDS = 25
MOST_WORK = 2**30  # nodes times steps squared; beyond, steps are left alone
LEAST = 1e-12
TINY = 1e-290


def over_steps(
    noisy: list[np.ndarray], degrees: list[np.ndarray], scale: float, rng: Rng
) -> list[np.ndarray]:
    """Give the ``degrees`` of every step to nodes anew; int64, each step's sorted values stay what they are.

    ``noisy``: one int64 vector a step over one node universe, with discrete Laplace noise of ``scale``;
    ``degrees``: what was fitted to them. Among a step's active nodes the larger noisy degree has the larger
    degree, ties at random. O(rounds * nodes * steps^2).
    """
    nodes, steps = len(noisy[0]), len(noisy)
    active = np.array([np.count_nonzero(each) for each in degrees])
    if steps < 2 or not active.any() or nodes * steps**2 > MOST_WORK:
        return degrees
    odds = _log_odds(noisy, degrees, scale)
    share = np.clip(active / nodes, LEAST, 1 - LEAST)
    prior = np.full(steps + 1, 1 / (steps + 1))
    chance = np.empty((nodes, steps))
    for _ in range(ROUNDS):
        by_number, _ = memberships(share[None, :], np.ones(steps + 1))
        weight = prior / np.maximum(by_number, TINY)
        posterior = np.clip(expit(logit(share) + odds), LEAST, 1 - LEAST)
        numbers, chance = memberships(posterior, weight)
        prior = numbers / nodes
        _, expected = memberships(share[None, :], prior / np.maximum(by_number, TINY))
        moved = np.log(np.maximum(chance.mean(axis=0), LEAST) / np.maximum(expected[0], LEAST))
        share = np.clip(expit(logit(share) + moved), LEAST, 1 - LEAST)
    chance = np.clip(chance, LEAST, 1 - LEAST)
    lots = logit(chance) + rng.logistic(size=chance.shape)
    found = []
    for step, values in enumerate(degrees):
        chosen = np.argsort(-lots[:, step], kind="stable")[: active[step]]
        order = np.lexsort((rng.random(len(chosen)), noisy[step][chosen]))
        given = np.zeros(nodes, dtype=np.int64)
        given[chosen[order]] = np.sort(values)[nodes - active[step] :]
        found.append(given)
    return found


def _log_odds(noisy: list[np.ndarray], degrees: list[np.ndarray], scale: float) -> np.ndarray:
    """Compute by how much each noisy degree speaks for an active node, (nodes, steps) log likelihood ratios.

    The active ones' degrees have the law that was fitted, of all steps together.
    """
    fitted = np.concatenate(degrees)
    top = int(fitted.max())
    law = np.bincount(fitted).astype(np.float64)
    law[0] = 0.0
    values = np.clip(np.stack(noisy, axis=1), -top, 2 * top)  # beyond, the ratio is what it is there
    likelihood = np.zeros(3 * top + 1)
    likelihood[top : 2 * top + 1] = law / law.sum()
    seen = np.maximum(filtered(likelihood, math.exp(-1 / scale)), TINY)
    odds: np.ndarray = (np.log(seen) + np.abs(np.arange(3 * top + 1) - top) / scale)[values + top]
    return odds
