"""What nodes carry, compared: synthetic attributes beside those of the original. For curators only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.evaluation.metric import Metric
from core.evaluation.utility import relative
from core.graphs.graph import Graph
from core.graphs.node_bins import node_bins, places_of, synthesised
from core.graphs.schema import Attribute, EdgeType

MOST_BINS = 512
"""Of more bins the matrix of mixing is not compared."""
DEGREES = 40
"""Classes of degree: 0, 1, 2-3, 4-7, and so on by doubling."""

_FAMILY = "node_values"
SCALARS: tuple[Metric, ...] = (
    Metric(
        "node_value_assortativity",
        "Assortativity by attribute",
        "Assortativity of edges by a node attribute (Newman 2003, equation 2): (sum of e_ii - sum of a_i^2) "
        "/ (1 - sum of a_i^2), of e_ij, the share of edge ends between bins i and j, and its margins a_i; of "
        "edges both of whose ends have a value. Undefined where all have the same.",
        _FAMILY,
    ),
)
DISTANCES: tuple[Metric, ...] = (
    Metric(
        "node_value_distance",
        "Distance of node values",
        "Total variation, half the sum over bins of |p - q|, of the shares of nodes with each value, among "
        "nodes that have one.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "node_value_mixing_distance",
        "Distance of mixing",
        "Total variation of e_ij, see node_value_assortativity.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "node_value_degree_distance",
        "Distance of values by degree",
        "Total variation of the shares of nodes by value and degree, in classes 0, 1, 2-3, 4-7 and so on.",
        _FAMILY,
        better="lower",
    ),
    Metric(
        "node_value_pair_distance",
        "Distance of two attributes together",
        "Total variation of the shares of nodes by this attribute and another one, of nodes that have both; "
        "the mean over the others, undefined where there is none.",
        _FAMILY,
        better="lower",
    ),
)


def described() -> dict[str, dict[str, Any]]:
    """Describe what is measured of node values, by name."""
    return {metric.name: metric.to_json() for metric in SCALARS + DISTANCES}


def compare_node_values(original: Graph, synthetic: Graph, edge_type: EdgeType) -> list[dict[str, Any]]:
    """Compare every synthetic attribute of the nodes of a relation inside one type that both graphs carry.

    Nodes need not be aligned: nothing here compares a node with itself. A row of ``scalars`` and
    ``distances`` for each attribute, as for other metrics. O(n + m + bins^2).
    """
    if not edge_type.homogeneous:
        return []
    kind = original.schema.node_type(edge_type.source)
    columns = [graph.nodes[kind.name].attributes for graph in (original, synthetic)]
    found = []
    for attribute in synthesised(kind):
        if all(attribute.name in each for each in columns):
            sides = [_Side(graph, edge_type, attribute) for graph in (original, synthetic)]
            row = _row(*sides)
            row["distances"]["node_value_pair_distance"] = relative.mean(
                [
                    _far(*(_joint(attribute, other, each) for each in columns))
                    for other in synthesised(kind)
                    if other is not attribute and all(other.name in each for each in columns)
                ]
            )
            found.append({"name": attribute.name, "kind": str(attribute.kind), "row": row})
    return found


def _joint(one: Attribute, other: Attribute, columns: Mapping[str, Any]) -> np.ndarray:
    """Shares of nodes by the bins of two attributes."""
    places, second = (places_of(each, columns[each.name]) for each in (one, other))
    count = node_bins(other).count
    both = np.where((places >= 0) & (second >= 0), places * count + second, -1)
    return _shares(both, node_bins(one).count * count)


class _Side:
    """One graph: the bin of every node, -1 without a value; degrees; and the bins of both ends of edges."""

    def __init__(self, graph: Graph, edge_type: EdgeType, attribute: Attribute) -> None:
        self.count = node_bins(attribute).count
        self.places = places_of(attribute, graph.nodes[edge_type.source].attributes[attribute.name])
        table = graph.edges[edge_type.name]
        ends = np.concatenate([table.source, table.target])
        self.degrees = np.bincount(ends, minlength=len(self.places))
        self.one, self.other = self.places[table.source], self.places[table.target]
        if not edge_type.directed:
            self.one, self.other = (
                np.concatenate([self.one, self.other]),
                np.concatenate([self.other, self.one]),
            )

    def shares(self) -> np.ndarray:
        return _shares(self.places, self.count)

    def by_degree(self) -> np.ndarray:
        classes = np.minimum(np.floor(np.log2(self.degrees + 1.0)).astype(np.int64), DEGREES - 1)
        return _shares(np.where(self.places >= 0, self.places * DEGREES + classes, -1), self.count * DEGREES)

    def mixing(self) -> np.ndarray:
        held = (self.one >= 0) & (self.other >= 0)
        pair = np.where(held, self.one * self.count + self.other, -1)
        return _shares(pair, self.count**2).reshape(self.count, self.count)


def _shares(places: np.ndarray, count: int) -> np.ndarray:
    """Shares of each place; zeros where there is none."""
    found = np.bincount(places[places >= 0], minlength=count).astype(np.float64)
    return found / max(found.sum(), 1.0)


def _row(ours: _Side, theirs: _Side) -> dict[str, Any]:
    distances = {
        "node_value_distance": _far(ours.shares(), theirs.shares()),
        "node_value_degree_distance": _far(ours.by_degree(), theirs.by_degree()),
    }
    scalars = {}
    if ours.count <= MOST_BINS:
        mixed = ours.mixing(), theirs.mixing()
        distances["node_value_mixing_distance"] = _far(*mixed)
        scalars["node_value_assortativity"] = relative.scalar(*(assortativity_of(each) for each in mixed))
    return {"step": None, "scalars": scalars, "distances": distances}


def assortativity_of(mixing: np.ndarray) -> float | None:
    """Newman's coefficient of a matrix of shares; None where it is undefined."""
    by_chance = float(mixing.sum(axis=0) @ mixing.sum(axis=1))
    if not mixing.any() or by_chance >= 1:
        return None
    return (float(np.trace(mixing)) - by_chance) / (1 - by_chance)


def _far(ours: np.ndarray, theirs: np.ndarray) -> float | None:
    if not ours.any() or not theirs.any():
        return None
    return float(np.abs(ours - theirs).sum() / 2)
