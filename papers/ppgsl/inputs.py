"""The surrogate's features of nodes. They are their public numbers and vectors, or who they are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
import torch

from core.graphs.graph import NodeTable
from core.graphs.schema import AttributeKind, NodeType, Protection
from core.learning.sparse import Sparse
from papers.ppgsl.surrogate import Features, Identity

FEWEST_COLUMNS = 16
"""Fewer columns say less of a node than its links do: a row learned for each node serves better."""

SPARSE_BELOW = 0.1
"""From this share of non-zeros on a product with the whole matrix is the cheaper one."""


def features_of(kind: NodeType, table: NodeTable, place: torch.device) -> tuple[Features, int]:
    """Put the public features on ``place``, and count inputs.

    There is a row a node where there are too few. Class labels are left out. Numbers are standardised, what
    is missing is their mean; a vector is scaled to length 1.
    """
    blocks = []
    for each in kind.attributes:
        if each.protection is not Protection.PUBLIC or each.label or each.name not in table.attributes:
            continue
        if each.kind is AttributeKind.VECTOR:
            rows = sp.csr_array(np.asarray(table.attributes[each.name], dtype=np.float32))
            rows.data = np.nan_to_num(rows.data)
            length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
            scale = sp.diags_array((1 / np.where(length > 0, length, 1)).astype(np.float32))
            blocks.append(sp.csr_array(scale @ rows))
        elif each.kind is AttributeKind.NUMBER:
            blocks.append(sp.csr_array(_standardised(table.attributes[each.name])[:, None]))
    if sum(block.shape[1] for block in blocks) < FEWEST_COLUMNS:
        return Identity(), table.count
    joined = sp.csr_array(sp.hstack(blocks, format="csr"))
    if joined.nnz > SPARSE_BELOW * joined.shape[0] * joined.shape[1]:
        return torch.from_numpy(joined.toarray()).to(place, torch.float32), joined.shape[1]
    return Sparse(joined, place), joined.shape[1]


def _standardised(column: np.ndarray | pa.Array) -> np.ndarray:
    values = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column
    numbers = np.asarray(values, dtype=np.float64)
    known = np.isfinite(numbers)
    if not known.any():
        return np.zeros(len(numbers), dtype=np.float32)
    spread = numbers[known].std() or 1.0
    return (np.where(known, numbers - numbers[known].mean(), 0.0) / spread).astype(np.float32)
