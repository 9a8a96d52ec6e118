"""Products with a sparse matrix that does not change. Neighbourhoods and node features are such."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
import torch

Arrays = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Sparse:
    """A sparse matrix as float32 on ``place``. ``matrix @ rows`` is its product with dense float32 rows.

    Its transpose is kept beside it, for gradients by the rows: torch would make one anew in every backward
    pass. Bags of embeddings take half to a third of the time that torch's product of sparse matrices takes,
    and need no vendor's library. Memory linear in the non-zeros.
    """

    def __init__(self, matrix: sp.csr_array, place: torch.device) -> None:
        self.forward, self.backward = (_arrays(each, place) for each in (matrix, sp.csr_array(matrix.T)))

    def __matmul__(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = _Product.apply(self, rows)  # type: ignore[no-untyped-call]  # torch's own, untyped
        return found


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Sparse, rows: torch.Tensor) -> torch.Tensor:
        ctx.matrix = matrix
        return bag(rows.contiguous(), *matrix.forward)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, torch.Tensor]:
        return None, bag(gradients[0].contiguous(), *ctx.matrix.backward)


def bag(
    rows: torch.Tensor, columns: torch.Tensor, starts: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """Sum ``rows[columns[i]]``, weighted, for i in starts[r] .. starts[r + 1], once for every r."""
    return torch.embedding_bag(rows, columns, starts, False, 0, False, weights, True)[0]


def _arrays(matrix: sp.csr_array, place: torch.device) -> Arrays:
    kept = ((matrix.indices, torch.int64), (matrix.indptr, torch.int64), (matrix.data, torch.float32))
    columns, starts, weights = (torch.from_numpy(each).to(place, kind) for each, kind in kept)
    return columns, starts, weights
