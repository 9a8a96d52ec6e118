"""Node classification from rows: how well public features, or what was released of nodes, tell their classes.

A logistic regression learns the classes of some labelled nodes from one row a node and names those of the
others. The rows may be public features, released embeddings, or both side by side. It complements
:mod:`core.evaluation.tasks.node_classification`, which learns from a structure.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from core.evaluation.tasks.node_classification import f1
from core.evaluation.tasks.subjects import unit_rows
from core.privacy.entropy import public_generator

TRAINING_SHARES = (0.2, 0.8)
"""Public rules of splitting: few labels known, and most of them known."""
PENALTIES = (1.0, 10.0)
"""Inverse strengths of the penalty; the known nodes choose one, by cross-validation."""
FOLDS = 3
MOST_ITERATIONS = 300
# Rows with fewer entries than this share are kept sparse.
SPARSE_BELOW = 0.2


def split_nodes(classes: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Known and tested nodes, int64: that share of every class (class -1: none), at random; a fixed split.

    ValueError unless both parts have a node of two classes.
    """
    order = public_generator(seed).permutation(np.flatnonzero(classes >= 0))
    known = np.zeros(len(classes), dtype=bool)
    for each in np.unique(classes[order]):
        of_class = order[classes[order] == each]
        known[of_class[: round(share * len(of_class))]] = True
    tested = (classes >= 0) & ~known
    if len(np.unique(classes[known])) < 2 or not tested.any():
        raise ValueError("a split needs known nodes of two classes, and nodes to test on")
    return np.flatnonzero(known), np.flatnonzero(tested)


def side_by_side(*blocks: np.ndarray) -> sp.csr_array | np.ndarray:
    """The blocks' columns as one matrix, (n, sum of d), as they are: their scale is what they count for.

    Sparse where few entries differ from zero.
    """
    joined = np.concatenate([np.asarray(block, dtype=np.float64) for block in blocks], axis=1)
    return sp.csr_array(joined) if np.count_nonzero(joined) < SPARSE_BELOW * joined.size else joined


def predicted_classes(rows: sp.csr_array | np.ndarray, classes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The class of every node, int64, by a logistic regression on the rows of the nodes ``known``.

    Its penalty is that of PENALTIES which does best on held-out folds of the known nodes, the first where a
    class has too few of them. Deterministic. O(iterations * non-zeros of the known rows).
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    model = LogisticRegression(C=PENALTIES[0], max_iter=MOST_ITERATIONS)
    seldom = np.unique(classes[known], return_counts=True)[1].min()
    if seldom >= FOLDS:
        model = GridSearchCV(model, {"C": list(PENALTIES)}, cv=FOLDS)
    with warnings.catch_warnings():  # an early stop is a regulariser, not a fault
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows[known], classes[known])
    return model.predict(rows).astype(np.int64)


def row_classification(
    blocks: Sequence[np.ndarray], classes: np.ndarray, share: float, seed: int
) -> tuple[float, float]:
    """Micro and macro F1 on the nodes that were not known; ``blocks`` as in :func:`side_by_side`."""
    known, tested = split_nodes(classes, share, seed)
    told = predicted_classes(side_by_side(*blocks), classes, known)
    return f1(classes[tested], told[tested])


def unit_features(values: np.ndarray) -> np.ndarray:
    """Float64 features at length 1 a row: term frequencies, as bags of words are compared."""
    return unit_rows(np.asarray(values, dtype=np.float64))
