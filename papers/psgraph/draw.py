"""A graph from one step's paid-for values. Free: reads the model only."""

from __future__ import annotations

import numpy as np

from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.degrees.counts import fill, integers
from core.methods._shared.matching.pairs import top_up
from core.privacy.entropy import Generator as Rng
from papers._shared.blocks.reconstruct import Layout, capacity, reconstruct
from papers.psgraph.budget import PSGraphParams
from papers.psgraph.step import StepModel


def draw(model: StepModel, params: PSGraphParams, rng: Rng) -> np.ndarray:
    """Sample one synthetic graph's sorted int64 keys. They are ``low * n + high``."""
    labels = model.labels.astype(np.int64)
    communities = int(labels.max(initial=0)) + 1
    blocks, d_in, d_out = _targets(model, labels, communities, params, rng)
    if params.way.reconstruction == "matched":
        keys = _matched(labels, d_in, d_out, blocks, rng)
    else:
        keys = reconstruct(labels, d_in, d_out, blocks, rng)
        if params.post_process and len(keys) != model.edges:
            from papers.psgraph.postprocess import post_process

            keys = post_process(keys, labels, d_in, d_out, model.edges, rng)
            if params.meet_count:
                keys = met(keys, len(labels), model.edges, rng)
    if params.way.totals == "noisy_count":
        keys = top_up(keys, len(labels), model.edges, rng)
    if model.triangles is not None:
        from core.methods._shared.rewiring.triangles import Targets, proposals_for, rewired

        proposals = proposals_for(len(keys), params.way.proposals)
        keys = rewired(keys, len(labels), labels, Targets(model.triangles), proposals, rng)
    return keys


def met(keys: np.ndarray, nodes: int, edges: int, rng: Rng) -> np.ndarray:
    """Add or remove edges at random until there are ``edges``, or all pairs if fewer; sorted keys."""
    if len(keys) > edges:
        kept: np.ndarray = np.sort(rng.choice(keys, max(edges, 0), replace=False, shuffle=False))
        return kept
    return top_up(keys, nodes, edges, rng)


def _matched(labels: np.ndarray, d_in: np.ndarray, d_out: np.ndarray, blocks: Blocks, rng: Rng) -> np.ndarray:
    """Match edge ends block by block, inside and between communities apart; what no block has room for, over
    all nodes."""
    from core.methods._shared.matching.ends import degrees_in, merged
    from core.methods._shared.matching.exact import completed, matched

    most = max(len(labels) - 1, 0)
    whole = np.minimum(integers(d_in + d_out, rng), most)
    inside = np.minimum(integers(d_in, rng), whole)
    keys = none = np.empty(0, dtype=np.int64)
    diagonal = blocks.row == blocks.column
    for degrees, mask in ((inside, diagonal), (whole - inside, ~diagonal)):
        part = Blocks(blocks.row[mask], blocks.column[mask], blocks.edges[mask])
        if len(part.edges):
            fresh = matched(degrees, labels, part, rng)
            keys = merged(keys, none, fresh) if len(keys) else fresh
    used = degrees_in(keys, len(labels))
    # Dense graphs are matched by what they lack, and may then have a few edges too many.
    return completed(keys, np.maximum(whole, used), rng)


def _targets(
    model: StepModel, labels: np.ndarray, communities: int, params: PSGraphParams, rng: Rng
) -> tuple[Blocks, np.ndarray, np.ndarray]:
    """Compute integer totals of all non-empty blocks, and the degrees that belong to them."""
    d_in, d_out = model.d_in.astype(np.float64), model.d_out.astype(np.float64)
    inner = np.bincount(labels, weights=d_in, minlength=communities) / 2
    diagonal = np.arange(communities)
    row = np.concatenate([diagonal, model.between.row])
    column = np.concatenate([diagonal, model.between.column])
    mass = np.concatenate([inner, model.between.edges])
    if params.way.totals == "as_published":
        return Blocks(row, column, integers(mass, rng)), d_in, d_out
    room = capacity(
        Layout.of(labels, communities, d_in).sizes,
        Layout.of(labels, communities, d_out).sizes,
        Blocks(row, column, mass),
    )
    mass = fill(mass, room, model.edges)
    scale_in = np.divide(mass[:communities], inner, out=np.zeros(communities), where=inner > 0)
    wanted = np.bincount(row[communities:], weights=mass[communities:], minlength=communities)
    wanted += np.bincount(column[communities:], weights=mass[communities:], minlength=communities)
    outer = np.bincount(labels, weights=d_out, minlength=communities)
    scale_out = np.divide(wanted, outer, out=np.zeros(communities), where=outer > 0)
    return Blocks(row, column, integers(mass, rng)), d_in * scale_in[labels], d_out * scale_out[labels]
