"""Graph classification over a collection, by GIN. It is accuracy on the original graphs, in folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.evaluation.attacks.projection import static_view
from core.evaluation.learning.limits import MAX_LINKS, MAX_NODES
from core.evaluation.tasks.entry import task_entry
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph
from core.late import late

_stratified = late("sklearn.model_selection:StratifiedKFold")
_fitted_predictions = late("core.evaluation.learning.gin:fitted_predictions")
SEED = 20_190_506
FOLDS = 10
SUBJECT = "label"

DEFINITION = (
    "A graph isomorphism network (4 layers, degrees as features) learns the classes of either collection's "
    "graphs outside a fold; its accuracy on the original graphs of the fold, mean over stratified folds "
    "(DPGGAN, Table 2)."
)


def of_collection(original: Graph, synthetic: Graph) -> dict[str, Any] | None:
    """Make the Task of a collection of labelled graphs.

    It is the report's; None without labels. Graphs that were not released are left out. Time: as
    :func:`graph_classification`.
    """
    collection = original.schema.collection
    graphs = [g for g in collection.graphs if g.type_name in synthetic.edges] if collection else []
    label = np.array([graph.label for graph in graphs if graph.label is not None])
    if not len(label):
        return None
    relations = [original.schema.edge_type(graph.type_name) for graph in graphs]
    views = [[static_view(graph, relation) for relation in relations] for graph in (original, synthetic)]
    if reason := _unlearnable(views, label):
        return _entry(SUBJECT, FOLDS) | {"not_run": reason}
    return graph_classification(views[0], views[1], label, SUBJECT, FOLDS)


def _unlearnable(views: Sequence[Sequence[UndirectedView]], label: np.ndarray) -> str | None:
    """Say in plain words why no network is trained, or None."""
    sizes = np.unique(label, return_counts=True)[1]
    if len(sizes) < 2:
        return "All graphs have one label: there is nothing to tell apart."
    if sizes.min() < FOLDS:
        return f"A label has fewer than {FOLDS} graphs: it would be missing from a fold."
    for side in views:
        if sum(v.node_count for v in side) > MAX_NODES or sum(v.edge_count for v in side) > MAX_LINKS:
            return f"Models are trained on at most {MAX_NODES} nodes and {MAX_LINKS} links; there are more."
    return None


def _entry(subject: str, folds: int) -> dict[str, Any]:
    name, title = "graph_classification", "Graph classification"
    return task_entry(name, title, DEFINITION, subject, "accuracy", baseline=None, repetitions=folds)


def graph_classification(
    original: Sequence[UndirectedView],
    synthetic: Sequence[UndirectedView],
    label: np.ndarray,
    subject: str,
    folds: int = FOLDS,
) -> dict[str, Any]:
    """Measure the fields of the report's Task, by ``accuracy``.

    Graph i of both has ``label[i]``.

    ``label`` is any integer array. ValueError where lengths differ or a class has fewer graphs than folds.
    Deterministic; equal collections get equal figures. Time: two networks a fold.
    """
    classes, codes = np.unique(label, return_inverse=True)
    if not len(original) == len(synthetic) == len(codes):
        raise ValueError("both collections need one graph a label")
    if len(classes) < 2 or np.bincount(codes).min() < folds:
        raise ValueError("every class needs a graph in each fold, and there must be two classes")
    return _entry(subject, folds) | {
        "trained_on_original": accuracy(original, original, codes, folds),
        "trained_on_synthetic": accuracy(synthetic, original, codes, folds),
        "baseline": float(np.bincount(codes).max() / len(codes)),
    }


def accuracy(
    learned: Sequence[UndirectedView], tested: Sequence[UndirectedView], codes: np.ndarray, folds: int
) -> float:
    """Average the accuracy over folds.

    A model is trained on ``learned`` outside a fold, tested on ``tested`` inside.
    """
    count = int(codes.max()) + 1
    accuracies = []
    for turn, (inside, outside) in enumerate(
        _stratified(folds, shuffle=True, random_state=SEED).split(codes, codes)
    ):
        seen = [learned[i] for i in inside]
        test = [tested[i] for i in outside]
        guess = _fitted_predictions(seen, codes[inside].astype(np.int64), test, count, SEED + turn)
        accuracies.append(float((guess == codes[outside]).mean()))
    return float(np.mean(accuracies))
