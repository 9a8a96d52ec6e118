"""Leading eigenvectors of a graph that may be read.

They are directions that serve as public latent vectors of its nodes. By subspace iteration with a fixed
number of passes, so that the work says nothing about the graph.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from core.privacy.entropy import Generator as Rng

EXACT_NODES = 400
PASSES = 12
SPARE = 8


def directions(keys: np.ndarray, nodes: int, width: int, rng: Rng) -> np.ndarray:
    """Compute eigenvectors scaled by their eigenvalues' roots.

    The largest comes first; (nodes, width) float32.

    ``keys``: sorted ``low * nodes + high``. Columns past the number of nodes are 0. O(passes * edges *
    width), or the cube of the number of nodes up to EXACT_NODES.
    """
    low, high = np.divmod(keys, max(nodes, 1))
    half = sp.coo_matrix((np.ones(len(keys)), (low, high)), shape=(nodes, nodes)).tocsr()
    matrix = half + half.T
    if nodes <= EXACT_NODES:
        values, vectors = np.linalg.eigh(matrix.toarray())
    else:
        basis = np.linalg.qr(rng.standard_normal((nodes, width + SPARE)))[0]
        for _ in range(PASSES):
            basis = np.linalg.qr(matrix @ basis)[0]
        values, inner = np.linalg.eigh(basis.T @ (matrix @ basis))
        vectors = basis @ inner
    order = np.argsort(-np.abs(values))[:width]
    found = np.zeros((nodes, width), dtype=np.float32)
    found[:, : len(order)] = vectors[:, order] * np.sqrt(np.abs(values[order]))
    return found
