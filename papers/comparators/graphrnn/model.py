"""The fitted model of ``graphrnn``, and its fit on the raw graph. There is no guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from core.graphs.graph import Graph
from core.learning.devices import one_thread, seeded
from core.methods._shared.frame.model import StoredCells, drawn_by_cell, load_stored
from core.methods.base import FittedModel, Parameters, Progress, Training
from core.privacy.entropy import Generator as Rng
from core.privacy.entropy import noise_generator
from papers._shared import tensor_files
from papers._shared.progress import Ticks
from papers.comparators.graphrnn.network import Network, neighbours_of, reach_of, trained, written

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.accounting.plan import CellKey
    from core.privacy.session.private_graph import PrivateGraph
    from papers.comparators.graphrnn.params import GraphRnnParams

WEIGHTS = "weights.safetensors"


@dataclass(frozen=True)
class RowsModel(StoredCells, FittedModel):
    """Cells have the columns ``network`` and ``reach`` (int64): the number of its network, and how far back
    that looks. ``weights``: by "<number>.<name>". Made without a guarantee."""

    weights: Mapping[str, torch.Tensor] = field(default_factory=dict)
    curves: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def training(self) -> Training:
        """Return the curves of the cross entropy."""
        return Training(self.curves, (), False)

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Write every relation's graph in turn."""
        with one_thread() as place:

            def edges(name: str, columns: Columns) -> np.ndarray:
                network = Network(int(columns["reach"][0])).to(place)
                network.load_state_dict(tensor_files.part(str(columns["network"][0]), self.weights))
                return written(network, self.nodes[self.schema.edge_type(name).source], rng, place)

            return drawn_by_cell(self.schema, self.nodes, self.cells, edges, rng, progress)

    def save(self, folder: Path) -> None:
        """Write the model to ``folder``. :func:`load` gives back an equal one."""
        super().save(folder)
        curves = {name: list(values) for name, values in self.curves.items()}
        tensor_files.save(folder / WEIGHTS, self.weights, {"curves": curves})


def fit_rows(
    method: str, graph: PrivateGraph, params: GraphRnnParams, progress: Progress, reason: str
) -> RowsModel:
    """Train a network for every undirected relation inside a node type that is not public, or for all
    graphs of a collection."""
    raw, rng = graph.unprotected(reason), noise_generator()
    ticks = Ticks(progress, "networks")
    taken = [each for each in raw.schema.edge_types if each.homogeneous and not each.directed]
    names = [each.name for each in taken if not each.public]
    groups = [[name] for name in names] if raw.schema.collection is None else [names] if names else []
    cells: dict[CellKey, Columns] = {}
    weights: dict[str, torch.Tensor] = {}
    curves: dict[str, tuple[float, ...]] = {}
    for number, group in enumerate(groups):
        tick = ticks.part(number, len(groups), params.steps)
        graphs = []
        for name in group:
            cell = raw.cell(name, None)
            size = raw.nodes[raw.schema.edge_type(name).source].count
            graphs.append(neighbours_of(np.stack([cell.source, cell.target], 1), size))
        reach = reach_of(graphs, rng)
        with seeded(int(rng.integers(2**62))) as place:
            network = Network(reach).to(place)
            curve = trained(graphs, network, params.steps, rng, place, tick)
        cells |= {(name, None): {"network": np.array([number]), "reach": np.array([reach])} for name in group}
        weights |= tensor_files.of_module(str(number), network.cpu())
        curves["rows" if len(groups) == 1 else f"{group[0]}: rows"] = tuple(curve)
    ticks.finish()
    counts = {kind: table.count for kind, table in raw.nodes.items()}
    return RowsModel(method, raw.schema, counts, params, cells, weights, curves)


def load(folder: Path, method: str, params: type[Parameters]) -> RowsModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    stored = load_stored(folder, method, params)
    tensors, facts = tensor_files.load(folder / WEIGHTS)
    curves = {name: tuple(values) for name, values in facts["curves"].items()}
    return RowsModel(**vars(stored), weights=tensors, curves=curves)
