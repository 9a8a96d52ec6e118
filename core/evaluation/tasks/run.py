"""Every task of a suite: a model trained on either graph, tested on the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.evaluation.attacks.projection import protected_relations, static_view
from core.evaluation.metric import Suite
from core.evaluation.tasks.graph_classification import of_collection
from core.evaluation.tasks.link_prediction import link_prediction
from core.evaluation.tasks.node_classification import node_classification
from core.evaluation.tasks.subjects import labels_of, public_features, typed_features, whole
from core.graphs.graph import Graph

Progress = Callable[[str, int, int], None]


def run_tasks(original: Graph, synthetic: Graph, suite: Suite, progress: Progress) -> list[dict[str, Any]]:
    """Make the report's Task entries, in a fixed order; only the suite ``full`` has tasks. Curators only.

    Nodes of both graphs are aligned by index. Link prediction for every protected relation, all its steps as
    one static graph; node classification for every label, on all relations as one graph; of a collection,
    in its place, the classification of the graphs, where they have labels. Features and labels are the
    original's. Progress counts relations and labels under the stage ``task``. Deterministic. Graphs beyond
    the limits of :mod:`core.evaluation.learning.limits` get entries that say so.
    """
    if not suite.includes(Suite.FULL):
        return []
    relations = protected_relations(original, synthetic)
    labels = [] if original.schema.collection else labels_of(original)
    total = len(relations) + len(labels)
    entries: list[dict[str, Any]] = []
    progress("task", 0, total)
    for done, relation in enumerate(relations, start=1):
        truth, release = static_view(original, relation), static_view(synthetic, relation)
        features = public_features(original, (relation.source, relation.target))
        entries.append(link_prediction(truth, release, features, relation.name))
        progress("task", done, total)
    if labels:
        shared = tuple(t.name for t in original.schema.edge_types if t.name in synthetic.edges)
        truth, release = whole(original, shared), whole(synthetic, shared)
        features = typed_features(original)
        for done, label in enumerate(labels, start=len(relations) + 1):
            entries += node_classification(truth, release, features, label)
            progress("task", done, total)
    if (entry := of_collection(original, synthetic)) is not None:
        entries.append(entry)
    return entries
