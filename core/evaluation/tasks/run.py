"""Every task of a suite. A model is trained on either graph and tested on the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.evaluation.attacks.projection import protected_relations, static_view
from core.evaluation.metric import Suite
from core.evaluation.tasks import (
    edge_values,
    graph_classification,
    item_preference,
    link_prediction,
    node_classification,
)
from core.evaluation.tasks.subjects import labels_of, public_features, typed_features, whole
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType, GraphSchema

Progress = Callable[[str, int, int], None]

TASKS: tuple[tuple[str, Suite, str], ...] = (
    (edge_values.NAME, Suite.STANDARD, edge_values.DEFINITION),
    (item_preference.NAME, Suite.STANDARD, item_preference.DEFINITION),
    ("link_prediction", Suite.FULL, link_prediction.DEFINITION),
    *((name, Suite.FULL, text) for name, text in node_classification.DEFINITIONS.items()),
    ("graph_classification", Suite.FULL, graph_classification.DEFINITION),
)
"""Every task: its name, the smallest suite that has it, and what it measures."""


def run_tasks(original: Graph, synthetic: Graph, suite: Suite, progress: Progress) -> list[dict[str, Any]]:
    """Make the report's Task entries, in a fixed order.

    The suite ``quick`` has none. Curators only. Nodes of both graphs are aligned by index. From ``standard``
    on: what edges carry, predicted from their ends, for every protected relation whose synthetic edges carry
    something; which items go together, for every protected relation between two node types that gives a
    person more than one item. In ``full`` also: link prediction for every protected relation, all its steps
    as one static graph; node classification for every label, on all relations as one graph; of a collection,
    in its place, the classification of the graphs, where they have labels. Features and labels are the
    original's. Progress counts relations and labels under the stage ``task``. Deterministic. Graphs beyond
    the limits of :mod:`core.evaluation.learning.limits` get entries that say so.
    """
    if not suite.includes(Suite.STANDARD):
        return []
    relations = protected_relations(original, synthetic)
    sided = [relation for relation in relations if not relation.homogeneous and not relation.functional]
    full = suite.includes(Suite.FULL)
    labels = labels_of(original) if full and not original.schema.collection else []
    learned = relations if full else []
    total = len(sided) + len(learned) + len(labels)
    entries = [
        entry for relation in relations for entry in edge_values.edge_values(original, synthetic, relation)
    ]
    if total:
        progress("task", 0, total)
    for done, relation in enumerate(sided, start=1):
        truth, release = static_view(original, relation), static_view(synthetic, relation)
        first = persons_first(original.schema, relation)
        entries.append(item_preference.item_preference(truth, release, relation.name, first))
        progress("task", done, total)
    for done, relation in enumerate(learned, start=len(sided) + 1):
        truth, release = static_view(original, relation), static_view(synthetic, relation)
        features = public_features(original, (relation.source, relation.target))
        entries.append(link_prediction.link_prediction(truth, release, features, relation.name))
        progress("task", done, total)
    if labels:
        shared = tuple(t.name for t in original.schema.edge_types if t.name in synthetic.edges)
        truth, release = whole(original, shared), whole(synthetic, shared)
        features = typed_features(original)
        for done, label in enumerate(labels, start=len(sided) + len(learned) + 1):
            entries += node_classification.node_classification(truth, release, features, label)
            progress("task", done, total)
    if full and (entry := graph_classification.of_collection(original, synthetic)) is not None:
        entries.append(entry)
    return entries


def persons_first(schema: GraphSchema, relation: EdgeType) -> bool:
    """Tell whether the relation's sources are the persons.

    They are unless the targets alone are the protected node type.
    """
    ends = [schema.node_type(name) for name in (relation.source, relation.target)]
    return ends[0].protected or not ends[1].protected
