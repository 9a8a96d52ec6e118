"""The degree-signature attack.

Whoever knows a victim's degree looks for it in the published graph. At step t, node i is identified with
probability (THEPUFF, Eq. 23)

    p_i(t) = 0                                        where d_pub(t)[i] != d_ori(t)[i]
    p_i(t) = 1 / |{v : d_pub(t)[v] = d_pub(t)[i]}|    where they agree

and the attack's probability is the mean over steps and nodes. The stronger attacker knows the victim's whole
degree *sequence* and matches all steps at once; ``sequence`` is the same mean with sequences for degrees. An
attacker who also knows the victim's node type searches only that type (Eq. 28): victims and crowd are then
limited to it, and the mean runs over its nodes.

A low probability is evidence, not a guarantee: the attack fails on any graph whose degrees are wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.graphs.graph import Graph

DIRECTIONS = ("both", "out")


def step_degrees(graph: Graph, step: int | None, direction: str = "both") -> dict[str, np.ndarray]:
    """Count degrees in one step, per node type.

    They are int64, of all timed edges of the step and all untimed edges.

    ``both`` counts an edge at both ends; ``out`` at its stored source only. O(n + m).
    """
    if direction not in DIRECTIONS:
        raise ValueError(f"direction is one of {DIRECTIONS}")
    degrees = {name: np.zeros(table.count, dtype=np.int64) for name, table in graph.nodes.items()}
    for edge_type in graph.schema.edge_types:
        cell = graph.cell(edge_type.name, step if edge_type.temporal else None)
        degrees[edge_type.source] += np.bincount(cell.source, minlength=cell.source_count)
        if direction == "both":
            degrees[edge_type.target] += np.bincount(cell.target, minlength=cell.target_count)
    return degrees


def success(original: np.ndarray, published: np.ndarray) -> np.ndarray:
    """Compute Eq. 23 for one step: every node's probability, float64, from two aligned signature vectors.

    O(n log n). Signatures are any integers: degrees, or labels of degree sequences.
    """
    _, inverse, sizes = np.unique(published, return_inverse=True, return_counts=True)
    return np.where(original == published, 1.0 / sizes[inverse], 0.0)


def _all_degrees(graph: Graph, step: int | None, direction: str, types: list[str]) -> np.ndarray:
    degrees = step_degrees(graph, step, direction)
    return np.concatenate([degrees[name] for name in types])


def _refine(labels: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Relabel so as to tell the new degrees apart too: equal label = equal sequence so far."""
    # Labels are below the number of nodes after each step, so that keys never overflow.
    keys = labels * (int(degrees.max(initial=0)) + 1) + degrees
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


def degree_signature(
    original: Graph, published: Graph, steps: Sequence[int | None], direction: str = "both"
) -> dict[str, Any]:
    """Average the attack's success over ``steps``.

    It is measured for one step's degree and for the whole sequence. Nodes are aligned by index. Returns
    ``per_step`` (Eq. 23), ``sequence``, ``per_type`` (Eq. 28: victim and crowd limited to one node type) and
    the same three as ``reference_...``: the attack on the original itself, i.e. what publishing it would give
    away. O(steps * n log n).
    """
    types = [name for name, table in original.nodes.items() if table.count]
    sizes = [original.nodes[name].count for name in types]
    ends = np.cumsum(sizes)
    n = int(ends[-1])
    parts = {
        name: slice(int(end - size), int(end)) for name, size, end in zip(types, sizes, ends, strict=True)
    }
    labels = np.zeros(2 * n, dtype=np.int64)  # original, then published: one labelling, so that they compare
    once, self_once = [], []
    typed: dict[str, list[float]] = {name: [] for name in types}
    self_typed: dict[str, list[float]] = {name: [] for name in types}
    for step in steps:
        truth = _all_degrees(original, step, direction, types)
        shown = _all_degrees(published, step, direction, types)
        once.append(float(success(truth, shown).mean()))
        self_once.append(float(success(truth, truth).mean()))
        for name, part in parts.items():
            typed[name].append(float(success(truth[part], shown[part]).mean()))
            self_typed[name].append(float(success(truth[part], truth[part]).mean()))
        labels = _refine(labels, np.concatenate([truth, shown]))
    return {
        "steps": len(steps),
        "per_step": float(np.mean(once)),
        "sequence": float(success(labels[:n], labels[n:]).mean()),
        "reference_per_step": float(np.mean(self_once)),
        "reference_sequence": float(success(labels[:n], labels[:n]).mean()),
        "per_type": {name: float(np.mean(values)) for name, values in typed.items()},
        "reference_per_type": {name: float(np.mean(values)) for name, values in self_typed.items()},
    }
