"""Node classification by a GCN.

How well one that learns from either structure predicts the original's labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.evaluation.learning.features import Features
from core.evaluation.learning.limits import FEWEST_LINKS, repetitions, too_large
from core.evaluation.tasks.entry import task_entry
from core.evaluation.tasks.subjects import Labels
from core.evaluation.view import UndirectedView
from core.late import late
from core.privacy.entropy import public_generator

_trained_classifier = late("core.evaluation.learning.gcn:trained_classifier")
_f1_score = late("sklearn.metrics:f1_score")
SEED = 20_170_424
TRAINING_SHARE = 0.3
MEASURES = ("micro_f1", "macro_f1")

_COMMON = (
    "A two-layer GCN (public node features, or one learned row a node) learns the labels of "
    f"{TRAINING_SHARE:.0%} of the labelled nodes, drawn at random; F1 on the others, mean over repetitions. "
)
DEFINITIONS = {
    "node_classification": _COMMON + "It is trained and applied on the same structure (PPGSL, V-A3).",
    "node_classification_transfer": (
        _COMMON + "It is trained on either structure and applied on the original's: "
        "train on synthetic, test on real. The original's links carry known labels to their neighbours "
        "whatever was learned from, so that even a poor structure scores well: read it beside the other task."
    ),
}
TITLES = {
    "node_classification": "Node classification",
    "node_classification_transfer": "Node classification, tested on the original",
}


def node_classification(
    original: UndirectedView, synthetic: UndirectedView, features: Features | None, labels: Labels
) -> list[dict[str, Any]]:
    """Make Task entries of node classification.

    There are both tasks, micro and macro F1 each; features and labels are the original's. Deterministic;
    equal graphs get equal figures. Time: two GCNs a repetition (see ``repetitions``).
    """
    reason = labels.not_run or too_large(original) or too_large(synthetic)
    if reason is None and min(original.edge_count, synthetic.edge_count) < FEWEST_LINKS:
        reason = f"A graph has fewer than {FEWEST_LINKS} links: there is too little to learn from."
    means, repeated = None, repetitions(original)
    if reason is None:
        runs = [run(original, synthetic, features, labels.classes, SEED + turn) for turn in range(repeated)]
        means = np.mean(runs, axis=0)
    entries = []
    for task, name in enumerate(DEFINITIONS):
        for column, measure in enumerate(MEASURES):
            figures = [None] * 3 if means is None else [*means[task, :, column].tolist(), means[2, 0, column]]
            entry = task_entry(
                name,
                TITLES[name],
                DEFINITIONS[name],
                labels.name,
                measure,
                baseline=None if figures[2] is None else float(figures[2]),
                repetitions=repeated,
                not_run=reason,
            )
            entries.append(entry | {"trained_on_original": figures[0], "trained_on_synthetic": figures[1]})
    return entries


def run(
    original: UndirectedView,
    synthetic: UndirectedView,
    features: Features | None,
    classes: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Measure one split, (3, 2, 2) float64.

    Axes: tasks and baseline; original and synthetic; micro and macro F1. The baseline names the most frequent
    class of the training nodes.
    """
    nodes = public_generator(seed).permutation(np.flatnonzero(classes >= 0))
    cut = int(TRAINING_SHARE * len(nodes))
    known, tested = nodes[:cut], nodes[cut:]
    figures = np.empty((3, 2, 2))
    for column, structure in enumerate((original, synthetic)):
        model = _trained_classifier(structure, features, classes, known, seed)
        figures[0, column] = f1(classes[tested], model.predict(structure)[tested])
        figures[1, column] = f1(classes[tested], model.predict(original)[tested])
    majority = np.bincount(classes[known]).argmax()
    figures[2] = f1(classes[tested], np.full(len(tested), majority))
    return figures


def f1(truth: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """Compute micro F1 and macro F1.

    Micro is the accuracy, with one class a node; macro is over the classes that occur.
    """
    return (
        float(_f1_score(truth, predicted, average="micro")),
        float(_f1_score(truth, predicted, average="macro", zero_division=0)),
    )
