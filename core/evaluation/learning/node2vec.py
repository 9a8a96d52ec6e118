"""node2vec: embeddings by skip-gram over biased random walks. Source: Grover and Leskovec, KDD 2016."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.evaluation.learning.walks import walks
from core.evaluation.view import UndirectedView
from core.learning.skip_gram import skip_gram
from core.privacy.entropy import public_generator

DIMENSIONS = 64
WALKS_A_NODE = 10
WALKS = 200_000  # in all: from 20,000 nodes on there are fewer from each, but never fewer than 2
WALK_LENGTH = 40
WINDOW = 5
NEGATIVES = 5


@dataclass(frozen=True)
class Node2Vec:
    """node2vec's embedding as a function of a view.

    It is for :meth:`UndirectedView.once`: equal settings, one run.

    ``p`` is the return and ``q`` the in-out parameter; q below 1 leads walks away from where they came from.
    """

    seed: int
    p: float = 1.0
    q: float = 0.5
    epochs: int = 1

    def __call__(self, view: UndirectedView) -> np.ndarray:
        """Train (n, DIMENSIONS) float32; nodes without a link get zeros. Same seed, same embedding.

        WALKS_A_NODE walks of WALK_LENGTH nodes from each node, within WALKS. One thread: skip-gram's updates
        race otherwise. O(walks * WALK_LENGTH * WINDOW * DIMENSIONS).
        """
        rng = public_generator(self.seed)
        joined = np.flatnonzero(view.degrees > 0)
        times = max(2, min(WALKS_A_NODE, WALKS // max(len(joined), 1)))
        starts = np.concatenate([rng.permutation(joined) for _ in range(times)])
        rows = walks(view, starts, WALK_LENGTH, self.p, self.q, rng)
        return skip_gram(
            rows,
            view.node_count,
            dimensions=DIMENSIONS,
            window=WINDOW,
            negatives=NEGATIVES,
            epochs=self.epochs,
            seed=self.seed,
        )
