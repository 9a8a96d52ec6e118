"""Graphs and features as torch tensors. Memory is linear in nodes and links."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from core.evaluation.view import UndirectedView
from core.learning.sparse import Sparse

# Below this share of non-zeros a product with a sparse matrix is the cheaper one.
SPARSE_BELOW = 0.1


def propagation(view: UndirectedView) -> sp.csr_array:
    """Compute a GCN's propagation matrix.

    It is D^(-1/2) (A + I) D^(-1/2), D the degrees plus one.

    It is a step of a GCN (Kipf and Welling, 2017).
    """
    scale = 1 / np.sqrt(view.degrees + 1.0)
    looped = view.adjacency + sp.eye_array(view.node_count, format="csr")
    return sp.csr_array(sp.diags_array(scale) @ looped @ sp.diags_array(scale))


def feature_tensor(features: np.ndarray, place: torch.device) -> Sparse | torch.Tensor:
    """Convert (n, d) features to float32. The tensor is sparse where few entries are non-zero, else dense."""
    if np.count_nonzero(features) < SPARSE_BELOW * features.size:
        return Sparse(sp.csr_array(features), place)
    return torch.from_numpy(np.ascontiguousarray(features, dtype=np.float32)).to(place)
