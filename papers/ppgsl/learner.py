"""The graph learner (SITP) of pair weights.

They are moved so that the surrogate overlooks the sensitive links.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn import functional

from papers.ppgsl.adam import Adam
from papers.ppgsl.informed import Traces
from papers.ppgsl.params import PpgslParams
from papers.ppgsl.sparse import Pattern
from papers.ppgsl.surrogate import Features, Surrogate, train


@dataclass(frozen=True)
class Problem:
    """A relation on a device.

    The pairs that have a weight, and what the weights are to hide.

    ``original``: 1 for links, 0 for pairs that may be added. ``sensitive``: (2, s) ends. ``inputs``: rows of
    the surrogate's first layer. ``traces``: what an informed attacker reads, where it is to find nothing.
    """

    pattern: Pattern
    original: torch.Tensor
    sensitive: torch.Tensor
    features: Features
    inputs: int
    traces: Traces | None = None


@dataclass
class Learned:
    """Uncut weights, and the two losses of every step. They are not yet cut to [0, 1]."""

    raw: torch.Tensor
    privacy: list[float]
    utility: list[float]

    @property
    def weights(self) -> torch.Tensor:
        """The weights, in [0, 1]."""
        return self.raw.clamp(0, 1)


def learn(
    problem: Problem,
    params: PpgslParams,
    alpha: float,
    start: torch.Tensor,
    steps: int,
    tick: Callable[[int], None],
) -> Learned:
    """Learn weights by ``steps`` steps from ``start``.

    ``tick(done)`` follows each. Loss: the surrogate's mean cross-entropy of calling sensitive links non-links
    (Eq. 7), or where there are ``traces`` what those tell of sensitive links, and ``alpha`` times the length
    of the change over that of the visible graph, or as in Eq. 8 its squared norm. What is cut to [0, 1]
    passes its gradient on, else a weight that a step has thrown over a bound would stay there for good. One
    weight a pair keeps the matrix symmetric (Eq. 6): both halves would move alike. The surrogate starts from
    fresh weights every ``interval`` steps. O(steps * (pairs + non-zeros of the features)).
    """
    if not len(start):  # no pair to weigh; an empty list of sensitive links still takes every step
        tick(steps)
        return Learned(start, [0.0] * steps, [0.0] * steps)
    raw = start.clone().requires_grad_(True)
    optimiser = Adam([raw], params.learning_rate)
    links = problem.original.sum().clamp(min=1)
    losses = torch.zeros(2, steps, device=raw.device)
    model = projected = None
    for step in range(steps):
        if step % params.interval == 0:
            if model is None or params.protocol == "sitp":
                model = Surrogate(problem.inputs, params).to(raw.device)
            model.requires_grad_(True)
            train(model, problem.pattern, raw.detach().clamp(0, 1), problem.features, params.surrogate_steps)
            model.requires_grad_(False)
            projected = problem.features @ model.first
        assert model is not None
        assert projected is not None
        weights = raw + (raw.clamp(0, 1) - raw).detach()
        rows = model.embed(model.smoothed(problem.pattern, weights), projected)
        if problem.traces is not None:
            privacy = problem.traces.told(problem.pattern, weights, rows, problem.sensitive)
        else:
            scores = model.score(rows, *problem.sensitive)
            privacy = functional.softplus(scores).sum() / max(len(scores), 1)
        utility = _change(params, torch.sum((weights - problem.original) ** 2), links)
        # Adam adds a fixed epsilon to its denominator: gradients of large graphs are scaled to stay above it.
        ((privacy + alpha * utility) * len(raw)).backward()
        optimiser.step()
        losses[0, step], losses[1, step] = privacy.detach(), utility.detach()
        tick(step + 1)
    return Learned(raw.detach(), *losses.cpu().tolist())


def _change(params: PpgslParams, squares: torch.Tensor, links: torch.Tensor) -> torch.Tensor:
    """Compute the loss of utility from the pairs' squared changes."""
    if params.change == "squared":
        return 2 * squares  # a pair is two entries of the matrix
    return torch.sqrt(squares / links + 1e-12)  # its gradient is 0 where nothing has changed
