"""Fits that read the raw graph, under no guarantee. They are the published algorithm, and the backbones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from core.learning.devices import seeded
from core.methods.base import Parameters, Progress
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import noise_generator
from papers._shared.progress import Ticks
from papers.dpggan import backbone as networks
from papers.dpggan import paper
from papers.dpggan.algorithm1 import Published, Settings, published
from papers.dpggan.model import LinkModel
from papers.dpggan.params import GanBackboneParams, GanWay, LinkParams
from papers.dpggan.scores import latent_weights
from papers.dpggan.union import Union

if TYPE_CHECKING:
    from core.graphs.graph import Graph
    from core.privacy.session.private_graph import PrivateGraph

REPEATED = (
    "Edges come from the encoder's output, which has no noise: most may be edges of the original. How many "
    "are is for its curators, whose comparison counts them."
)

Train = Callable[[Union, torch.device, Callable[[int], None]], tuple[dict[str, torch.Tensor], dict[str, Any]]]


def fit_paper(method: str, graph: PrivateGraph, params: LinkParams, progress: Progress) -> LinkModel:
    """Run Algorithm 1 on every relation that is not public. What its calibration comes to is noted."""
    raw = graph.unprotected(paper.REASON)
    settings = _settings(params)
    of_prior = params.latent == "prior"

    def train(
        union: Union, place: torch.device, tick: Callable[[int], None]
    ) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        found: Published = published(union, settings, place, tick)
        return latent_weights(found.mean, found.spread, found.decoder, prior=of_prior), found.curves

    notes = [f"{settings.steps} steps were made, as was set; no epsilon of the paper's is behind them."]
    if params.way.calibrated:
        notes = [
            f"The paper's calibration gives {_calibrated(params)} steps at its epsilon "
            f"{params.claimed_epsilon:g}; {settings.steps} were made."
        ]
    if not of_prior:
        notes.append(REPEATED)
    return _model(method, raw, params, settings.steps, train, tuple(notes), progress)


def _calibrated(params: LinkParams) -> int:
    return paper.calibrated_steps(params.claimed_epsilon, params.way.noise_scale, params.way.node_rate)


def _settings(params: LinkParams) -> Settings:
    """Return what Algorithm 1 goes by. dpgvae has no discriminator."""
    way = params.way
    gan = way if isinstance(way, GanWay) else None
    steps = params.most_steps
    return Settings(
        steps=min(_calibrated(params), steps) if way.calibrated else steps,
        rate=way.node_rate,
        noise=way.noise_scale,
        clip=way.node_clip,
        decay=way.node_clip_decay,
        learning_rate=way.learning_rate,
        prior_weight=way.prior_weight,
        adversarial=gan.adversarial if gan else 0.0,
        links=gan is None or gan.reconstruction == "both",
        views=gan is not None,
        plain=way.updates == "plain",
        printed=way.equations == "paper",
        total=gan is not None and gan.graph_vector == "sum",
        offset=way.offset,
    )


def fit_backbone(method: str, graph: PrivateGraph, params: Parameters, progress: Progress) -> LinkModel:
    """Train GVAE or GGAN on every relation that is not public. Graphs come from the encoder's output."""
    raw = graph.unprotected(paper.BACKBONE_REASON)
    weights, epochs = networks.Weights(), params.epochs  # type: ignore[attr-defined]
    if isinstance(params, GanBackboneParams):
        weights = networks.Weights(params.structure, params.adversarial)

    def train(
        union: Union, place: torch.device, tick: Callable[[int], None]
    ) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
        found = networks.trained(union, weights, epochs, place, tick)
        return latent_weights(found.mean, found.spread, found.decoder), found.curves

    return _model(method, raw, params, epochs, train, (), progress)


def _model(
    method: str,
    raw: Graph,
    params: Parameters,
    steps: int,
    train: Train,
    notes: tuple[str, ...],
    progress: Progress,
) -> LinkModel:
    """Train every relation of the sort that the methods take, if it is not public, by itself."""
    taken = [each for each in raw.schema.edge_types if each.homogeneous and not each.directed]
    names = [each.name for each in taken if not each.public]
    seed = int(noise_generator().integers(2**62))
    ticks = Ticks(progress, "networks")
    cells: dict[CellKey, dict[str, np.ndarray]] = {}
    weights: dict[str, torch.Tensor] = {}
    curves: dict[str, tuple[float, ...]] = {}
    for number, name in enumerate(names):
        tick = ticks.part(number, len(names), steps)
        cell = raw.cell(name, None)
        size = raw.nodes[raw.schema.edge_type(name).source].count
        keys = np.sort(cell.source.astype(np.int64) * size + cell.target)
        cells[name, None] = {"count": np.array([len(keys)], dtype=np.int64)}
        with seeded(seed + number) as place:
            found, drawn = train(Union((size,), (max(len(keys), 1),), (keys,)), place, tick)
        weights |= {f"{number}.{key}": value.detach().cpu() for key, value in found.items()}
        prefix = "" if len(names) == 1 else f"{name}: "
        curves |= {prefix + key: tuple(values) for key, values in drawn.items()}
    ticks.finish()
    counts = {kind: table.count for kind, table in raw.nodes.items()}
    groups = tuple((name,) for name in names)
    return LinkModel(method, raw.schema, counts, params, cells, groups, weights, curves, notes)  # type: ignore[arg-type]
