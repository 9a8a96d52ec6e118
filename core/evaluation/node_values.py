"""Comparison of what nodes carry.

Synthetic attributes are compared with those of the original. For curators only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.evaluation.metric import Metric
from core.evaluation.utility import relative
from core.graphs.columns.node_places import places_of
from core.graphs.graph import Graph
from core.graphs.schema import Attribute, EdgeType, NodeType
from core.graphs.schema.node_bins import node_bins, synthesised

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
        "edges both of whose ends have a value. Undefined where all have the same, and between two node "
        "types unless the other end's first attribute has the same bins: a_i b_i is in place of a_i^2 then.",
        _FAMILY,
    ),
    Metric(
        "node_value_association",
        "Association of both ends' values",
        "Of a relation between two node types: Cramér's V of e_ij, the share of edges between bin i of this "
        "attribute and bin j of the other end's first one, with margins a_i and b_j: the root of (sum of "
        "(e_ij - a_i b_j)^2 / (a_i b_j)) / (min(r, c) - 1), of r and c bins that have edges. 0: by chance, "
        "1: one end tells the other. Undefined where either end has one bin.",
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
        "Total variation of e_ij, see node_value_assortativity and node_value_association; where the other "
        "end has no attribute, of the shares of edges by the one end's value.",
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
    """Compare every synthetic attribute of a relation's end nodes.

    It is one that both graphs carry. Nodes need not be aligned: nothing here compares a node with itself. A
    row of ``scalars`` and ``distances`` for each attribute, as for other metrics; between two node types
    those of sources first, each named with its type. O(n + m + bins^2).
    """
    graphs, found = (original, synthetic), []
    kinds = {name: original.schema.node_type(name) for name in (edge_type.source, edge_type.target)}
    held = {name: _carried(kind, graphs) for name, kind in kinds.items()}
    for name, attributes in held.items():
        across = next((each for each in kinds if each != name), name)
        met = next(iter(held[across]), None)
        for attribute in attributes:
            if edge_type.homogeneous:
                sides = [_inside(graph, edge_type, attribute) for graph in graphs]
            else:
                sides = [_between(graph, edge_type, name, attribute, met) for graph in graphs]
            row = _row(*sides)
            others = [each for each in attributes if each is not attribute]
            row["distances"]["node_value_pair_distance"] = relative.mean(
                [
                    _far(*(_joint(attribute, other, graph.nodes[name].attributes) for graph in graphs))
                    for other in others
                ]
            )
            named = attribute.name if edge_type.homogeneous else f"{attribute.name} of {name}"
            found.append({"name": named, "kind": str(attribute.kind), "row": row})
    return found


def _carried(kind: NodeType, graphs: Sequence[Graph]) -> list[Attribute]:
    """List the synthesised attributes of a type that all graphs carry."""
    return [
        each
        for each in synthesised(kind)
        if all(each.name in graph.nodes[kind.name].attributes for graph in graphs)
    ]


def _joint(one: Attribute, other: Attribute, columns: Mapping[str, Any]) -> np.ndarray:
    """Shares of nodes by the bins of two attributes."""
    places, second = (places_of(each, columns[each.name]) for each in (one, other))
    count = node_bins(other).count
    both = np.where((places >= 0) & (second >= 0), places * count + second, -1)
    return _shares(both, node_bins(one).count * count)


@dataclass(frozen=True)
class _Side:
    """One graph: the bin of every node of one type, -1 without a value, and their degrees; of every edge the
    bins of this end and of the ``other``, which has ``others`` of them. ``alike``: both ends' bins are the
    same; ``between``: two types."""

    count: int
    places: np.ndarray
    degrees: np.ndarray
    one: np.ndarray
    other: np.ndarray
    others: int
    alike: bool
    between: bool

    def shares(self) -> np.ndarray:
        return _shares(self.places, self.count)

    def by_degree(self) -> np.ndarray:
        classes = np.minimum(np.floor(np.log2(self.degrees + 1.0)).astype(np.int64), DEGREES - 1)
        return _shares(np.where(self.places >= 0, self.places * DEGREES + classes, -1), self.count * DEGREES)

    def mixing(self) -> np.ndarray:
        held = (self.one >= 0) & (self.other >= 0)
        pair = np.where(held, self.one * self.others + self.other, -1)
        return _shares(pair, self.count * self.others).reshape(self.count, self.others)


def _inside(graph: Graph, edge_type: EdgeType, attribute: Attribute) -> _Side:
    """Look at both ends of a relation inside one type; of an undirected one in either order."""
    count = node_bins(attribute).count
    places = places_of(attribute, graph.nodes[edge_type.source].attributes[attribute.name])
    table = graph.edges[edge_type.name]
    degrees = np.bincount(np.concatenate([table.source, table.target]), minlength=len(places))
    one, other = places[table.source], places[table.target]
    if not edge_type.directed:
        one, other = np.concatenate([one, other]), np.concatenate([other, one])
    return _Side(count, places, degrees, one, other, count, alike=True, between=False)


def _between(
    graph: Graph, edge_type: EdgeType, name: str, attribute: Attribute, met: Attribute | None
) -> _Side:
    """Look from the type ``name`` at a relation with another type, of which ``met`` is told, or nothing."""
    table, count = graph.edges[edge_type.name], node_bins(attribute).count
    places = places_of(attribute, graph.nodes[name].attributes[attribute.name])
    own, far, across = table.source, table.target, edge_type.target
    if name == edge_type.target:
        own, far, across = table.target, table.source, edge_type.source
    degrees = np.bincount(own, minlength=len(places))
    if met is None:
        nothing = np.zeros(len(far), dtype=np.int64)
        return _Side(count, places, degrees, places[own], nothing, 1, alike=False, between=True)
    other = places_of(met, graph.nodes[across].attributes[met.name])[far]
    alike = _bins(attribute) == _bins(met)
    return _Side(count, places, degrees, places[own], other, node_bins(met).count, alike, between=True)


def _bins(attribute: Attribute) -> tuple[Any, ...]:
    """What makes the bins of two attributes the same."""
    return attribute.kind, attribute.categories, attribute.bounds, attribute.cuts


def _shares(places: np.ndarray, count: int) -> np.ndarray:
    """Shares of each place; zeros where there is none."""
    found = np.bincount(places[places >= 0], minlength=count).astype(np.float64)
    shares: np.ndarray = found / max(found.sum(), 1.0)
    return shares


def _row(ours: _Side, theirs: _Side) -> dict[str, Any]:
    distances = {
        "node_value_distance": _far(ours.shares(), theirs.shares()),
        "node_value_degree_distance": _far(ours.by_degree(), theirs.by_degree()),
    }
    scalars = {}
    if max(ours.count, ours.others) <= MOST_BINS:
        mixed = ours.mixing(), theirs.mixing()
        distances["node_value_mixing_distance"] = _far(*mixed)
        if ours.alike:
            scalars["node_value_assortativity"] = relative.scalar(*(assortativity_of(each) for each in mixed))
        if ours.between and ours.others > 1:
            scalars["node_value_association"] = relative.scalar(*(association_of(each) for each in mixed))
    return {"step": None, "scalars": scalars, "distances": distances}


def assortativity_of(mixing: np.ndarray) -> float | None:
    """Compute Newman's assortativity of a matrix of shares. None where it is undefined."""
    by_chance = float(mixing.sum(axis=0) @ mixing.sum(axis=1))
    if not mixing.any() or by_chance >= 1:
        return None
    return (float(np.trace(mixing)) - by_chance) / (1 - by_chance)


def association_of(mixing: np.ndarray) -> float | None:
    """Compute Cramér's V of a matrix of shares. None where it is undefined."""
    rows, columns = mixing.sum(axis=1), mixing.sum(axis=0)
    table = mixing[np.ix_(rows > 0, columns > 0)]
    if min(table.shape, default=0) < 2:
        return None
    by_chance = np.outer(rows[rows > 0], columns[columns > 0])
    # Chi squared over the number of edges, as the table holds shares.
    return float(np.sqrt(((table - by_chance) ** 2 / by_chance).sum() / (min(table.shape) - 1)))


def _far(ours: np.ndarray, theirs: np.ndarray) -> float | None:
    if not ours.any() or not theirs.any():
        return None
    return float(np.abs(ours - theirs).sum() / 2)
