"""Links held out of one relation of a typed graph: what a model may see, and which pairs it is asked about.

Two splits, told apart by name wherever a figure stands. ``leak_free``: the test links, and whatever says the
same in the other direction, are gone before anything is computed. ``leaky``: the same pairs are asked, but
the model sees the whole graph, test links included. The latter is what HeteDP's published program measures,
where messages pass over test links too; its figures say how well links are remembered, not predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from core.evaluation.attacks import scoring
from core.evaluation.attacks.negatives import uniform
from core.evaluation.attacks.pairs import contains
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType
from core.privacy.entropy import public_generator

HELD_OUT = 0.2


class Split(StrEnum):
    """Whether the model that is tested has seen the test links."""

    LEAK_FREE = "leak_free"
    LEAKY = "leaky"


@dataclass(frozen=True)
class LinkSplit:
    """``seen``: what a model may read. ``source``, ``target``, int64: the pairs asked; ``label``: links."""

    relation: str
    split: Split
    seen: Graph
    source: np.ndarray
    target: np.ndarray
    label: np.ndarray

    def auc(self, scores: np.ndarray) -> dict[str, Any]:
        """``value``, ``low`` and ``high`` of the AUC of one float score a pair, higher for likelier links.

        ValueError where a score is NaN or there is not one for each pair.
        """
        scores = np.asarray(scores, dtype=np.float64)
        if scores.shape != self.label.shape or np.isnan(scores).any():
            raise ValueError("every pair needs one score, and no score is NaN")
        return scoring.auc(scores[self.label], scores[~self.label])


def split_links(graph: Graph, relation: str, split: Split, seed: int) -> LinkSplit:
    """A fifth of an untimed relation's links and as many uniform pairs without one: equal seeds, equal pairs.

    Both splits of one seed ask the same pairs. ValueError for a timed relation, or one of fewer than 5 links.
    O(m log m).
    """
    kind = graph.schema.edge_type(relation)
    if kind.temporal:
        raise ValueError(f"{relation!r} carries time; links are held out of untimed relations")
    view = UndirectedView.of(graph.cell(relation, None))
    held = int(HELD_OUT * view.edge_count)
    if not held:
        raise ValueError(f"{relation!r} has too few links to hold some out")
    rng = public_generator(seed)
    chosen = rng.permutation(view.edge_count)[:held]
    wrong = uniform(view, held, rng)
    shift = view.source_count if view.bipartite else 0  # the view lays both sides end to end
    source = np.append(view.u[chosen], wrong[0])
    target = np.append(view.v[chosen], wrong[1]) - shift
    label = np.arange(len(source)) < held
    seen = graph if split is Split.LEAKY else without(graph, relation, source[label], target[label])
    return LinkSplit(relation, split, seen, source, target, label)


def without(graph: Graph, relation: str, source: np.ndarray, target: np.ndarray) -> Graph:
    """The graph less these links of ``relation``, and less their reverses, wherever those are stored.

    Reverses stand in every relation from the target's type to the source's: a relation and its reverse are
    often stored as two. In a relation within one type that is the relation itself. All times. O(m log m).
    """
    kind = graph.schema.edge_type(relation)
    tables = dict(graph.edges)
    tables[relation] = _less(tables[relation], kind, graph, source, target)
    for other in graph.schema.edge_types:
        if (other.source, other.target) == (kind.target, kind.source):
            tables[other.name] = _less(tables[other.name], other, graph, target, source)
    return Graph.build(graph.schema, graph.nodes, tables)


def _less(
    table: EdgeTable, kind: EdgeType, graph: Graph, source: np.ndarray, target: np.ndarray
) -> EdgeTable:
    if kind.homogeneous and not kind.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    columns = graph.nodes[kind.target].count
    barred = np.sort(source.astype(np.int64) * columns + target)
    kept = ~contains(barred, table.source.astype(np.int64) * columns + table.target)
    step = None if table.step is None else table.step[kept]
    return EdgeTable(table.source[kept], table.target[kept], step)
