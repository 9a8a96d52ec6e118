"""Several graphs as one, for joint training. A single graph is the simplest case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

EXACT_PAIRS = 2000 * 1999 // 2
"""Up to so many pairs inside the graphs, all of them are looked at; beyond, uniform ones."""
SAMPLED_PAIRS = 2**16
LIKE = 0.9
BARRED = -1e6
"""Added to the logit of a pair with padding: its softplus is 0 in float32, and so is its gradient."""
"""A graph shares a batch with one whose size it has at least that share of."""


@dataclass(frozen=True)
class Batch:
    """Graphs of like sizes, padded to the largest.

    ``graphs`` (k,), ``nodes`` (k, n) numbered across the union, ``barred`` (k, n, 1) BARRED where a place is
    padding, else 0.
    """

    graphs: torch.Tensor
    nodes: torch.Tensor
    barred: torch.Tensor


@dataclass(frozen=True)
class Union:
    """Graphs of ``sizes`` nodes.

    The nodes of each follow those of the one before.

    ``edges``: how many edges each is said to have, at least 1. ``keys``: sorted ``low * size + high`` of what
    may be read of each graph: of a noisy one, or under no guarantee.
    """

    sizes: tuple[int, ...]
    edges: tuple[int, ...]
    keys: tuple[np.ndarray, ...]
    _batches: dict[torch.device, list[Batch]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def offsets(self) -> np.ndarray:
        """Return each graph's first node, and the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @property
    def nodes(self) -> int:
        return int(self.offsets[-1])

    @cached_property
    def pairs(self) -> np.ndarray:
        """How many pairs of nodes each graph has; float64."""
        size = np.array(self.sizes, dtype=np.float64)
        return np.asarray(size * (size - 1) / 2)

    @property
    def exact(self) -> bool:
        """Whether all pairs are looked at."""
        return bool(self.pairs.sum() <= EXACT_PAIRS)

    def batches(self, place: torch.device) -> list[Batch]:
        """Lay out graphs of like sizes in one batch each.

        There are few, however many graphs there are. Remembered.
        """
        if place not in self._batches:
            self._batches[place] = [self._batch(each, place) for each in self._alike()]
        return self._batches[place]

    def _alike(self) -> Iterator[np.ndarray]:
        """Divide the graphs that have pairs, by falling size, so that none is below LIKE of its largest."""
        sizes = np.array(self.sizes)
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > 1]
        while len(order):
            kept = sizes[order] >= LIKE * sizes[order[0]]
            yield order[kept]
            order = order[~kept]

    def _batch(self, graphs: np.ndarray, place: torch.device) -> Batch:
        sizes = np.array(self.sizes)[graphs]
        at = np.arange(sizes.max())
        nodes = np.minimum(at, sizes[:, None] - 1) + self.offsets[graphs][:, None]
        barred = np.where(at < sizes[:, None], 0, BARRED).astype(np.float32)[:, :, None]
        return Batch(*(torch.from_numpy(each).to(place) for each in (graphs, nodes, barred)))

    def priors(self) -> np.ndarray:
        """Compute the log odds of an edge in each graph. They are by its number of edges; (graphs,)."""
        share = np.clip(np.array(self.edges) / np.maximum(self.pairs, 1), 1e-9, 1 - 1e-6)
        return np.asarray(np.log(share) - np.log1p(-share))

    def links(self, place: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return (graph, u, v) of every edge that may be read.

        They are int64, nodes numbered across the graphs.
        """
        parts = [np.stack(np.divmod(keys, size)) for keys, size in zip(self.keys, self.sizes, strict=True)]
        graph = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
        ends = np.concatenate(parts, axis=1) + self.offsets[graph]
        return tuple(torch.from_numpy(each).to(place) for each in (graph, *ends))  # type: ignore[return-value]

    def sampled(self, count: int, place: torch.device) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sample (graph, u, v) of ``count`` uniform pairs. They are inside the graphs, sampled by torch."""
        if not self.pairs.any():
            nothing = torch.empty(0, dtype=torch.int64, device=place)
            return nothing, nothing, nothing
        chance = torch.from_numpy(np.maximum(self.pairs, np.finfo(float).tiny)).to(place)
        graph = torch.multinomial(chance, count, replacement=True)
        size = torch.tensor(self.sizes, device=place)[graph]
        first = (torch.rand(count, device=place, dtype=torch.float64) * size).long()
        second = (torch.rand(count, device=place, dtype=torch.float64) * (size - 1)).long()
        second += second >= first
        start = torch.from_numpy(self.offsets[:-1]).to(place)[graph]
        return graph, start + first, start + second


def partition(union: Union, left: torch.Tensor, right: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Sum softplus(left_u . right_v + offset) over pairs u < v of each graph, with gradient.

    All pairs where there are few of them, which makes it exact, graphs of like sizes at once; ``left`` and
    ``right`` must then be such that the logits are symmetric. O(pairs * columns), memory of a batch's pairs.
    """
    place = left.device
    if not union.exact:
        graph, u, v = union.sampled(SAMPLED_PAIRS, place)
        logit = (left[u] * right[v]).sum(-1) + offsets[graph]
        every = torch.nn.functional.softplus(logit)
        return every.sum() * (float(union.pairs.sum()) / SAMPLED_PAIRS)
    total = 0.0 * (
        left[:1].sum() + right[:1].sum() + offsets[:1].sum()
    )  # has a gradient without any pair too
    for batch in union.batches(place):
        # Two columns more add the offset, and to pairs with padding what makes their softplus nothing.
        one, other = (torch.nn.functional.embedding(batch.nodes, each) for each in (left, right))
        shift = offsets[batch.graphs].view(-1, 1, 1) + batch.barred
        one = torch.cat([one, batch.barred, torch.ones_like(batch.barred)], 2)
        other = torch.cat([other, torch.ones_like(batch.barred), shift], 2)
        every = torch.nn.functional.softplus(one @ other.transpose(1, 2))
        total = total + (every.sum() - every.diagonal(dim1=1, dim2=2).sum()) / 2
    return total
