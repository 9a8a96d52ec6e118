"""A fit of the published form. The raw graph goes in, latent vectors and exact numbers of links come out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from core.graphs.schema import EdgeType, Protection
from core.learning.devices import seeded
from core.methods.base import Progress
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import noise_generator
from papers._shared.progress import Ticks
from papers.hetesdg.inputs import leading, matrix_of
from papers.hetesdg.model import HeteModel
from papers.hetesdg.params import HeteParams
from papers.hetesdg.published import bilevel, paper
from papers.hetesdg.published.algorithm1 import (
    Adjacency,
    FeatureStage,
    neighbour_means,
    steps_of,
    topology_stage,
)
from papers.hetesdg.sides import walked

if TYPE_CHECKING:
    from core.graphs.graph import Graph
    from core.methods._shared.frame.columns import Columns
    from core.privacy.session.private_graph import PrivateGraph

Links = dict[str, tuple[torch.Tensor, torch.Tensor]]


def fit_paper(method: str, graph: PrivateGraph, params: HeteParams, progress: Progress) -> HeteModel:
    """Run both stages on every protected relation without time. Guarantee: none."""
    raw = graph.unprotected(paper.REASON)
    relations = [each for each in raw.schema.edge_types if not each.public and not each.temporal]
    ticks = Ticks(progress, "predictor")
    cells: dict[CellKey, Columns] = {}
    latents: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    curves: dict[str, tuple[float, ...]] = {}
    with seeded(int(noise_generator().integers(2**62))) as place:
        links: Links = {each.name: _ends(raw, each.name, place) for each in relations}
        stages = _stages(raw, links, params, place)
        feature, topology = _divided(stages, relations, links, params)
        noisy = {kind: stage.released(feature) for kind, stage in stages.items()}
        for number, each in enumerate(relations):
            steps = steps_of(len(links[each.name][0]), params)
            tick = ticks.part(number, len(relations), steps)
            rows = noisy[each.source], noisy[each.target]
            both, curve, _ = topology_stage(links[each.name], rows, topology, steps, params, tick)
            latents[each.name] = both[0].cpu().numpy(), both[1].cpu().numpy()
            curves[f"{each.name}: links"] = tuple(curve)
            cells[each.name, None] = {"count": np.array([len(links[each.name][0])], dtype=np.int64)}
    ticks.finish()
    kept: dict[str, dict[str, np.ndarray]] = {}
    if "embedding" in params.release:
        kept["embedding"] = {kind: rows.cpu().numpy() for kind, rows in noisy.items()}
    counts = {kind: table.count for kind, table in raw.nodes.items()}
    note = f"Epsilon {params.claimed_epsilon:g}: {feature:.3g} for features, {topology:.3g} for topology."
    return HeteModel(method, raw.schema, counts, params, cells, kept, latents, curves, (note,))


def _divided(
    stages: dict[str, FeatureStage], relations: list[EdgeType], links: Links, params: HeteParams
) -> tuple[float, float]:
    """Train FeatADP, and divide epsilon: halves, or Eq. 24 with that training and then Eq. 25."""
    whole = params.claimed_epsilon
    feature = topology = whole / 2
    for stage in stages.values():
        feature = stage.train(feature, whole)
    if params.split != "bilevel":
        return feature, topology
    rows = {kind: stage.released(feature) for kind, stage in stages.items()}
    slope = 0.0
    for each in relations:
        own = links[each.name]
        steps = min(bilevel.PILOT, steps_of(len(own[0]), params))
        ends = rows[each.source], rows[each.target]
        slope += topology_stage(own, ends, topology, steps, params, lambda done: None)[2]
    return bilevel.held(feature, bilevel.turned(topology, slope, whole), whole)


def _ends(raw: Graph, name: str, place: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    cell = raw.cell(name, None)
    source, target = (
        torch.from_numpy(each.astype(np.int64)).to(place) for each in (cell.source, cell.target)
    )
    return source, target


def _stages(raw: Graph, links: Links, params: HeteParams, place: torch.device) -> dict[str, FeatureStage]:
    """Begin the feature stage of every node type of a relation; public columns, or neighbours' means."""
    given = {kind: _public(raw, kind, place) for kind in raw.nodes}
    found = {}
    for kind, table in raw.nodes.items():
        paths = paths_from(raw, kind, links, params.meta_paths)
        if not paths:
            continue
        features = given[kind]
        if features is None:
            means = [
                neighbour_means(here, there, known, table.count)
                for name, ends in links.items()
                for here, there, other in _turns(raw, name, ends, kind)
                if (known := given[other]) is not None
            ]
            features = torch.cat(means, 1) if means else torch.ones(table.count, 1, device=place)
        found[kind] = FeatureStage.begun(features, paths, params)
    return found


def paths_from(
    raw: Graph, kind: str, links: Links, asked: tuple[tuple[str, ...], ...]
) -> list[tuple[Adjacency, ...]]:
    """Collect the meta-paths from a node type back to it (Eq. 6).

    Those of ``asked`` that lead back; without any, there and back over each of its relations.
    """
    found = [steps for path in asked if (steps := _steps(raw, kind, path, links))]
    if found:
        return found
    return [
        (
            Adjacency(here, there, raw.nodes[kind].count),
            Adjacency(there, here, raw.nodes[other].count),
        )
        for name, ends in links.items()
        for here, there, other in _turns(raw, name, ends, kind)
    ]


def _steps(raw: Graph, kind: str, path: tuple[str, ...], links: Links) -> tuple[Adjacency, ...]:
    """Make the steps of a path from ``kind``; nothing where it does not lead back there."""
    steps = []
    for name, forward in zip(path, walked(raw.schema, kind, path) or (), strict=False):
        declared = raw.schema.edge_type(name)
        here, there = links[name] if forward else links[name][::-1]
        own = declared.source if forward else declared.target
        if declared.homogeneous and not declared.directed:
            here, there = torch.cat([here, there]), torch.cat([there, here])
        steps.append(Adjacency(here, there, raw.nodes[own].count))
    return tuple(steps)


def _turns(
    raw: Graph, name: str, ends: tuple[torch.Tensor, torch.Tensor], kind: str
) -> list[tuple[torch.Tensor, torch.Tensor, str]]:
    """List a relation's ends as seen from ``kind``: own, other, and the other's type."""
    declared = raw.schema.edge_type(name)
    turns = [(ends[0], ends[1], declared.source, declared.target)]
    turns.append((ends[1], ends[0], declared.target, declared.source))
    return [(here, there, other) for here, there, own, other in turns if own == kind]


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
