"""The fitted model of ``diffusion``. Degrees, denoisers, and how a graph is sampled from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from core.graphs.graph import Graph
from core.graphs.schema import GraphSchema
from core.graphs.schema.node_bins import node_bins, synthesised
from core.learning.devices import one_thread
from core.methods._shared.frame.model import StoredCells, drawn_by_cell, load_stored
from core.methods._shared.node_values.model import with_values
from core.methods.base import FittedModel, Parameters, Progress, Training
from core.privacy.entropy import Generator as Rng
from papers._shared import tensor_files
from papers.comparators.diffusion.attributes import ValueDenoiser, dealt, one_hot
from papers.comparators.diffusion.denoiser import Denoiser
from papers.comparators.diffusion.edges import drawn

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from papers.comparators.diffusion.params import DiffusionParams

WEIGHTS = "weights.safetensors"


def families(schema: GraphSchema, names: tuple[str, ...]) -> dict[str, int]:
    """Number the relations by the denoiser that they share.

    It is one for a collection, else each has its own.
    """
    return {name: 0 if schema.collection is not None else k for k, name in enumerate(names)}


@dataclass(frozen=True)
class DiffusionModel(StoredCells, FittedModel):
    """Cells have the columns ``degrees`` and ``groups`` (int64), every node's. Made without a guarantee.

    ``weights``: by "edges.<family>.<name>" and "values.<node type or family>.<name>" the networks, by
    "inputs.<node type>" what is public of nodes, by "law.<node type>.<attribute>" the frequencies of bins.
    """

    params: DiffusionParams
    weights: Mapping[str, torch.Tensor] = field(default_factory=dict)
    curves: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    collapsed: bool = False

    def training(self) -> Training:
        """Return the curves, and whether a training diverged."""
        return Training(self.curves, self.notes, self.collapsed)

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Sample values of nodes, then edges by them. Edges are sampled relation by relation."""
        with one_thread() as place:
            inputs, values = {}, {}
            for kind in self.schema.node_types:
                known = self.weights[f"inputs.{kind.name}"].to(place)
                if self.params.node_attributes and synthesised(kind):
                    values[kind.name] = self._values(kind.name, known, rng, place)
                    known = torch.cat([known, coded(kind, values[kind.name], place)], 1)
                inputs[kind.name] = known

            def edges(name: str, columns: Columns) -> np.ndarray:
                relation = self.schema.edge_type(name)
                own = inputs[relation.source]
                network = Denoiser(own.shape[1], self.params.width).to(place)
                family = families(self.schema, tuple(each for each, _ in self.cells))[name]
                network.load_state_dict(self._of(f"edges.{family}", place))
                known = columns["degrees"], own, columns["groups"]
                return drawn(*known, network, self.params.steps, rng, place)

            graph = drawn_by_cell(self.schema, self.nodes, self.cells, edges, rng, progress)
        named = {
            kind.name: {
                each.name: values[kind.name][:, k].astype(np.int32)
                for k, each in enumerate(synthesised(kind))
            }
            for kind in self.schema.node_types
            if kind.name in values
        }
        return with_values(graph, named, rng)

    def degrees_of(self, kind: str) -> np.ndarray:
        """Sum a type's degrees over all relations."""
        return sum(
            (
                columns["degrees"]
                for (name, _), columns in self.cells.items()
                if self.schema.edge_type(name).source == kind
            ),
            start=np.zeros(self.nodes[kind], dtype=np.int64),
        )

    def _values(self, kind: str, inputs: torch.Tensor, rng: Rng, place: torch.device) -> np.ndarray:
        sizes = [node_bins(each).count for each in synthesised(self.schema.node_type(kind))]
        network = ValueDenoiser(sizes, inputs.shape[1]).to(place)
        network.load_state_dict(self._of(f"values.{_shared(self.schema, kind)}", place))
        law = [self.weights[f"law.{kind}.{k}"].numpy() for k in range(len(sizes))]
        return dealt(self.degrees_of(kind), inputs, network, law, rng)

    def _of(self, prefix: str, place: torch.device) -> dict[str, torch.Tensor]:
        return {name: value.to(place) for name, value in tensor_files.part(prefix, self.weights).items()}

    def save(self, folder: Path) -> None:
        """Write the model to ``folder``. :func:`load` gives back an equal one."""
        super().save(folder)
        facts: dict[str, Any] = {
            "curves": {name: list(values) for name, values in self.curves.items()},
            "notes": list(self.notes),
            "collapsed": self.collapsed,
        }
        tensor_files.save(folder / WEIGHTS, self.weights, facts)


def _shared(schema: GraphSchema, kind: str) -> str:
    """The name of the network of a node type's values: that of the first one in a collection."""
    return kind if schema.collection is None else schema.node_types[0].name


def coded(kind: Any, values: np.ndarray, place: torch.device) -> torch.Tensor:
    """Encode a type's synthesised bins as zeros and ones."""
    sizes = [node_bins(each).count for each in synthesised(kind)]
    return one_hot(torch.from_numpy(values), sizes).to(place)


def load(folder: Path, method: str, params: type[Parameters]) -> DiffusionModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    stored = load_stored(folder, method, params)
    tensors, facts = tensor_files.load(folder / WEIGHTS)
    return DiffusionModel(
        **vars(stored),
        weights=tensors,
        curves={name: tuple(values) for name, values in facts["curves"].items()},
        notes=tuple(facts["notes"]),
        collapsed=facts["collapsed"],
    )
