"""Reach of a node's short meta-paths in a graph.

It is the description that the semantic attack learns from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from core.evaluation.attacks.projection import static_cell
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType

MAX_PATHS = 24


@dataclass(frozen=True)
class Subject:
    """A class to infer.

    ``known`` nodes have class ``known_class``; targets state (node, class), true or not. Nodes are int64
    indices of ``node_type``, classes are 0..count-1.
    """

    node_type: str
    attribute: str
    count: int
    known: np.ndarray
    known_class: np.ndarray
    node: np.ndarray
    stated: np.ndarray
    label: np.ndarray


@dataclass(frozen=True)
class Hop:
    """A relation walked one way. It goes from nodes of type ``start`` to nodes of type ``end``."""

    start: str
    end: str
    protected: bool
    matrix: sp.csr_array


def hops(graph: Graph, relations: Sequence[EdgeType]) -> list[Hop]:
    """Walk every relation of ``graph`` in both directions.

    An undirected one within a type is walked once.

    ``relations`` are the protected ones. All steps count together. O(n + m log m).
    """
    names = {relation.name for relation in relations}
    both_ways = []
    for edge_type in graph.schema.edge_types:
        matrix = static_cell(graph, edge_type).adjacency.astype(np.float64).tocsr()
        protected = edge_type.name in names
        both_ways.append(Hop(edge_type.source, edge_type.target, protected, matrix))
        if edge_type.directed or not edge_type.homogeneous:
            both_ways.append(Hop(edge_type.target, edge_type.source, protected, matrix.T.tocsr()))
    return both_ways


def described(
    graph: Graph, subject: Subject, relations: Sequence[EdgeType], nodes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Describe known nodes and ``nodes`` by features.

    The known are the subject's; float64 (nodes, features). For each meta-path of one or two hops that ends at
    the subject's type and crosses a protected relation: the logarithm of how many known nodes it reaches, and
    the share of each class among them (with one more node of average class, so that a node without paths
    looks average). A node's own class is left out. And the logarithm of each protected degree. At most
    ``MAX_PATHS`` paths, in declared order.
    """
    rows = np.concatenate([subject.known, nodes])
    ones = np.ones(len(subject.known))
    shape = (graph.nodes[subject.node_type].count, subject.count)
    classes = sp.coo_array((ones, (subject.known, subject.known_class)), shape=shape).tocsr()
    own = classes[rows].toarray()
    prior = np.bincount(subject.known_class, minlength=subject.count) / max(len(subject.known), 1)
    every = hops(graph, relations)
    columns = [
        np.log1p(hop.matrix.sum(axis=1)[rows])[:, None]
        for hop in every
        if hop.start == subject.node_type and hop.protected
    ]
    for number, reached in enumerate(_reached(every, subject.node_type, rows, classes, own)):
        if number == MAX_PATHS:
            break
        total = reached.sum(axis=1, keepdims=True)
        # One more node of average class, so that few reached nodes say little.
        columns += [np.log1p(total), (reached + prior) / (total + 1)]
    features = np.concatenate(columns, axis=1)
    return features[: len(subject.known)], features[len(subject.known) :]


def _reached(
    every: Sequence[Hop], start: str, rows: np.ndarray, classes: sp.csr_array, own: np.ndarray
) -> Iterator[np.ndarray]:
    """Count, by meta-path, the known nodes of each class that it reaches from ``rows``, themselves apart."""
    outward = [hop for hop in every if hop.start == start]
    for hop in outward:
        if hop.end == start and hop.protected:
            yield (hop.matrix[rows] @ classes).toarray()
    for first in outward:
        for second in every:
            if second.start != first.end or second.end != start or not (first.protected or second.protected):
                continue
            reached = (first.matrix[rows] @ (second.matrix @ classes)).toarray()
            back = second.matrix.T.tocsr()[rows]
            returns = first.matrix[rows].multiply(back).sum(axis=1)
            # Paths that come back to where they began would tell a known node its own class.
            yield reached - returns[:, None] * own
