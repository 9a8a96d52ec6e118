"""The sound variant's reads, and what it learns from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.methods._shared.degrees.counts import noisy_count
from core.methods._shared.flips.balanced import balanced_about
from core.methods._shared.slots.evidence import flips_column
from core.methods._shared.triangles import draw as degree_triangle
from core.methods.base import Progress
from core.privacy.accounting.plan import CellKey, PrivacyPlan
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import noise_generator
from papers.dpggan.budget import Granted, granted
from papers.dpggan.model import LinkModel
from papers.dpggan.params import LinkParams
from papers.dpggan.pooling import Hint, NoisyGraph, hints

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.session.private_graph import PrivateGraph


def fit_sound(
    method: str,
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: LinkParams,
    progress: Progress,
    checkpoint: Path | None = None,
) -> LinkModel:
    """Fit variant sound, at the plan's cost at most.

    Read are: what ``degree_triangle`` reads, or the number of edges; every slot by a coin; and edges by
    DP-SGD. All else follows from these answers and from public facts.
    """
    grants, rng = granted(plan), noise_generator()
    cells: dict[CellKey, Columns] = {}
    frames = _frames(graph, grants, params, rng) if params.frame else {}
    for done, key in enumerate(grants.frame):
        progress("read", done, len(grants.frame))
        cells[key] = _read(graph, key, grants, frames.get(key), rng)
    progress("read", len(grants.frame), len(grants.frame))
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    model = LinkModel(method, graph.schema, counts, params, cells)
    if grants.training is None:
        return model
    from papers.dpggan.training import learned

    return learned(model, partial(graph.dp_sgd, grants.training), grants.training, rng, progress, checkpoint)


def _frames(
    graph: PrivateGraph, grants: Granted, params: LinkParams, rng: Rng
) -> dict[CellKey, Mapping[str, np.ndarray]]:
    """Pay for degrees and triangles of every relation. In a collection each graph learns from all of them:
    their relations hold disjoint edges, and what is shared are answers that each has paid for."""
    paid = {}
    for (name, step), nano_epsilon in grants.frame.items():
        cell = graph.cell(name, step)
        products = cell.shape.source_count >= params.product_nodes
        paid[name, step] = degree_triangle.read(cell, nano_epsilon, params, products)
    said: Sequence[Hint] = [Hint(each.edges, None) for each in paid.values()]
    if graph.schema.collection is not None and params.pooled:
        said = hints([NoisyGraph.of(each) for each in paid.values()])
    return {
        key: degree_triangle.columns(
            replace(each, edges=hint.edges), len(each.degrees), params, rng, hint.shapes
        )
        for (key, each), hint in zip(paid.items(), said, strict=True)
    }


def _read(
    graph: PrivateGraph,
    key: CellKey,
    grants: Granted,
    frame: Mapping[str, np.ndarray] | None,
    rng: Rng,
) -> dict[str, np.ndarray]:
    """Pay for the columns of one relation: the frame or the number of edges, and the noisy graph."""
    name, step = key
    cell = graph.cell(name, step)
    columns: dict[str, np.ndarray] = {}
    if frame is not None:
        columns |= frame
        edges = round(float(columns["degrees"].sum()) / 2)
    else:
        edges = noisy_count(cell, grants.frame[key])
    columns["count"] = np.array([edges], dtype=np.int64)
    if key in grants.hat:
        flipped = balanced_about(cell, edges, grants.hat[key])
        source, target = flipped.ends
        columns["y"] = source * cell.shape.target_count + target
        columns["flips"] = flips_column(flipped.flips)
    return columns
