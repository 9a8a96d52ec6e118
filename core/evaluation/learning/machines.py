"""Linear machines that tell links from other pairs by the embeddings of their ends."""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from core.evaluation.learning.pairs import training_pairs
from core.evaluation.view import UndirectedView
from core.privacy.entropy import public_generator

TRAINING_PAIRS = 20_000


def classified(
    view: UndirectedView, embedding: np.ndarray, u: np.ndarray, v: np.ndarray, seed: int
) -> np.ndarray:
    """Compute each pair's signed distance from an SVM's hyperplane.

    It is a linear SVM on Hadamard products; float64. The machine learns the view's own links (at most
    TRAINING_PAIRS) from as many non-links. Products, not the concatenation that PPGSL (section V-A2) names: a
    linear function of two rows laid end to end is a sum of one term a node, and cannot see whether the rows
    are alike.
    """
    first, second, label = training_pairs(view, TRAINING_PAIRS, public_generator(seed))
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=seed, dual=False))
    machine.fit(embedding[first] * embedding[second], label)
    scores: np.ndarray = machine.decision_function(embedding[u] * embedding[v]).astype(np.float64)
    return scores
