"""Weights of pairs, from a relation and its sensitive links."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from core.learning.devices import seeded
from core.methods.base import Progress, Training
from core.privacy.entropy import Generator as Rng
from papers._shared.defences.absent import absent_pairs, room
from papers._shared.defences.visible import Altered, Visible
from papers.ppgsl.informed import traces_of
from papers.ppgsl.inputs import features_of
from papers.ppgsl.learner import Learned, Problem, learn
from papers.ppgsl.params import PpgslParams, Target, require_few
from papers.ppgsl.search import asked, search, steps_of
from papers.ppgsl.sparse import Pattern

HELD_OUT = 0.1
"""Share of the visible links that a target for links is measured on."""


def learned_weights(visible: Visible, params: PpgslParams, rng: Rng, progress: Progress) -> Altered:
    """Learn weights of visible links and addable pairs. Those of 0 are left out."""
    with seeded(int(rng.integers(2**62))) as place:
        if params.target is None:
            keys = candidates(visible, params, rng)
            tick = partial(_tick, progress, params.steps, 0)
            problem = problem_of(visible, keys, params, place, rng)
            found = learn(problem, params, params.alpha, problem.original, params.steps, tick)
            return altered(keys, found, params, curves_of(found))
        return searched(visible, params, params.target, place, rng, progress)


def searched(
    visible: Visible, params: PpgslParams, target: Target, place: torch.device, rng: Rng, progress: Progress
) -> Altered:
    """Learn as :func:`learned_weights`, at the alpha that reaches ``target``.

    ``attack_auc`` is measured on the sensitive links, and the weights that were measured are published. For
    ``link_auc`` a tenth of the visible links is held out of the search, to be predicted; what is published is
    learned afterwards, from all of them, at the chosen alpha.
    """
    taken = np.union1d(visible.links, visible.sensitive)
    total = sum(steps_of(params)) + (0 if target.link_auc is None else params.steps)
    seen, pairs = visible, visible.sensitive
    if target.link_auc is not None:
        pairs = np.sort(rng.permutation(visible.links)[: int(HELD_OUT * len(visible.links))])
        seen = replace(visible, links=np.setdiff1d(visible.links, pairs, assume_unique=True))
    keys = candidates(seen, params, rng)
    keys = np.setdiff1d(keys, pairs, assume_unique=True)
    want = asked(target, pairs, taken, visible.nodes, rng)
    problem = problem_of(seen, keys, params, place, rng)
    best = search(problem, params, want, partial(_tick, progress, total, 0))
    found = best.learned
    if target.link_auc is not None:
        keys = candidates(visible, params, rng)
        problem = problem_of(visible, keys, params, place, rng)
        tick = partial(_tick, progress, total, total - params.steps)
        found = learn(problem, params, best.alpha, problem.original, params.steps, tick)
    what = "attack AUC" if target.link_auc is None else "link AUC"
    note = f"alpha {best.alpha:.3g} was chosen among those tried" + (
        "." if best.reached else f"; none of them reached the {what} that was asked for."
    )
    curves = {"alpha tried": best.alphas, f"{what} of it": best.aucs, **curves_of(found)}
    return altered(keys, found, params, curves, (note,))


def altered(
    keys: np.ndarray,
    found: Learned,
    params: PpgslParams,
    curves: dict[str, tuple[float, ...]],
    notes: tuple[str, ...] = (),
) -> Altered:
    """Round the weights for publication. Those of 0 are left out."""
    weights = found.weights.cpu().numpy()
    if params.rounding == "threshold" and params.release == "graph":
        weights = (weights >= 0.5).astype(np.float32)
    kept = weights > 0
    return Altered(keys[kept], weights[kept], Training(curves, notes))


def _tick(progress: Progress, total: int, before: int, done: int) -> None:
    progress("learn", before + done, total)


def curves_of(found: Learned) -> dict[str, tuple[float, ...]]:
    """Return the losses of every step."""
    return {"privacy loss": tuple(found.privacy), "change of the graph": tuple(found.utility)}


def candidates(visible: Visible, params: PpgslParams, rng: Rng) -> np.ndarray:
    """List sorted keys of the pairs that have a weight.

    They are the visible links, and some that are no links.
    """
    taken = np.union1d(visible.links, visible.sensitive)
    wanted = int(params.additions * len(visible.links))
    if params.full:
        require_few(visible.nodes)
        wanted = room(visible.nodes)
    return np.union1d(visible.links, absent_pairs(taken, visible.nodes, wanted, rng))


def problem_of(
    visible: Visible, keys: np.ndarray, params: PpgslParams, place: torch.device, rng: Rng
) -> Problem:
    """Put the relation on ``place``. O(pairs log pairs)."""
    u, v = (torch.from_numpy(each).to(place) for each in np.divmod(keys, visible.nodes))
    original = torch.from_numpy(np.isin(keys, visible.links, assume_unique=True).astype(np.float32))
    sensitive = torch.from_numpy(np.stack(np.divmod(visible.sensitive, visible.nodes)))
    features, inputs = features_of(visible.kind, visible.table, place)
    pattern = Pattern(u, v, visible.nodes)
    traces = None
    if params.against == "informed":
        traces = traces_of(visible, features, inputs, place, rng)
    return Problem(pattern, original.to(place), sensitive.to(place), features, inputs, traces)
