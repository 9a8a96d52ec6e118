"""What a fit has read, before anything is learned. It can be kept, and a training gone on with from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from core.errors import InvalidInput
from core.methods._shared.frame.model import StoredCells, load_stored
from core.privacy.accounting.plan import CellKey
from papers._shared import tensor_files
from papers._shared.walks.layout import Layout
from papers.thepuff.params import ThepuffParams
from papers.thepuff.snapshots import Snapshots

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns

CELLS = "cells"
KEYS = "keys.safetensors"
TRAINING = "training.safetensors"


@dataclass(frozen=True)
class Paid(StoredCells):
    """The paid-for answers of a fit.

    In variant sound there are no others; in variant paper it is the perturbed graph, under no guarantee.

    ``cells`` have the columns of :class:`papers.thepuff.model.ThepuffModel`; ``keys`` are the sorted
    keys of every cell of the perturbed graph. ``edge_types``: the relations, in the plan's order. ``seed`` is
    that of the training, and ``notes`` are for the report.
    """

    params: ThepuffParams
    edge_types: tuple[str, ...]
    keys: dict[CellKey, np.ndarray]
    seed: int
    notes: tuple[str, ...]

    @property
    def layout(self) -> Layout:
        """The public half of the graph."""
        return Layout.of(self.schema, self.nodes, self.edge_types)

    def snapshots(self) -> Snapshots:
        """Build the perturbed graph with paid counts and degrees."""
        learned = [cell for cell, _ in self.layout.cells(learned=True)]
        counts = {cell: int(self.cells[cell]["count"][0]) for cell in learned}
        degrees = None
        if self.params.variant == "sound" and self.params.bias == "paid":
            degrees = {cell: _sides(self.cells[cell]) for cell in learned}
        return Snapshots.of(self.layout, self.keys, counts, degrees)

    def save(self, folder: Path) -> None:
        """Write what was paid for to ``folder``, its keys last. :func:`load` gives back an equal one."""
        super().save(folder / CELLS)
        ordered = [torch.from_numpy(self.keys[cell]) for cell in self.cells]
        facts = {"edge_types": list(self.edge_types), "seed": self.seed, "notes": list(self.notes)}
        tensor_files.save(folder / KEYS, {str(at): keys for at, keys in enumerate(ordered)}, facts)


def load(folder: Path, method: str) -> Paid:
    """Read what :meth:`Paid.save` kept of a fit.

    Its training can go on without reading the graph. Raises InvalidInput where it cannot: ``folder`` holds no
    such fit, or one that ended before all that it had to read was read.
    """
    if not (folder / KEYS).exists() or not (folder / TRAINING).exists():
        raise InvalidInput("the folder holds no training that can go on", field="checkpoint")
    stored = load_stored(folder / CELLS, method, ThepuffParams)
    tensors, facts = tensor_files.load(folder / KEYS)
    keys = {cell: tensors[str(at)].numpy() for at, cell in enumerate(stored.cells)}
    told = {"seed": facts["seed"], "notes": tuple(facts["notes"])}
    return Paid(**vars(stored), edge_types=tuple(facts["edge_types"]), keys=keys, **told)


def _sides(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return the degrees of both sides; twice the one vector of an undirected cell."""
    source, target = columns["source_degrees"], columns["target_degrees"]
    return source, target if len(target) else source
