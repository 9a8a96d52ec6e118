"""Comparison of what nodes' vectors hold.

Synthetic vectors are compared with those of the original. For curators only. Nodes need not be aligned:
nothing here compares a node with itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.evaluation.metric import Metric
from core.evaluation.utility import relative
from core.graphs.columns.node_places import counts_of_places, places_of
from core.graphs.graph import Graph
from core.graphs.schema import Attribute, EdgeType, NodeType
from core.graphs.schema.node_bins import synthesised, vectors

MOST_TOGETHER = 256
"""Numbers of a vector whose correlations are compared; of more, so many evenly spaced ones."""
AT_ONCE = 2**22
"""Numbers of edges' ends that are multiplied at once."""
TINY = 1e-12

_FAMILY = "node_vectors"
SCALARS: tuple[Metric, ...] = (
    Metric(
        "node_vector_norm",
        "Length of vectors",
        "Mean Euclidean length of a node's vector.",
        _FAMILY,
    ),
    Metric(
        "node_vector_cosine",
        "Cosine of neighbours' vectors",
        "Mean over edges of the cosine of both ends' vectors, of edges whose ends both have more than zeros. "
        "Of relations inside one node type.",
        _FAMILY,
    ),
    Metric(
        "node_vector_homophily",
        "Cosine of neighbours beyond chance",
        "node_vector_cosine less the mean cosine of any two nodes, of those whose vectors are not zeros "
        "alone: 0 where edges go by anything else.",
        _FAMILY,
    ),
)
DISTANCES: tuple[Metric, ...] = (
    Metric(
        "node_vector_distance",
        "Distance of vectors, number by number",
        "Mean over a vector's places of the total variation of the shares of nodes by their number's bin, "
        "as declared, or of eight even ones.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "node_vector_mean_distance",
        "Distance of mean vectors",
        "Euclidean length of the difference of both graphs' mean vectors, over that of the original's; 1 is "
        "what zeros have. Undefined where the original's is 0.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "node_vector_group_distance",
        "Distance of mean vectors by group",
        "The same of the nodes of each bin of the first other protected attribute, the mean over bins by the "
        "original's nodes; undefined where there is none.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "node_vector_norm_distance",
        "Distance of vectors' lengths",
        "Largest difference of the distribution functions of vectors' Euclidean lengths (Kolmogorov and "
        "Smirnov).",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "node_vector_correlation_distance",
        "Distance of correlations inside vectors",
        "Mean absolute difference of Pearson's correlations of two places of a vector, over all pairs of at "
        "most 256 evenly spaced places; a place where all nodes have the same number correlates with none.",
        _FAMILY,
        better="lower",
    ),
)


def described() -> dict[str, dict[str, Any]]:
    """Describe what is measured of vectors, by name."""
    return {metric.name: metric.to_json() for metric in SCALARS + DISTANCES}


def compare_vectors(original: Graph, synthetic: Graph, edge_type: EdgeType) -> list[dict[str, Any]]:
    """Compare every synthetic vector of a relation's end nodes.

    It is one that both graphs carry. Rows are as those of
    :func:`core.evaluation.node_values.compare_node_values`. O((n + m) d + d^2 n), of d places.
    """
    found = []
    for name in dict.fromkeys((edge_type.source, edge_type.target)):
        kind = original.schema.node_type(name)
        for attribute in vectors(kind):
            if any(attribute.name not in each.nodes[name].attributes for each in (original, synthetic)):
                continue
            sides = [_Side.of(each, edge_type, kind, attribute) for each in (original, synthetic)]
            named = attribute.name if edge_type.homogeneous else f"{attribute.name} of {name}"
            found.append({"name": named, "kind": str(attribute.kind), "row": _row(attribute, *sides)})
    return found


@dataclass(frozen=True)
class _Side:
    """One graph: the vectors of one type, (n, d) float32, their lengths, and the bin of each node's first
    other attribute, None where there is none; ``cosine``: of neighbours, and of any two nodes."""

    rows: np.ndarray
    lengths: np.ndarray
    groups: np.ndarray | None
    cosine: tuple[float | None, float | None]

    @classmethod
    def of(cls, graph: Graph, edge_type: EdgeType, kind: NodeType, attribute: Attribute) -> _Side:
        columns = graph.nodes[kind.name].attributes
        rows = np.nan_to_num(np.asarray(columns[attribute.name], dtype=np.float32))
        lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows, dtype=np.float64))
        first = next((each for each in synthesised(kind) if each.name in columns), None)
        groups = None if first is None else places_of(first, columns[first.name])
        cosine = _cosines(graph, edge_type, rows, lengths) if edge_type.homogeneous else (None, None)
        return cls(rows, lengths, groups, cosine)


def _cosines(
    graph: Graph, edge_type: EdgeType, rows: np.ndarray, lengths: np.ndarray
) -> tuple[float | None, float | None]:
    """Mean cosine of the ends of an edge, and of any two nodes; edges a part at a time."""
    table, some = graph.edges[edge_type.name], lengths > TINY
    unit = np.where(some[:, None], rows / np.maximum(lengths, TINY)[:, None], 0).astype(np.float32)
    counted = some[table.source] & some[table.target]
    source, target = table.source[counted], table.target[counted]
    # Both ends' vectors of all edges would not fit.
    size, total = max(1, AT_ONCE // max(1, unit.shape[1])), 0.0
    for start in range(0, len(source), size):
        ends = (unit[each[start : start + size]] for each in (source, target))
        total += float(np.einsum("md,md->", *ends, dtype=np.float64))
    nodes = int(some.sum())
    whole = unit.sum(axis=0, dtype=np.float64)
    # Of unit vectors the squared length of their sum is the sum of all cosines, n of them with themselves.
    apart = (float(whole @ whole) - nodes) / (nodes * (nodes - 1)) if nodes > 1 else None
    return total / len(source) if len(source) else None, apart


def _row(attribute: Attribute, ours: _Side, theirs: _Side) -> dict[str, Any]:
    sides = ours, theirs
    beyond = [None if None in each.cosine else each.cosine[0] - each.cosine[1] for each in sides]  # type: ignore[operator]
    scalars = {"node_vector_norm": relative.scalar(*(_mean(each.lengths) for each in sides))}
    if ours.cosine != (None, None):
        scalars["node_vector_cosine"] = relative.scalar(*(each.cosine[0] for each in sides))
        scalars["node_vector_homophily"] = relative.scalar(beyond[0], beyond[1])
    distances: Mapping[str, float | None] = {
        "node_vector_distance": _by_place(attribute, *sides),
        "node_vector_mean_distance": _means_apart(ours.rows, theirs.rows),
        "node_vector_group_distance": _groups_apart(*sides),
        "node_vector_norm_distance": _laws_apart(ours.lengths, theirs.lengths),
        "node_vector_correlation_distance": _correlations_apart(ours.rows, theirs.rows),
    }
    return {"step": None, "scalars": scalars, "distances": distances}


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None


def _by_place(attribute: Attribute, ours: _Side, theirs: _Side) -> float | None:
    """Half the sum over bins of |p - q|, the mean over places."""
    if not len(ours.rows) or not len(theirs.rows):
        return None
    shares = [counts_of_places(attribute, each.rows) / len(each.rows) for each in (ours, theirs)]
    return float(np.abs(shares[0] - shares[1]).sum(axis=1).mean() / 2)


def _means_apart(ours: np.ndarray, theirs: np.ndarray) -> float | None:
    if not len(ours) or not len(theirs):
        return None
    own = ours.mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(own))
    if length < TINY:
        return None
    return float(np.linalg.norm(own - theirs.mean(axis=0, dtype=np.float64))) / length


def _groups_apart(ours: _Side, theirs: _Side) -> float | None:
    if ours.groups is None or theirs.groups is None:
        return None
    found, weights = [], []
    for group in np.unique(ours.groups[ours.groups >= 0]):
        own, other = (each.rows[each.groups == group] for each in (ours, theirs))
        apart = _means_apart(own, other) if len(other) else 1.0
        if apart is not None:
            found.append(apart)
            weights.append(len(own))
    return float(np.average(found, weights=weights)) if found else None


def _laws_apart(ours: np.ndarray, theirs: np.ndarray) -> float | None:
    if not len(ours) or not len(theirs):
        return None
    at = np.concatenate([ours, theirs])
    law = [np.searchsorted(np.sort(each), at, side="right") / len(each) for each in (ours, theirs)]
    return float(np.abs(law[0] - law[1]).max())


def _correlations_apart(ours: np.ndarray, theirs: np.ndarray) -> float | None:
    length = ours.shape[1]
    if length < 2 or not len(ours) or not len(theirs):
        return None
    kept = np.unique(np.linspace(0, length - 1, min(length, MOST_TOGETHER)).astype(np.int64))
    apart = np.abs(_correlations(ours[:, kept]) - _correlations(theirs[:, kept]))
    return float(apart[np.triu_indices(len(kept), 1)].mean())


def _correlations(rows: np.ndarray) -> np.ndarray:
    off = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    spread = np.sqrt(np.square(off).sum(axis=0))
    found: np.ndarray = (off.T @ off) / np.maximum(np.outer(spread, spread), TINY)
    # A place with one number for all has no deviation: rounding must not make a correlation of it.
    found[:, spread < TINY * len(rows)] = 0
    found[spread < TINY * len(rows)] = 0
    return found
