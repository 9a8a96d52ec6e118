"""Graph classification over a collection: GIN accuracy on the original graphs, in folds.

The service's graph model holds one graph, not a collection; this serves benchmarks of collections.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.evaluation.view import UndirectedView

SEED = 20_190_506
FOLDS = 10

DEFINITION = (
    "A graph isomorphism network (4 layers, degrees as features) learns the classes of either collection's "
    "graphs outside a fold; its accuracy on the original graphs of the fold, mean over stratified folds "
    "(DPGGAN, Table 2)."
)


def graph_classification(
    original: Sequence[UndirectedView],
    synthetic: Sequence[UndirectedView],
    label: np.ndarray,
    subject: str,
    folds: int = FOLDS,
) -> dict[str, Any]:
    """The fields of the report's Task, measure ``accuracy``; graph i of both collections has ``label[i]``.

    ``label`` is any integer array. ValueError where lengths differ or a class has fewer graphs than folds.
    Deterministic; equal collections get equal figures. Time: two networks a fold.
    """
    classes, codes = np.unique(label, return_inverse=True)
    if not len(original) == len(synthetic) == len(codes):
        raise ValueError("both collections need one graph a label")
    if len(classes) < 2 or np.bincount(codes).min() < folds:
        raise ValueError("every class needs a graph in each fold, and there must be two classes")
    return {
        "name": "graph_classification",
        "title": "Graph classification",
        "definition": DEFINITION,
        "subject": subject,
        "measure": "accuracy",
        "trained_on_original": accuracy(original, original, codes, folds),
        "trained_on_synthetic": accuracy(synthetic, original, codes, folds),
        "baseline": float(np.bincount(codes).max() / len(codes)),
        "repetitions": folds,
        "not_run": None,
    }


def accuracy(
    learned: Sequence[UndirectedView], tested: Sequence[UndirectedView], codes: np.ndarray, folds: int
) -> float:
    """Mean accuracy over the folds: trained on ``learned`` outside a fold, tested on ``tested`` inside."""
    from sklearn.model_selection import StratifiedKFold

    from core.evaluation.learning.gin import fitted_predictions

    count = int(codes.max()) + 1
    found = []
    for turn, (inside, outside) in enumerate(
        StratifiedKFold(folds, shuffle=True, random_state=SEED).split(codes, codes)
    ):
        seen = [learned[i] for i in inside]
        asked = [tested[i] for i in outside]
        guess = fitted_predictions(seen, codes[inside].astype(np.int64), asked, count, SEED + turn)
        found.append(float((guess == codes[outside]).mean()))
    return float(np.mean(found))
