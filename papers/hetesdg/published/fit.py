"""A fit of the published form. The raw graph goes in, latent vectors and exact numbers of links come out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from core.graphs.schema import Protection
from core.learning.devices import seeded
from core.methods.base import Progress
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import noise_generator
from papers._shared.progress import Ticks
from papers.hetesdg.inputs import leading, matrix_of
from papers.hetesdg.model import HeteModel
from papers.hetesdg.params import HeteParams
from papers.hetesdg.published import paper
from papers.hetesdg.published.algorithm1 import (
    Adjacency,
    Weights,
    feature_stage,
    neighbour_means,
    topology_stage,
)

if TYPE_CHECKING:
    from core.graphs.graph import Graph
    from core.methods._shared.frame.columns import Columns
    from core.privacy.session.private_graph import PrivateGraph

Links = dict[str, tuple[torch.Tensor, torch.Tensor]]


def fit_paper(method: str, graph: PrivateGraph, params: HeteParams, progress: Progress) -> HeteModel:
    """Run both stages on every protected relation without time. Guarantee: none."""
    raw = graph.unprotected(paper.REASON)
    relations = [each for each in raw.schema.edge_types if not each.public and not each.temporal]
    weights = Weights(params.divergence, params.semantic, params.clip, params.debias)
    epsilon = params.claimed_epsilon / 2
    ticks = Ticks(progress, "predictor")
    cells: dict[CellKey, Columns] = {}
    latents: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    curves: dict[str, tuple[float, ...]] = {}
    with seeded(int(noise_generator().integers(2**62))) as place:
        links: Links = {each.name: _ends(raw, each.name, place) for each in relations}
        noisy = _embeddings(raw, links, epsilon, params.debias, place)
        for number, each in enumerate(relations):
            tick = ticks.part(number, len(relations), params.steps)
            both, curve = topology_stage(
                links[each.name],
                (noisy[each.source], noisy[each.target]),
                epsilon,
                params.steps,
                weights,
                tick,
            )
            latents[each.name] = both[0].cpu().numpy(), both[1].cpu().numpy()
            curves[f"{each.name}: links"] = tuple(curve)
            cells[each.name, None] = {"count": np.array([len(links[each.name][0])], dtype=np.int64)}
    ticks.finish()
    kept: dict[str, dict[str, np.ndarray]] = {}
    if "embedding" in params.release:
        kept["embedding"] = {kind: rows.cpu().numpy() for kind, rows in noisy.items()}
    counts = {kind: table.count for kind, table in raw.nodes.items()}
    note = f"Epsilon {params.claimed_epsilon:g} is halved between the two stages; {params.steps} steps."
    return HeteModel(method, raw.schema, counts, params, cells, kept, latents, curves, (note,))


def _ends(raw: Graph, name: str, place: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    cell = raw.cell(name, None)
    source, target = (
        torch.from_numpy(each.astype(np.int64)).to(place) for each in (cell.source, cell.target)
    )
    return source, target


def _embeddings(
    raw: Graph, links: Links, epsilon: float, debias: bool, place: torch.device
) -> dict[str, torch.Tensor]:
    """Run the feature stage of every node type of a relation; public columns, or neighbours' means."""
    given = {kind: _public(raw, kind, place) for kind in raw.nodes}
    found = {}
    for kind, table in raw.nodes.items():
        paths, means = [], []
        for name, (source, target) in links.items():
            declared = raw.schema.edge_type(name)
            for here, there, own, other in (
                (source, target, declared.source, declared.target),
                (target, source, declared.target, declared.source),
            ):
                if own != kind:
                    continue
                paths.append(
                    (Adjacency(here, there, table.count), Adjacency(there, here, raw.nodes[other].count))
                )
                known = given[other]
                if known is not None:
                    means.append(neighbour_means(here, there, known, table.count))
        if not paths:
            continue
        features = given[kind]
        if features is None:
            features = torch.cat(means, 1) if means else torch.ones(table.count, 1, device=place)
        found[kind] = feature_stage(features, paths, epsilon, debias)
    return found


def _public(raw: Graph, kind: str, place: torch.device) -> torch.Tensor | None:
    """Compute the leading coordinates of a node type's public columns."""
    declared = raw.schema.node_type(kind).attributes
    columns = raw.nodes[kind].attributes
    names = [
        each.name
        for each in declared
        if each.protection is Protection.PUBLIC and not each.label and each.name in columns
    ]
    matrix = matrix_of({name: columns[name] for name in names})
    return None if matrix is None else torch.from_numpy(leading(matrix)).float().to(place)
