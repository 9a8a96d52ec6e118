"""Products with learned symmetric sparse matrices.

Entries are learned, on a CPU and on CUDA alike. A pattern of pairs stands still while its weights change, so
that sorting is done once. Products go through ``embedding_bag``, three times as fast on a CPU as a product
with a CSR tensor; gradients of weights are inner products of the rows that a pair joins, read off a sampled
product. Memory is linear in the pairs.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from core.learning.sparse import bag


class Pattern:
    """Symmetric (nodes, nodes) matrices of one sparsity pattern.

    Entries are at pairs (u, v) and (v, u), and on the diagonal.

    ``values`` of such a matrix: one number a pair, then one a node.
    """

    def __init__(self, u: torch.Tensor, v: torch.Tensor, nodes: int) -> None:
        self.u, self.v, self.nodes = u, v, nodes
        loops = torch.arange(nodes, device=u.device)
        row, column = torch.cat([u, v, loops]), torch.cat([v, u, loops])
        order = torch.argsort(row * nodes + column)
        self.columns = column[order]
        self.starts = torch.zeros(nodes + 1, dtype=torch.int64, device=u.device)
        self.starts[1:] = torch.cumsum(torch.bincount(row, minlength=nodes), 0)
        size = len(u)
        self.entries = torch.where(order < size, order, order - size)  # of values: pairs, again pairs, nodes
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order), device=u.device)
        self.places = place  # of entries: pairs, pairs turned round, nodes
        none, shape = torch.zeros(len(order), device=u.device), (nodes, nodes)
        with warnings.catch_warnings():  # torch calls its CSR layout a beta, once a process
            warnings.simplefilter("ignore", UserWarning)
            self._empty = torch.sparse_csr_tensor(
                self.starts, self.columns, none, shape, check_invariants=False
            )

    def row_sums(self, weights: torch.Tensor) -> torch.Tensor:
        """Sum the weights of every node's pairs."""
        none = torch.zeros(self.nodes, dtype=weights.dtype, device=weights.device)
        return none.index_add(0, self.u, weights).index_add(0, self.v, weights)

    def times(self, values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Multiply the matrix by (nodes, d) rows; differentiable by both."""
        found: torch.Tensor = _Symmetric.apply(self, values, rows)  # type: ignore[no-untyped-call]  # torch's own
        return found

    def dots(self, rows: torch.Tensor) -> torch.Tensor:
        """Compute the inner product of each pair's (nodes, d) rows; differentiable."""
        found: torch.Tensor = _Dots.apply(self, rows)  # type: ignore[no-untyped-call]  # torch's own
        return found

    def sampled(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        """Compute a product's entries at pairs and nodes.

        They are left[u].right[v] and left[v].right[u] of the pairs. Also left[u].right[u] of the nodes.
        """
        products: torch.Tensor = torch.sparse.sampled_addmm(self._empty, left, right.t(), beta=0.0).values()[
            self.places
        ]
        return products


class _Symmetric(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        weights = values.index_select(0, pattern.entries)
        ctx.pattern = pattern
        ctx.save_for_backward(weights, rows)
        return bag(rows, pattern.columns, pattern.starts, weights)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        weights, rows = ctx.saved_tensors
        pattern, gradient = ctx.pattern, gradients[0].contiguous()
        of_values = of_rows = None
        if ctx.needs_input_grad[1]:
            there, back, loops = pattern.sampled(gradient, rows).split(
                (len(pattern.u),) * 2 + (pattern.nodes,)
            )
            of_values = torch.cat([there + back, loops])
        if ctx.needs_input_grad[2]:
            of_rows = bag(gradient, pattern.columns, pattern.starts, weights)
        return None, of_values, of_rows


class _Dots(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, rows: torch.Tensor) -> torch.Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(rows)
        return pattern.sampled(rows, rows)[: len(pattern.u)]

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, torch.Tensor]:
        pattern = ctx.pattern
        values = torch.cat([gradients[0], torch.zeros(pattern.nodes, device=gradients[0].device)])
        (rows,) = ctx.saved_tensors
        return None, bag(rows, pattern.columns, pattern.starts, values.index_select(0, pattern.entries))
