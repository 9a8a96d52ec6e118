"""When noisy bits of pairs separate true from false edges. A public rule."""

from __future__ import annotations

import math

from core.graphs.schema import EdgeType
from core.privacy.accounting.events import NANO
from core.privacy.queries import Shape

EDGES_A_NODE = 2
"""Edges for each node that a cell is guessed to have, where no bound is declared. A wrong guess costs
accuracy alone."""
WORTH = 0.6
"""Evidence is asked for where epsilon is at least so many times the log odds against an edge. Below, it could
not tell true edges from false ones. Measured on ML-100k and DBLP, whose slots differ in odds by e^4."""


def guessed_edges(relation: EdgeType, sources: int, targets: int) -> int:
    """Guess a cell's edges.

    The declared bound, or else EDGES_A_NODE for each node; at most what the declared facts allow. Public
    facts only.
    """
    nodes = sources + (0 if relation.homogeneous else targets)
    edges = relation.edge_bound or EDGES_A_NODE * nodes
    most = sources if relation.functional else Shape(relation, sources, targets).slots
    return max(0, min(edges, most))


def log_odds(shape: Shape) -> float:
    """Compute ln(slots / edges) with :func:`guessed_edges`, at least 1."""
    edges = guessed_edges(shape.edge_type, shape.source_count, shape.target_count)
    return max(1.0, math.log(max(shape.slots, 1) / max(edges, 1)))


def strength(shape: Shape, nano_epsilon: int, multiplicity: int) -> float:
    """Divide a slot's epsilon by the log odds against its edge. Evidence pays from WORTH on."""
    return nano_epsilon / multiplicity / NANO / log_odds(shape)
