"""Exact counts of all connected graphlets on 4 nodes.

With them are the local figures that 5 nodes need as well. Sums over nodes, edges and triangles give the
number of subgraphs of every graphlet, a linear system (``graphlets``) turns them into induced counts. In the
manner of ESCAPE (Pinar, Seshadhri, Vishal, WWW 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from core.evaluation.utility.motifs import cliques, kernels
from core.evaluation.utility.motifs.graphlets import induced_from_copies
from core.evaluation.utility.motifs.ordered import Ordered
from core.evaluation.view import UndirectedView

# A public bound on the kernels' work in the units of Ordered.cost, about 10 s; above it, sampling.
MOST_COST = 1 << 31


@dataclass(frozen=True)
class Four:
    """What the 4-node counts leave for the 5-node ones.

    That is numbers of copies, and local figures. Per edge of ``graph``: ``triangles``, ``cliques``
    (4-cliques). Per node: ``node_triangles``, ``node_cliques``, ``highest`` (triangles in which it is the
    highest node). The rest are totals.
    """

    graph: Ordered
    copies: dict[str, int]
    triangles: np.ndarray
    cliques: np.ndarray
    node_triangles: np.ndarray
    node_cliques: np.ndarray
    highest: np.ndarray
    gems: int
    kites: int
    near_cliques: int
    walk_steps: int


def total(values: np.ndarray) -> int:
    """Sum int64 values exactly as a Python integer. The 32-bit limbs cannot overflow below 2^31 values."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def stars(degrees: np.ndarray, leaves: int) -> int:
    """Count the stars with ``leaves`` leaves. It is the sum of C(d, leaves), in Python integers."""
    sizes, nodes = np.unique(degrees, return_counts=True)
    return sum(comb(int(size), leaves) * int(count) for size, count in zip(sizes, nodes, strict=True))


def four(view: UndirectedView) -> Four | None:
    """Count subgraphs up to 4 nodes.

    None where more than ``MOST_COST`` would be spent. O(m * arboricity) and a bit row per edge, O(m) memory.
    """
    graph = view.once(Ordered.of)
    degree, out_degrees, m = graph.degrees, graph.out_degrees, len(graph.out)
    low, high = degree[graph.low], degree[graph.out]
    filled = np.minimum(high, low * np.ceil(np.log2(high + 1)).astype(np.int64))
    if graph.cost(total(out_degrees[graph.out]) + 2 * total(low) + total(filled)) > MOST_COST:
        return None
    on_edge, lowest, highest = kernels.edge_triangles(graph.out_ptr, graph.out)
    if graph.cost(total(lowest * (degree + 63 >> 6))) > MOST_COST:
        return None
    cycles, walk_steps = kernels.four_cycles(graph.indptr, graph.indices, graph.out_ptr)
    arrays = (graph.indptr, graph.indices, graph.out_ptr, graph.out)
    gems, kites, near_cliques, edge_cliques, node_cliques = cliques.triangle_sums(*arrays, on_edge)
    node_triangles = graph.at_ends(on_edge, on_edge) // 2
    triangles = total(lowest)
    found = {
        "motif_2_edge": m,
        "motif_3_path": stars(degree, 2),
        "motif_3_triangle": triangles,
        # x-u-v-y by the middle edge; where x is y it is a triangle, met by each of its three edges.
        "motif_4_path": total((low - 1) * (high - 1)) - 3 * triangles,
        "motif_4_star": stars(degree, 3),
        "motif_4_cycle": total(cycles),
        "motif_4_paw": total(node_triangles * (degree - 2)),
        "motif_4_diamond": total(on_edge * (on_edge - 1) // 2),
        # Counted on each of its six edges.
        "motif_4_clique": total(edge_cliques) // 6,
    }
    return Four(
        graph,
        found,
        on_edge,
        edge_cliques,
        node_triangles,
        node_cliques,
        highest,
        total(gems),
        total(kites),
        total(near_cliques),
        int(walk_steps),
    )


def induced_four(view: UndirectedView) -> dict[str, int] | None:
    """Count the 6 induced graphlets on 4 nodes. They are by name; None above the bound."""
    local = view.once(four)
    return None if local is None else induced_from_copies(4, local.copies)
