"""The fitted model of ``dpggan`` and its relatives. What was paid for in every relation, and scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.graphs.graph import Graph
from core.methods._shared.frame.model import StoredCells, drawn_by_cell, load_stored
from core.methods.base import FittedModel, Parameters, Progress, Training
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import Generator as Rng
from papers.dpggan.draw import Scores, draw, largest

if TYPE_CHECKING:
    import torch

    from core.methods._shared.frame.columns import Columns
    from papers.dpggan.params import LinkParams

WEIGHTS = "weights.safetensors"


@dataclass(frozen=True)
class LinkModel(StoredCells, FittedModel):
    """Paid-for output only in variant sound.

    Cells have the columns of ``degree_triangle`` (or ``count`` alone), ``y`` and ``flips``: the noisy graph.
    ``weights``: by "<group>.<name>", where group numbers the trainings; ``groups``: the relations of each.
    """

    params: LinkParams
    groups: tuple[tuple[str, ...], ...] = ()
    weights: Mapping[str, torch.Tensor] = field(default_factory=dict)
    curves: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def training(self) -> Training:
        """Return the learning curves and notes for the reader."""
        return Training(self.curves, self.notes)

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw one synthetic graph; see :func:`drawn_by_cell`."""
        scores = self._scores(rng)

        def drawn(name: str, columns: Columns) -> np.ndarray:
            shape, own = self.shape(name), scores.get((name, None))
            if own is not None and self._takes_the_largest():
                return largest(own, shape.source_count, int(columns["count"][0]))
            return draw(columns, shape, self.params, own, rng)

        return drawn_by_cell(self.schema, self.nodes, self.cells, drawn, rng, progress)

    def _takes_the_largest(self) -> bool:
        """Tell whether edges are the pairs of the largest scores, as published."""
        published = getattr(self.params, "variant", None) == "paper"
        return published or getattr(self.params, "draw", None) == "largest"

    def _scores(self, rng: Rng) -> dict[CellKey, Scores]:
        """Compute every relation's rows, drawn anew where they are random."""
        if not self.groups:
            return {}
        from papers.dpggan.scores import scores_of

        found: dict[CellKey, Scores] = {}
        for number, names in enumerate(self.groups):
            prefix = f"{number}."
            weights = {k[len(prefix) :]: v for k, v in self.weights.items() if k.startswith(prefix)}
            left, right = scores_of(weights, rng)
            ends = np.cumsum([self.shape(name).source_count for name in names])[:-1]
            for name, a, b in zip(names, np.split(left, ends), np.split(right, ends), strict=True):
                found[name, None] = a, b
        return found

    def save(self, folder: Path, facts: Mapping[str, Any] | None = None) -> None:
        """Write the model and JSON-able ``facts`` to ``folder``. :func:`load` gives back an equal one."""
        from papers._shared import tensor_files

        super().save(folder)
        known = {
            **(facts or {}),
            "groups": [list(names) for names in self.groups],
            "curves": {name: list(values) for name, values in self.curves.items()},
            "notes": list(self.notes),
        }
        tensor_files.save(folder / WEIGHTS, self.weights, known)


def facts_of(folder: Path) -> dict[str, Any]:
    """Read the facts that a model was saved with."""
    from papers._shared import tensor_files

    return tensor_files.load(folder / WEIGHTS)[1]


def load(folder: Path, method: str, params: type[Parameters]) -> LinkModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    from papers._shared import tensor_files

    stored = load_stored(folder, method, params)
    tensors, facts = tensor_files.load(folder / WEIGHTS)
    return LinkModel(
        **vars(stored),
        groups=tuple(tuple(names) for names in facts["groups"]),
        weights=tensors,
        curves={name: tuple(values) for name, values in facts["curves"].items()},
        notes=tuple(facts["notes"]),
    )
