"""Edges by discrete diffusion.

Training is on graphs some of whose edges were removed; then edges are added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from core.graphs.views.networkit import one_thread
from core.privacy.entropy import Generator as Rng
from papers.comparators.diffusion.denoiser import EXACT_COLUMNS, Denoiser, Partial, adjacency, candidates

BATCH = 256
"""Removed edges that one training step looks at."""
SCORED = 2**21
"""Pairs of nodes scored at a time."""
LEARNING_RATE, DECAY = 0.01, 1e-5
LAST_ROUNDS = 16
"""Rounds after the last step for edges that found no free node."""


@dataclass(frozen=True)
class Whole:
    """A graph to learn from.

    It is sorted keys ``low * nodes + high``, and what is known of its nodes; see :class:`Partial`.
    """

    nodes: int
    keys: np.ndarray
    inputs: torch.Tensor
    groups: np.ndarray

    @property
    def degrees(self) -> np.ndarray:
        return np.bincount(np.concatenate(np.divmod(self.keys, self.nodes)), minlength=self.nodes)


def trained(
    graphs: Sequence[Whole],
    network: Denoiser,
    steps: int,
    rng: Rng,
    place: torch.device,
    tick: Callable[[int], None],
) -> tuple[list[float], bool]:
    """Train the network on all graphs.

    Returned are its curve, and whether it diverged. Each step removes a random share of one graph's edges,
    every edge by itself, and asks for one end of removed edges, given the other. The loss is the cross
    entropy over candidates. A step whose loss is not finite ends the training with the weights of the step
    before.
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, weight_decay=DECAY)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, LEARNING_RATE / 20)
    sizes = np.array([len(each.keys) for each in graphs], dtype=np.float64)
    degrees = [each.degrees for each in graphs]
    curve: list[float] = []
    for done in range(steps if sizes.sum() else 0):
        number = int(rng.choice(len(graphs), p=sizes / sizes.sum()))
        loss = _loss(graphs[number], degrees[number], network, (done * 0.618 + 0.5) % 1.0, rng, place)
        if not math.isfinite(float(loss.detach())):
            return curve, True
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        falling.step()
        curve.append(float(loss.detach()))
        tick(done + 1)
    return curve, False


def _loss(
    graph: Whole, degrees: np.ndarray, network: Denoiser, share: float, rng: Rng, place: torch.device
) -> torch.Tensor:
    """The cross entropy of removed edges' ends where each edge is removed with probability ``share``."""
    gone = rng.random(len(graph.keys)) < share
    gone[rng.integers(len(gone))] = True  # there is something to ask for
    low, high = np.divmod(graph.keys, graph.nodes)
    partial = Partial(degrees, adjacency(low[~gone], high[~gone], graph.nodes), graph.inputs, graph.groups)
    asked = rng.permutation(np.flatnonzero(gone))[:BATCH]
    turned = rng.random(len(asked)) < 0.5
    source, target = np.where(turned, (high[asked], low[asked]), (low[asked], high[asked]))
    columns = candidates(partial, source, rng.integers(graph.nodes, size=EXACT_COLUMNS), target)
    rows = network.rows(partial, place)
    total = torch.zeros((), device=place)
    for first in range(0, len(source), size := max(1, SCORED // len(columns))):
        part = slice(first, first + size)
        scores = network.scores(rows, partial, source[part], columns, partial.missing)
        wanted = torch.from_numpy(np.searchsorted(columns, target[part])).to(place)
        total = total + torch.nn.functional.cross_entropy(scores, wanted, reduction="sum")
    return total / len(source)


def drawn(
    degrees: np.ndarray,
    inputs: torch.Tensor,
    groups: np.ndarray,
    network: Denoiser,
    steps: int,
    rng: Rng,
    place: torch.device,
) -> np.ndarray:
    """Sample sorted keys of a graph of about these degrees.

    It begins with the empty graph. Every step adds an equal part of the edges: their first ends by what nodes
    lack, the others by the denoiser. No node gets more edges than its degree; ends that find nobody are left
    out.
    """
    nodes, edges = len(degrees), int(degrees.sum()) // 2
    keys = np.empty(0, dtype=np.int64)
    for step in range(steps + LAST_ROUNDS):
        wanted = edges * min(step + 1, steps) // steps - len(keys)
        if wanted <= 0 or (step >= steps and len(keys) == edges):
            continue
        low, high = np.divmod(keys, nodes)
        partial = Partial(degrees, adjacency(low, high, nodes), inputs, groups)
        keys = np.union1d(keys, _added(partial, network, wanted, rng, place))
    return keys


def _added(partial: Partial, network: Denoiser, wanted: int, rng: Rng, place: torch.device) -> np.ndarray:
    """Draw at most ``wanted`` new edges; distinct keys."""
    nodes, missing = len(partial.degrees), partial.missing
    source = rng.permutation(np.repeat(np.arange(nodes), missing))[:wanted]
    left = missing - np.bincount(source, minlength=nodes)
    target = np.full(len(source), -1)
    with torch.no_grad():
        rows = network.rows(partial, place)
        first = 0
        while first < len(source):
            near = source[first : first + BATCH]
            columns = candidates(partial, near, rng.integers(nodes, size=EXACT_COLUMNS), near[:0])
            near = near[: max(1, SCORED // len(columns))]
            scores = network.scores(rows, partial, near, columns, left).double()
            chance = torch.softmax(scores, 1).cumsum(1)
            aim = torch.from_numpy(rng.random((len(near), 1))).to(place) * chance[:, -1:]
            at = (chance < aim).sum(1).clamp(max=len(columns) - 1)
            open_ = scores.gather(1, at[:, None])[:, 0] > -1e8  # nobody is free where all are barred
            target[first : first + len(near)] = np.where(open_.cpu(), columns[at.cpu()], -1)
            first += len(near)
    source, target = source[target >= 0], target[target >= 0]
    keys = np.minimum(source, target) * nodes + np.maximum(source, target)
    kept = rng.permutation(
        np.unique(keys, return_index=True)[1]
    )  # where more chose a node than it has room for, some are dropped
    order = kept[np.argsort(target[kept], kind="stable")]
    begins = np.searchsorted(target[order], target[order])
    fits = np.arange(len(order)) - begins < left[target[order]]
    added: np.ndarray = keys[order[fits]]
    return added


def communities(whole: Whole) -> np.ndarray:
    """Detect communities by NetworKit's refined Louvain method; int64 (n,). Near-linear."""
    low, high = (each.astype(np.uint64) for each in np.divmod(whole.keys, whole.nodes))
    with one_thread() as nk:
        nk.setSeed(1, False)
        graph = nk.GraphFromCoo((low, high), n=whole.nodes, weighted=False, directed=False)
        found = nk.community.PLM(graph, refine=True, gamma=1.0)
        found.run()
    return np.asarray(found.getPartition().getVector(), dtype=np.int64)
