"""The networks of DPGGAN.

A graph encoder, a decoder of links, and a discriminator of whole graphs. Sizes are the paper's: two-layer
GCNs of 32 and 16, two-layer decoders. Where node inputs are one-hot, the first layer of a GCN is a table with
a row for each node. Sources: Yang et al., IJCAI 2021; Kipf and Welling, 2016 and 2017.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

HIDDEN, LATENT = 32, 16
DENSE_NODES = 512
"""Up to so many nodes a GCN's matrix is stored whole, and a generated graph's: faster than a sparse one."""
WIDEST, START = 2.0, -3.0
"""Log standard deviations of latent vectors: the largest, and about what they begin with."""
LEAST_DEGREE = 1e-12
"""Of a node of a generated graph, so that one without weight has a finite share."""


class Smoothed:
    """A GCN's smoothing matrix.

    It is D^-1/2 (A + I) D^-1/2 of an undirected graph. It is ready to be multiplied; symmetric. Without
    ``loops`` there is no I, and a node without edges has a row of zeros.
    """

    def __init__(self, u: torch.Tensor, v: torch.Tensor, nodes: int, *, loops: bool = True) -> None:
        place, own = u.device, torch.arange(nodes if loops else 0, device=u.device)
        row, column = torch.cat([u, v, own]), torch.cat([v, u, own])
        degree = torch.bincount(row, minlength=nodes).to(torch.float32)
        scale = torch.where(degree > 0, degree.rsqrt(), 0.0)
        value = scale[row] * scale[column]
        if nodes <= DENSE_NODES:
            self.matrix = torch.zeros(nodes, nodes, device=place)
            self.matrix[row, column] = value
            return
        matrix = torch.sparse_coo_tensor(
            torch.stack([row, column]), value, (nodes, nodes), check_invariants=False
        )
        self.matrix = matrix.coalesce()

    def __matmul__(self, values: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = _Product.apply(self.matrix, values)  # type: ignore[no-untyped-call]  # torch's own
        return found


class _Product(torch.autograd.Function):
    """A product with a constant symmetric matrix, whose gradient is the same product."""

    @staticmethod
    def forward(ctx: Any, matrix: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        ctx.matrix = matrix
        return matrix @ values

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[None, torch.Tensor]:
        return None, ctx.matrix @ gradient.contiguous()


class Encoder(nn.Module):
    """Means and log standard deviations of latent vectors.

    Both GCNs share their first layer.

    ``features`` (nodes, d): node inputs, public or paid for; without them inputs are one-hot. ``start`` is
    added to log deviations.
    """

    def __init__(self, nodes: int, features: torch.Tensor | None = None, *, start: float = START) -> None:
        super().__init__()
        self.features, self.start = features, start
        rows = nodes if features is None else features.shape[1]
        self.table = nn.Parameter(torch.randn(rows, HIDDEN) / math.sqrt(HIDDEN))
        self.mean = nn.Linear(HIDDEN, LATENT, bias=False)
        self.spread = nn.Linear(HIDDEN, LATENT, bias=False)

    def forward(self, graph: Smoothed, at: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Compute means and log deviations, (nodes, LATENT) each.

        They are of ``graph``'s nodes ``at``, or all.
        """
        table = self.table if self.features is None else self.features @ self.table
        hidden = torch.relu(graph @ (table if at is None else table[at]))
        both = graph @ torch.cat([self.mean(hidden), self.spread(hidden)], 1)
        mean, spread = both.split(LATENT, 1)
        return mean, (spread + self.start).clamp(max=WIDEST)


class Decoder(nn.Module):
    """f of Eq. 3; two nodes' logit is the scaled product of their rows, plus one offset for all pairs."""

    def __init__(self, *, scale: float = HIDDEN**0.25) -> None:
        super().__init__()
        self.scale = scale
        self.first = nn.Linear(LATENT, HIDDEN)
        self.second = nn.Linear(HIDDEN, HIDDEN)
        self.offset = nn.Parameter(torch.zeros(()))

    def rows(self, latent: torch.Tensor) -> torch.Tensor:
        """Compute rows (..., HIDDEN) whose products are centred logits.

        The product of one with another is a logit less the offset.
        """
        scaled: torch.Tensor = self.second(torch.relu(self.first(latent))) / self.scale
        return scaled

    def folded(self) -> Decoder:
        """Return a decoder of the usual scale with the same rows."""
        other = Decoder()
        other.load_state_dict(self.state_dict())
        with torch.no_grad():
            for each in other.second.parameters():
                each.mul_(other.scale / self.scale)
        return other

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Compute (...) logits of pairs."""
        one, other = self.rows(torch.stack([left, right]))
        score: torch.Tensor = (one * other).sum(-1) + self.offset
        return score

    @staticmethod
    def gradient(
        values: Mapping[str, torch.Tensor], left: torch.Tensor, right: torch.Tensor, times: float = 1.0
    ) -> dict[str, torch.Tensor]:
        """Compute ``times`` the gradient of one pair's logit.

        It is at the parameters ``values``, cheaper than autograd.
        """
        latent = torch.stack([left, right])
        first = latent @ values["first.weight"].T + values["first.bias"]
        hidden = torch.relu(first)
        # The logit's derivative by either node's second layer is the other's row.
        back = (hidden @ values["second.weight"].T + values["second.bias"]).flip(0)
        back = back * (times / HIDDEN**0.5)
        inner = (back @ values["second.weight"]) * (first > 0)
        return {
            "offset": torch.full_like(values["offset"], times),
            "first.weight": inner.T @ latent,
            "first.bias": inner.sum(0),
            "second.weight": back.T @ hidden,
            "second.bias": back.sum(0),
        }


class Discriminator(nn.Module):
    """The discriminator g' and f'.

    It is a GCN, the mean of its nodes' rows, and a feed-forward network on that mean; with ``total`` their
    sum. Without ``loops`` generated graphs have no self-loops in their smoothing either.
    """

    def __init__(self, nodes: int, *, total: bool = False, loops: bool = True) -> None:
        super().__init__()
        self.total, self.loops = total, loops
        self.table = nn.Parameter(torch.randn(nodes, HIDDEN) / math.sqrt(HIDDEN))
        self.second = nn.Linear(HIDDEN, LATENT, bias=False)
        self.judge = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))

    def known(self, graph: Smoothed, at: torch.Tensor | None = None) -> torch.Tensor:
        """Compute g' of a graph; (LATENT,). It is of the nodes ``at`` or of all."""
        table = self.table if at is None else self.table[at]
        return self._pooled(graph @ self.second(torch.relu(graph @ table)))

    def _pooled(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.sum(0) if self.total else rows.mean(0)

    def soft(
        self, u: torch.Tensor, v: torch.Tensor, weight: torch.Tensor, at: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Compute g' of a graph of weighted edges; (LATENT,). Gradients go through the weights."""
        table = self.table if at is None else self.table[at]
        own = torch.full((len(table),), float(self.loops), device=weight.device)
        degree = own.index_add(0, u, weight).index_add(0, v, weight)

        def spread(values: torch.Tensor) -> torch.Tensor:
            each, kept = weight.unsqueeze(1), own.unsqueeze(1) * values
            return kept.index_add(0, u, each * values[v]).index_add(0, v, each * values[u])

        return self._seen(table, degree, spread)

    def dense(self, weight: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """As :meth:`soft`, of a symmetric matrix of weights with nothing on its diagonal."""
        degree = weight.sum(1) + float(self.loops)
        return self._seen(self.table[at], degree, lambda values: weight @ values + float(self.loops) * values)

    def _seen(
        self, table: torch.Tensor, degree: torch.Tensor, spread: Callable[[torch.Tensor], torch.Tensor]
    ) -> torch.Tensor:
        """Compute g' by ``spread``, the product with A + I, or A without loops."""
        scale = degree.clamp(min=LEAST_DEGREE).rsqrt().unsqueeze(1)
        hidden = torch.relu(spread(table * scale) * scale)
        return self._pooled(spread(self.second(hidden) * scale) * scale)
