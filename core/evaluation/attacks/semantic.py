"""Semantic membership inference.

It infers which class a node belongs to, from the meta-paths of the release. HeteSDG (section 5, "MIS attack
verification") trains naive Bayes, k nearest neighbours and a decision tree on what a shadow model says of
nodes whose class is known, and infers the class of the others from what the target says of them. Here a graph
is released, not a model. So the attacker

- knows the class of one half of the labelled nodes (the shadow: a public network, say), and who is who;
- describes every node by its meta-paths of one and two relations in the released graph: how many known nodes
  they reach, and of which classes (what a convolution over relations aggregates);
- learns a classifier on the known half and applies it to the other.

A target is a statement "node i belongs to class c": the true class, and the same classes dealt wrongly, so
that class frequencies by themselves say nothing. Every meta-path crosses a protected relation: the attack
measures what the release adds, not what public relations or a node's own public attributes say anyhow. A
class is a categorical attribute of the original that is not public; classes declared as labels go first.
Attributes of the release are the public ones and are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from core.evaluation.attacks import scoring
from core.evaluation.attacks.metapaths import Subject, described
from core.evaluation.attacks.negatives import wrong_classes
from core.graphs.graph import Graph
from core.graphs.schema import AttributeKind, EdgeType, Protection
from core.late import late
from core.privacy.entropy import public_generator

MAX_NODES = 20_000
MAX_CLASSES = 32
MAX_SUBJECTS = 4
FEWEST_NODES = 40
FEWEST_OF_A_CLASS = 10
_classifiers = late("core.evaluation.attacks._classifiers:classifiers")

CLASSIFIERS = {
    "semantic_naive_bayes": "naive Bayes",
    "semantic_knn": "k nearest neighbours",
    "semantic_decision_tree": "decision tree",
}
NOTHING_TO_INFER = (
    "The original has no class to infer: no categorical attribute that is not public, of a node type with a "
    f"protected relation, with two classes of {FEWEST_OF_A_CLASS} nodes and {FEWEST_NODES} nodes in all."
)


def subjects(original: Graph, relations: Sequence[EdgeType], seed: int) -> list[Subject]:
    """Choose the classes to infer, labels first.

    They are at most ``MAX_SUBJECTS``; a fixed split for a fixed seed.
    """
    reached = {end for relation in relations for end in (relation.source, relation.target)}
    named = [
        (not attribute.label, kind.name, attribute.name)
        for kind in original.schema.node_types
        for attribute in kind.attributes
        if kind.name in reached
        and attribute.kind is AttributeKind.CATEGORY
        and attribute.protection is not Protection.PUBLIC
        and attribute.name in original.nodes[kind.name].attributes
    ]
    found = (_subject(original, kind, attribute, seed) for _, kind, attribute in sorted(named))
    return [subject for subject in found if subject is not None][:MAX_SUBJECTS]


def _subject(original: Graph, node_type: str, attribute: str, seed: int) -> Subject | None:
    """Split the labelled nodes into known ones and targets; None where too few nodes or classes are left."""
    codes = class_codes(original.nodes[node_type].attributes[attribute])
    sizes = np.bincount(codes[codes >= 0])
    kept = np.argsort(-sizes, kind="stable")[:MAX_CLASSES]
    kept = np.sort(kept[sizes[kept] >= FEWEST_OF_A_CLASS])
    nodes = np.flatnonzero(np.isin(codes, kept))
    if len(kept) < 2 or len(nodes) < FEWEST_NODES:
        return None
    rng = public_generator(seed)
    nodes = rng.permutation(nodes)[:MAX_NODES]
    classes = np.searchsorted(kept, codes[nodes])
    half = len(nodes) // 2
    true = classes[half:]
    places, wrong = wrong_classes(true, rng)
    return Subject(
        node_type,
        attribute,
        len(kept),
        nodes[:half],
        classes[:half],
        np.concatenate([nodes[half:], nodes[half:][places]]),
        np.concatenate([true, wrong]),
        np.arange(len(true) + len(places)) < len(true),
    )


def class_codes(column: np.ndarray | pa.Array) -> np.ndarray:
    """Encode every node's class as int64. It is -1 where it has none."""
    encoded = pa.array(column).dictionary_encode()
    codes: np.ndarray = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def scores(published: Graph, subject: Subject, relations: Sequence[EdgeType], seed: int) -> dict[str, Any]:
    """Compute for each classifier its probability of every statement, float64."""
    nodes, place = np.unique(subject.node, return_inverse=True)
    train, test = described(published, subject, relations, nodes)
    centre, scale = train.mean(axis=0), train.std(axis=0)
    scale = np.where(scale > 1e-12, scale, 1.0)
    # By what the attacker knows: known nodes alone set the scale.
    train, test = (train - centre) / scale, (test - centre) / scale
    by_classifier = {}
    for name, classifier in _classifiers(len(train), seed).items():
        classifier.fit(train, subject.known_class)
        probability = np.zeros((len(test), subject.count))
        # A class that no known node has keeps the probability 0.
        probability[:, classifier.classes_] = classifier.predict_proba(test)
        by_classifier[name] = probability[place, subject.stated]
    return by_classifier


def entries(
    original: Graph, synthetic: Graph, relations: Sequence[EdgeType], seed: int
) -> list[dict[str, Any]]:
    """Make the report's Attack entries.

    There is one of every classifier on every subject, or why there is none.
    """
    rows = []
    for subject in subjects(original, relations, seed):
        ours, theirs = (scores(graph, subject, relations, seed) for graph in (synthetic, original))
        for name in CLASSIFIERS:
            row = _entry(name, f"{subject.node_type}.{subject.attribute}")
            rows.append(
                row
                | {
                    "positives": int(subject.label.sum()),
                    "negatives": int((~subject.label).sum()),
                    "published": scoring.score(ours[name], subject.label),
                    "reference": scoring.score(theirs[name], subject.label),
                }
            )
    return rows or [_entry(name, None) | {"not_run": NOTHING_TO_INFER} for name in CLASSIFIERS]


def _entry(name: str, subject: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "title": f"Class {subject} from meta-paths, {CLASSIFIERS[name]}"
        if subject
        else f"Class of a node from meta-paths, {CLASSIFIERS[name]}",
        "knowledge": (
            "Knows which released node is which person and the class of half of them; learns a "
            f"{CLASSIFIERS[name]} classifier on the classes that a node's meta-paths reach in the release, "
            "and infers the class of the others (HeteSDG)."
        ),
        "edge_type": None,
        "positives": 0,
        "negatives": 0,
        "published": None,
        "reference": None,
        "not_run": None,
    }
