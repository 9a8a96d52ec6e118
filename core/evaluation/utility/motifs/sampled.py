"""Graphlet counts from random spanning trees, with standard errors.

They are of connected graphlets. In the manner of path sampling (Jha, Seshadhri, Pinar, WWW 2015), all trees
of a size at once: every connected graphlet is spanned by a path, a fork or a star.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from core.evaluation.metric import Estimate, Value
from core.evaluation.utility.motifs import draws as lookups
from core.evaluation.utility.motifs.graphlets import copies, kinds, of_size
from core.evaluation.utility.motifs.ordered import Ordered
from core.evaluation.utility.motifs.trees import TREES, Walker
from core.evaluation.view import UndirectedView
from core.privacy.entropy import public_generator

SEED = 29
DRAWS = 400_000


def induced(view: UndirectedView, size: int, seed: int = SEED, draws: int = DRAWS) -> dict[str, Value]:
    """Estimate induced counts of the graphlets on ``size`` nodes.

    ``size`` is 4 or 5; unbiased, repeatable.

    ``draws`` of every spanning tree. With n_F draws of tree F, each copy with probability 1/W_F, an induced
    copy of H is hit E_H = sum of n_F copies(F, H) / W_F times on average; its count is the hits / E_H
    (Horvitz-Thompson). The draws are independent, so that the hits are binomial: the variance is
    (1 + sum of h_F (1 - h_F/n_F)) / E_H^2. The 1 keeps a motif that was never met from being called certain.
    Exact 0 where no copy can exist. O(n + m + draws log d).
    """
    graph = view.once(Ordered.of)
    walker = Walker(graph, public_generator(seed))
    wanted = of_size(size)
    by_name = {graphlet.name: graphlet for graphlet in wanted}
    expected, hits, variance = (np.zeros(len(wanted)) for _ in range(3))
    for name, draw in TREES[size].items():
        nodes, weight = draw(walker, size, draws)
        if len(nodes) == 0:
            continue
        drawn = kinds(size)[lookups.masks(graph.indptr, graph.indices, nodes).clip(0)]
        met = np.bincount(drawn[drawn >= 0], minlength=len(wanted)).astype(np.float64)
        expected += [len(nodes) * copies(by_name[name], graphlet) / weight for graphlet in wanted]
        hits += met
        variance += met * (1 - met / len(nodes))
    return {
        graphlet.name: Estimate(float(hits[at] / expected[at]), sqrt(1 + variance[at]) / float(expected[at]))
        # A bipartite graph has no motif with an odd cycle: that is exact, no estimate.
        if expected[at] > 0 and (graphlet.bipartite or not view.bipartite)
        else 0
        for at, graphlet in enumerate(wanted)
    }
