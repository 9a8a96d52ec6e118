"""The learned half of a sound fit.

Networks on the noisy graph, then a decoder on the original's edges. Everything is read first: once the last
paid step is over, a fit that keeps its state in a folder can go on from there without the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from core.learning.devices import seeded
from core.methods.base import Progress
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import public_generator
from core.privacy.mechanisms.gradients import DpSgdSession
from papers._shared.progress import Ticks
from papers.dpggan import backbone as networks
from papers.dpggan import link_decoder
from papers.dpggan.budget import LINKS
from papers.dpggan.model import LinkModel
from papers.dpggan.networks import LATENT
from papers.dpggan.params import GanWay, LinkParams
from papers.dpggan.scores import bilinear_weights, latent_weights
from papers.dpggan.spectral import directions
from papers.dpggan.union import Union

Open = Callable[..., DpSgdSession]


def learned(
    model: LinkModel,
    open_training: Open,
    training: DpSgd,
    rng: Rng,
    progress: Progress,
    checkpoint: Path | None,
) -> LinkModel:
    """Learn scores for ``model``. ``open_training`` is ``PrivateGraph.dp_sgd`` of ``training``.

    The networks see the model's noisy graphs; the decoder sees the original's edges through ``training``.
    """
    params, seed = model.params, int(rng.integers(2**62))
    names = [name for name, _ in model.cells]
    groups = (tuple(names),) if params.joint else tuple((name,) for name in names)
    network, paid = Ticks(progress, "networks"), Ticks(progress, "decoder")
    kept: dict[str, torch.Tensor] = {}
    curves: dict[str, tuple[float, ...]] = {}
    for number, members in enumerate(groups):
        union = union_of(model, members)
        tick = network.part(number, len(groups), params.epochs)
        step = paid.part(number, len(groups), training.steps)
        with seeded(seed + number) as place:
            found = _networks(union, params, place, seed + number, tick)
            opened = _opened(open_training, members)
            if params.decoder == "bilinear":
                rows = link_decoder.unit_rows(found.mean)
                told = link_decoder.told(opened, union, rows)
                step(1)
                weights = {"rows": rows, "total": told}
            else:
                options = {"clip": params.clip, "decay": params.clip_decay}
                found.curves["decoder"] = link_decoder.trained(
                    opened, training, union, found, **options, tick=step
                )
                weights = latent_weights(found.mean, found.spread, found.decoder)
        kept |= {f"{number}.{name}": value.detach().cpu() for name, value in weights.items()}
        curves |= {_named(name, number, groups): tuple(each) for name, each in found.curves.items()}
    network.finish()
    paid.finish()
    begun = LinkModel(model.method, model.schema, model.nodes, params, model.cells, groups, kept, curves)
    deviation = float(training.noise_multiplier)
    if checkpoint is not None:
        begun.save(checkpoint, {"seed": seed, "deviation": deviation})
    return finished(begun, seed, deviation, progress)


def finished(begun: LinkModel, seed: int, deviation: float, progress: Progress) -> LinkModel:
    """Finish a fit that has paid for all its reads. Bilinear decoders are fitted here."""
    params, groups = begun.params, begun.groups
    if params.decoder != "bilinear":
        return begun
    ticks = Ticks(progress, "fit")
    weights: dict[str, torch.Tensor] = {}
    curves = dict(begun.curves)
    for number, members in enumerate(groups):
        tick = ticks.part(number, len(groups), params.fit_steps)
        union = union_of(begun, members)
        with seeded(seed + len(groups) + number) as place:
            rows, total = (begun.weights[f"{number}.{name}"].to(place) for name in ("rows", "total"))
            matrix, curve = link_decoder.fitted(total, deviation, union, rows, params.fit_steps, tick)
        found = bilinear_weights(matrix, rows)
        weights |= {f"{number}.{name}": value.cpu() for name, value in found.items()}
        curves[_named("decoder", number, groups)] = tuple(curve)
    ticks.finish()
    return LinkModel(
        begun.method, begun.schema, begun.nodes, params, begun.cells, groups, weights, curves, begun.notes
    )


def union_of(model: LinkModel, members: tuple[str, ...]) -> Union:
    """Make the union of the noisy graphs of ``members``.

    Graphs are without any edges where none was paid for.
    """
    cells = [model.cells[name, None] for name in members]
    empty = np.empty(0, dtype=np.int64)
    return Union(
        tuple(model.shape(name).source_count for name in members),
        tuple(max(1, int(columns["count"][0])) for columns in cells),
        tuple(columns.get("y", empty) for columns in cells),
    )


def _networks(
    union: Union, params: LinkParams, place: torch.device, seed: int, tick: Callable[[int], None]
) -> networks.Backbone:
    """Compute latent vectors of every node, from the noisy graphs or from chance."""
    if params.inputs == "random":
        return networks.untrained(torch.randn(union.nodes, LATENT, device=place), place)
    rng = public_generator(seed)
    parts = [directions(keys, size, LATENT, rng) for keys, size in zip(union.keys, union.sizes, strict=True)]
    found = torch.from_numpy(np.concatenate(parts))
    # Of length 1 on average, so that networks do not depend on the number of nodes.
    found = (found * (len(found) ** 0.5 / found.norm().clamp(min=1e-6))).to(place)
    if params.inputs == "spectral":
        return networks.untrained(found, place)
    weights = networks.Weights()
    if isinstance(params.way, GanWay):
        weights = networks.Weights(params.way.structure, params.way.adversarial)
    return networks.trained(union, weights, params.epochs, place, tick, found)


def _opened(open_training: Open, members: tuple[str, ...]) -> Open:
    cells = [(name, None) for name in members]

    def opened(**given: object) -> DpSgdSession:
        return open_training(cells=cells, purpose=LINKS, **given)

    return opened


def _named(name: str, number: int, groups: tuple[tuple[str, ...], ...]) -> str:
    """Name a curve: with its relation where each relation is trained by itself."""
    return name if len(groups) == 1 else f"{groups[number][0]}: {name}"
