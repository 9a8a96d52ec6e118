"""What learns classes from meta-paths."""

from __future__ import annotations

from typing import Any

from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

NEIGHBOURS = 15


def classifiers(known: int, seed: int) -> dict[str, Any]:
    """Make the untrained classifiers by name, in report order. They are to learn from ``known`` nodes."""
    return {
        "semantic_naive_bayes": GaussianNB(var_smoothing=1e-2),
        "semantic_knn": KNeighborsClassifier(min(NEIGHBOURS, known)),
        "semantic_decision_tree": DecisionTreeClassifier(max_depth=8, min_samples_leaf=5, random_state=seed),
    }
