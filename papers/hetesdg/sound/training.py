"""The learned half of a sound fit. A link predictor for every relation, in addition to its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from core.methods.base import Progress
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.entropy import noise_generator
from core.privacy.mechanisms.gradients import DpSgdSession
from papers._shared.progress import Ticks
from papers.hetesdg.budget import PREDICTOR
from papers.hetesdg.inputs import Inputs
from papers.hetesdg.model import HeteModel, table_of
from papers.hetesdg.sound.topo import Open, learned, rows_of_ends


def with_predictors(
    model: HeteModel,
    inputs: Mapping[str, Inputs],
    open_training: Open,
    training: DpSgd,
    progress: Progress,
) -> HeteModel:
    """Add latent vectors of every relation to ``model``.

    Each is trained by itself and paid for by its relation. With an embedding in the release they are added to
    their types' vectors. ``open_training`` is ``PrivateGraph.dp_sgd`` of ``training``.
    """
    seed = int(noise_generator().integers(2**62))
    ticks = Ticks(progress, "predictor")
    latents: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    curves: dict[str, tuple[float, ...]] = {}
    for number, ((name, step), columns) in enumerate(model.cells.items()):
        sides, table = model.sides(name), table_of(columns)
        ends = rows_of_ends(sides, table, inputs[sides.grouped], inputs[sides.counted])
        edges = max(1.0, float(table.noisy.sum()) / (2 if sides.undirected else 1))

        def opened(key: tuple[str, int | None] = (name, step), **given: object) -> DpSgdSession:
            return open_training(cells=[key], purpose=PREDICTOR, **given)

        tick = ticks.part(number, len(model.cells), training.steps)
        found = learned(opened, training, ends, edges, model.params, seed + number, tick)
        latents[name] = found.source, found.target
        curves[f"{name}: absent pairs"] = found.curve
    ticks.finish()
    vectors = {what: dict(each) for what, each in model.found.items()}
    if "embedding" in vectors:
        for name, both in latents.items():
            declared = model.schema.edge_type(name)
            for kind, latent in zip((declared.source, declared.target), both, strict=True):
                vectors["embedding"][kind] = np.concatenate([vectors["embedding"][kind], latent], axis=1)
    return replace(model, found=vectors, latents=latents, curves=curves)
