"""Exact counts of all connected graphlets on 5 nodes.

Sums over nodes, edges, triangles and pairs at distance two give the number of subgraphs, or of homomorphisms,
of every graphlet; two linear systems (``graphlets``) turn them into induced counts. Only cliques are
enumerated. In the manner of ESCAPE (Pinar, Seshadhri, Vishal, WWW 2017); the formulas stand below.
"""

from __future__ import annotations

import numpy as np

from core.evaluation.utility.motifs import cliques, kernels
from core.evaluation.utility.motifs.four import Four, four, stars, total
from core.evaluation.utility.motifs.graphlets import copies_from_maps, induced_from_copies
from core.evaluation.view import UndirectedView

# A public bound on the kernels' work in the units of Ordered.cost, about 30 s; above it, sampling.
MOST_COST = 1 << 33
# The lists of common neighbours hold that many int32 at most: three a triangle.
MOST_LISTED = 1 << 27


def steps(found: Four) -> int:
    """Bound the steps of the 5-node kernels from above.

    The bound is by degrees, edge triangles and 4-cliques.
    """
    degree, out_degrees = found.graph.degrees, found.graph.out_degrees
    words = (int(out_degrees.max(initial=0)) + 63) // 64
    return (
        4 * total(degree**2)
        + 2 * total(found.triangles**2)
        + found.walk_steps
        + total(out_degrees**2)
        + found.copies["motif_4_clique"] * words
    )


def induced_five(view: UndirectedView) -> dict[str, int] | None:
    """Count the 21 induced graphlets on 5 nodes.

    They are by name; None above a bound. O(sum of d^2 + sum of t_e^2 + 4-cliques), t_e the triangles on an
    edge; 12 bytes a triangle. The bound keeps the sum of d^2 within 2^31: degrees within 2^16, walks of two
    steps from a node within 2^24 (Cauchy-Schwarz), and no figure of a node or an edge above degree^2 times
    such walks, 2^56. Totals are Python integers.
    """
    local = view.once(four)
    if local is None or 3 * local.copies["motif_3_triangle"] > MOST_LISTED:
        return None
    if local.graph.cost(steps(local)) > MOST_COST:
        return None
    lists = kernels.triangle_lists(local.graph.out_ptr, local.graph.out, local.triangles)
    copies = copies_from_maps(_maps(local, *lists), local.copies) | _copies(local, *lists)
    return induced_from_copies(5, copies)


def _maps(found: Four, start: np.ndarray, third: np.ndarray) -> dict[str, int]:
    """Count homomorphisms, where their formula is a plain sum: no two nodes need to be told apart.

    A is the adjacency matrix, d = A 1, w = A d, c = A^2; T_i = 2 t_i are the closed walks of length 3.
    """
    graph, t = found.graph, found.triangles
    arrays = (graph.indptr, graph.indices, graph.out_ptr, graph.out)
    degree, closed = graph.degrees, 2 * found.node_triangles
    low, high = degree[graph.low], degree[graph.out]
    paths = graph.at_ends(high, low)
    squares, cubes, walks = kernels.pair_rows(*arrays)
    across = kernels.braced(*arrays, start, third)
    return {
        "motif_5_path": total(paths**2),
        "motif_5_fork": total(degree**2 * paths),
        "motif_5_banner": total(squares * degree),
        "motif_5_bull": 2 * total(t * low * high),
        "motif_5_lollipop": total(closed * paths),
        "motif_5_house": 2 * total(t * walks),
        "motif_5_k23": total(cubes),
        "motif_5_butterfly": total(closed**2),
        "motif_5_dart": total(t * t * (low + high)),
        "motif_5_kite": 2 * found.kites,
        "motif_5_gem": 2 * found.gems,
        "motif_5_braced_house": 4 * total(across) + total(degree * closed),
    }


def _copies(found: Four, start: np.ndarray, third: np.ndarray) -> dict[str, int]:
    """Count subgraphs, where they are counted as such."""
    graph, t, degree, at = found.graph, found.triangles, found.graph.degrees, found.node_triangles
    # A closed walk that passes its start once, and elsewhere only lower nodes, is a 5-cycle, a triangle, or a
    # triangle with an edge to and fro at a node that is not the highest of the four.
    walks = kernels.five_walks(graph.indptr, graph.indices, graph.out_ptr, graph.out)
    below = degree - graph.out_degrees
    tailed = total(at * (degree - 2)) - total(found.highest * (below - 2))
    return {
        "motif_5_star": stars(degree, 4),
        "motif_5_cycle": total(walks) - found.copies["motif_3_triangle"] - tailed,
        "motif_5_cricket": total(at * ((degree - 2) * (degree - 3) // 2)),
        "motif_5_book": total(t * (t - 1) * (t - 2) // 6),
        "motif_5_clique_pendant": total(found.node_cliques * (degree - 3)),
        "motif_5_wheel": total(kernels.wheels(graph.indptr, graph.indices, graph.edge_id, start, third)),
        "motif_5_clique_minus_path": total(found.cliques * (t - 2)),
        "motif_5_clique_minus_edge": found.near_cliques,
        "motif_5_clique": total(cliques.five_cliques(graph.out_ptr, graph.out)),
    }
