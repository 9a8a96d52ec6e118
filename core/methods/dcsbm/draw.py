"""One graph of ``dcsbm`` from a cell's noisy values."""

from __future__ import annotations

import numpy as np

from core.methods._shared.blocks.whole import whole_blocks
from core.methods._shared.degrees.counts import integers
from core.methods._shared.degrees.fitted import scaled_to
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.resized import degrees_of
from core.methods._shared.matching.exact import completed, matched
from core.methods._shared.matching.near import near_keys
from core.methods._shared.matching.pairs import top_up
from core.methods._shared.rewiring.clustering import ToldClustering
from core.methods._shared.rewiring.products import product_goal
from core.methods._shared.rewiring.triangles import Targets, proposals_for, rewired
from core.methods.dcsbm.params import DCSBMParams
from core.privacy.entropy import Generator as Rng

BAND = 0.5  # of the standard deviation of the aim: nearer means no better
BANDS = 0.0005, 0.02


def resized(columns: Columns, origins: np.ndarray) -> Columns:
    """Give nodes their origins' labels and degrees. Edges between labels, triangles and the sum of
    clustering grow with the nodes, as does the noise that the last was measured with."""
    factor = len(origins) / max(len(columns["degrees"]), 1)
    clustering = columns["clustering"]
    if len(clustering):
        measured = ToldClustering(*clustering)
        # As noise grows with the sum, the noisy sum is one of a smaller epsilon.
        cost = max(1, round(measured.nano_epsilon / factor))
        clustering = ToldClustering(measured.total * factor, int(measured.damping), cost).column()
    return {
        **columns,
        "labels": columns["labels"][origins],
        "degrees": degrees_of(columns["degrees"], origins),
        "blocks": columns["blocks"] * factor,
        "triangles": np.rint(columns["triangles"] * factor).astype(np.int64),
        "clustering": clustering,
    }


def draw(columns: Columns, nodes: int, params: DCSBMParams, rng: Rng) -> np.ndarray:
    """Sample distinct edges, as many as block counts sum to.

    They are sorted keys ``low * nodes + high``. Degrees are met up to rounding, block counts up to what the
    degrees allow; then triangles and degree products are approached. O(m log m + proposals * degree) time,
    O(n + m) memory.
    """
    labels = columns["labels"].astype(np.int64)
    edges = min(int(np.rint(columns["blocks"].sum())), nodes * (nodes - 1) // 2)
    degrees = integers(scaled_to(columns["degrees"].astype(np.float64), 2 * edges), rng)
    if params.geometry:
        closed = int(columns["triangles"][0]) if len(columns["triangles"]) else 0
        return top_up(completed(near_keys(degrees, closed, rng), degrees, rng), nodes, edges, rng)
    keys = matched(degrees, labels, whole_blocks(columns["blocks"], labels, degrees, rng), rng)
    keys = top_up(completed(keys, degrees, rng), nodes, edges, rng)
    if not len(columns["triangles"]) or not len(keys):
        return keys
    known, aim, band = columns["covariance"], None, 0.0
    if len(known):
        aim, deviation = product_goal(keys, nodes, known[0], known[1], params.way.spread)
        band = float(np.clip(BAND * deviation, *BANDS)) if params.way.band is None else params.way.band
    measured = ToldClustering.of(columns.get("clustering", ()))
    targets = Targets(int(columns["triangles"][0]), aim, band, measured)
    return rewired(keys, nodes, labels, targets, proposals_for(edges, params.way.proposals), rng)
