"""The attacker that the learner defends against.

An encoder of the graph, and a head that scores pairs. It sees the graph as it stands and learns to tell its
links, by their weights, from pairs at random. The learner then asks it about the sensitive links.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import nn
from torch.nn import functional

from papers.ppgsl.adam import Adam
from papers.ppgsl.params import PpgslParams
from papers.ppgsl.sparse import Pattern

HIDDEN, EMBEDDING, HEAD = 128, 64, 64
LEARNING_RATE = 0.01

Scores = tuple[torch.Tensor, torch.Tensor]


class Features(Protocol):
    """Node features, or the identity. It is anything that multiplies weights from the left."""

    def __matmul__(self, weights: torch.Tensor) -> torch.Tensor: ...


class Identity:
    """One input for each node. Weights are a table with a row for each."""

    def __matmul__(self, weights: torch.Tensor) -> torch.Tensor:
        return weights


class Surrogate(nn.Module):
    """An encoder of two layers and a head. Layer widths are the paper's, 128 and 64."""

    def __init__(self, inputs: int, params: PpgslParams) -> None:
        super().__init__()
        self.sage, self.head = params.encoder == "sage", params.head
        self.first = nn.Parameter(torch.empty(inputs, HIDDEN * (2 if self.sage else 1)))
        self.shift = nn.Parameter(torch.zeros(HIDDEN))
        self.second = nn.Linear(HIDDEN, EMBEDDING * (2 if self.sage else 1))
        self.scorer = None
        if self.head == "mlp":
            self.scorer = nn.Sequential(nn.Linear(2 * EMBEDDING, HEAD), nn.ReLU(), nn.Linear(HEAD, 1))
        nn.init.xavier_uniform_(self.first)
        nn.init.xavier_uniform_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def smoothed(self, pattern: Pattern, weights: torch.Tensor) -> Smoothed:
        """Make what the layers multiply with."""
        return Smoothed(pattern, weights, self.sage)

    def embed(self, graph: Smoothed, projected: torch.Tensor) -> torch.Tensor:
        """Embed the nodes, (nodes, EMBEDDING).

        Inputs are the smoothed graph and the inputs times ``first``.
        """
        hidden = (graph @ projected).add_(self.shift).relu_()
        rows: torch.Tensor = graph @ self.second(hidden)
        return rows

    def score(self, rows: torch.Tensor, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Score each pair by a logit.

        It is its cosine, inner product, or a network's mean over both orders.
        """
        # Not rows[u]: its gradient adds up in whatever order the threads arrive.
        left, right = rows.index_select(0, u), rows.index_select(0, v)
        if self.scorer is not None:
            both = self.scorer(torch.cat([left, right], 1)) + self.scorer(torch.cat([right, left], 1))
            mean: torch.Tensor = both.squeeze(1) / 2
            return mean
        return (self._ready(left) * self._ready(right)).sum(1)

    def _ready(self, rows: torch.Tensor) -> torch.Tensor:
        if self.head != "cosine":
            return rows
        return rows * torch.rsqrt((rows * rows).sum(1, keepdim=True) + 1e-12)

    def against(self, rows: torch.Tensor, pattern: Pattern, shuffled: torch.Tensor) -> Scores:
        """Score the pattern's pairs, and shuffled ones.

        Every node is scored with the one that ``shuffled`` gives it. As :meth:`score` of these pairs, without
        a copy of both ends' rows for each where the head allows.
        """
        if self.scorer is not None:
            everyone = torch.arange(pattern.nodes, device=rows.device)
            return self.score(rows, pattern.u, pattern.v), self.score(rows, everyone, shuffled)
        ready = self._ready(rows)
        return pattern.dots(ready), (ready * ready.index_select(0, shuffled)).sum(1)


class Smoothed:
    """What a layer multiplies with.

    It is D^-1/2 (W + I) D^-1/2, where D are the weighted degrees and one. For GraphSAGE the mean of a node's
    neighbours by weight, for the second half of the columns, to which the first half, the node's own, is
    added.
    """

    def __init__(self, pattern: Pattern, weights: torch.Tensor, sage: bool) -> None:
        degrees = pattern.row_sums(weights)
        self.pattern, self.mean = pattern, None
        if sage:
            self.values = torch.cat([weights, torch.zeros(pattern.nodes, device=weights.device)])
            self.mean = 1 / degrees.clamp(min=1e-6)
            return
        scale = torch.rsqrt(degrees + 1)
        each = weights * scale.index_select(0, pattern.u) * scale.index_select(0, pattern.v)
        self.values = torch.cat([each, scale * scale])

    def __matmul__(self, rows: torch.Tensor) -> torch.Tensor:
        if self.mean is None:
            return self.pattern.times(self.values, rows)
        own, around = rows.chunk(2, dim=1)
        return own + self.pattern.times(self.values, around.contiguous()) * self.mean[:, None]


def train(model: Surrogate, pattern: Pattern, weights: torch.Tensor, features: Features, steps: int) -> None:
    """Train ``model`` to predict links of the weighted graph.

    It takes ``steps`` steps, and tells which pairs are links (Eq. 5). Positives are all pairs with a weight,
    which is their label too, counted by their weight: the mean that drawing them by weight would estimate.
    Negatives are every node with another by a random order, fresh in every step. A graph without weight
    teaches nothing, and nothing is done.
    """
    present = torch.nonzero(weights > 0).squeeze(1)
    if not len(present):
        return
    kept = weights[present]
    seen = Pattern(pattern.u[present], pattern.v[present], pattern.nodes)
    graph, share = model.smoothed(seen, kept), kept / kept.sum()
    optimiser = Adam(model.parameters(), LEARNING_RATE)
    for _ in range(steps):
        shuffled = torch.randperm(pattern.nodes, device=weights.device)
        rows = model.embed(graph, features @ model.first)
        linked, random = model.against(rows, seen, shuffled)
        # Cross-entropy with label w: softplus(s) - w s.
        (
            torch.sum(share * (functional.softplus(linked) - kept * linked))
            + functional.softplus(random).mean()
        ).backward()
        optimiser.step()
