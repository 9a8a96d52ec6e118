"""What the surrogate knows of nodes: their public numbers and vectors, or who they are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
import torch

from core.generators.ppgsl.sparse import Fixed
from core.generators.ppgsl.surrogate import Features, Identity
from core.graphs.graph import NodeTable
from core.graphs.schema import AttributeKind, NodeType, Protection

FEWEST_COLUMNS = 16
"""Fewer columns say less of a node than its links do: a row learned for each node serves better."""


def features_of(kind: NodeType, table: NodeTable, place: torch.device) -> tuple[Features, int]:
    """The public features on ``place``, and how many inputs they are; a row a node where there are too few.

    Class labels are left out. Numbers are standardised, what is missing is their mean; a vector is scaled to
    length 1.
    """
    blocks = []
    for each in kind.attributes:
        if each.protection is not Protection.PUBLIC or each.label or each.name not in table.attributes:
            continue
        if each.kind is AttributeKind.VECTOR:
            rows = np.nan_to_num(np.asarray(table.attributes[each.name], dtype=np.float32))
            length = np.linalg.norm(rows, axis=1, keepdims=True)
            blocks.append(sp.csr_array(rows / np.where(length > 0, length, 1)))
        elif each.kind is AttributeKind.NUMBER:
            blocks.append(sp.csr_array(_standardised(table.attributes[each.name])[:, None]))
    if sum(block.shape[1] for block in blocks) < FEWEST_COLUMNS:
        return Identity(), table.count
    joined = sp.csr_array(sp.hstack(blocks, format="csr"))
    return Fixed(joined, place), joined.shape[1]


def _standardised(column: np.ndarray | pa.Array) -> np.ndarray:
    values = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column
    numbers = np.asarray(values, dtype=np.float64)
    known = np.isfinite(numbers)
    if not known.any():
        return np.zeros(len(numbers), dtype=np.float32)
    spread = numbers[known].std() or 1.0
    return (np.where(known, numbers - numbers[known].mean(), 0.0) / spread).astype(np.float32)
