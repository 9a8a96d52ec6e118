"""The fit of ``diffusion``, on the raw graph. There is no guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from core.graphs.columns.node_places import places_of
from core.graphs.graph import Graph
from core.graphs.schema import GraphSchema, NodeType
from core.graphs.schema.node_bins import node_bins, synthesised
from core.learning.devices import seeded
from core.methods.base import Progress
from core.privacy.entropy import noise_generator
from papers._shared import tensor_files
from papers._shared.progress import Ticks
from papers.comparators.diffusion.attributes import ValueDenoiser, learned, marginals, public_inputs
from papers.comparators.diffusion.denoiser import Denoiser
from papers.comparators.diffusion.edges import Whole, communities, trained
from papers.comparators.diffusion.model import DiffusionModel, coded, families
from papers.comparators.diffusion.params import REASON, DiffusionParams

if TYPE_CHECKING:
    from core.methods._shared.frame.columns import Columns
    from core.privacy.accounting.plan import CellKey
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.private_graph import PrivateGraph

VALUE_STEPS = 500


def fit_diffusion(
    method: str, graph: PrivateGraph, params: DiffusionParams, progress: Progress
) -> DiffusionModel:
    """Train denoisers of edges and of values.

    There is one of edges for every undirected relation inside a node type that is not public, and one of
    values for every node type that has some to synthesise; the graphs of a collection share both.
    """
    raw, rng = graph.unprotected(REASON), noise_generator()
    ticks = Ticks(progress, "denoisers")
    taken = [each for each in raw.schema.edge_types if each.homogeneous and not each.directed]
    names = tuple(each.name for each in taken if not each.public)
    cells: dict[CellKey, Columns] = {}
    wholes: dict[str, Whole] = {}
    weights: dict[str, torch.Tensor] = {}
    curves: dict[str, tuple[float, ...]] = {}
    collapsed = False
    with seeded(int(rng.integers(2**62))) as place:
        inputs: dict[str, torch.Tensor] = {}
        for kinds in kinds_together(raw.schema, raw.schema.node_types):
            rows = public_inputs(kinds[0], [raw.nodes[kind.name] for kind in kinds])
            inputs |= {kind.name: torch.from_numpy(own) for kind, own in zip(kinds, rows, strict=True)}
        weights |= {f"inputs.{kind}": rows for kind, rows in inputs.items()}
        if params.node_attributes:
            for kind in raw.schema.node_types:
                if synthesised(kind):
                    own = values_of(raw, kind.name)
                    inputs[kind.name] = torch.cat(
                        [inputs[kind.name], coded(kind, own, torch.device("cpu"))], 1
                    )
        family = families(raw.schema, names)
        for name in names:
            cell = raw.cell(name, None)
            size = raw.nodes[raw.schema.edge_type(name).source].count
            keys = np.sort(cell.source.astype(np.int64) * size + cell.target)
            known = inputs[raw.schema.edge_type(name).source].to(place)
            whole = Whole(size, keys, known, np.arange(size))
            if params.told and len(keys):
                whole = replace(whole, groups=communities(whole))
            wholes[name] = whole
            cells[name, None] = {"degrees": whole.degrees.astype(np.int64), "groups": whole.groups}
        for number in sorted(set(family.values())):
            members = [name for name in names if family[name] == number]
            network = Denoiser(wholes[members[0]].inputs.shape[1], params.width).to(place)
            tick = ticks.part(number, len(set(family.values())), params.training_steps)
            graphs = [wholes[name] for name in members]
            curve, ended = trained(graphs, network, params.training_steps, rng, place, tick)
            collapsed |= ended
            weights |= tensor_files.of_module(f"edges.{number}", network)
            prefix = "" if len(set(family.values())) == 1 else f"{members[0]}: "
            curves[f"{prefix}edges"] = tuple(curve)
        counts = {kind: table.count for kind, table in raw.nodes.items()}
        notes = ("A training diverged and was ended: its last finite weights are used.",) if collapsed else ()
        kept = {name: value.detach().cpu() for name, value in weights.items()}
        model = DiffusionModel(method, raw.schema, counts, params, cells, kept, curves, notes, collapsed)
        if params.node_attributes:
            kept |= _values(raw, model, curves, rng, place)
    ticks.finish()
    return model


def kinds_together(schema: GraphSchema, kinds: Sequence[NodeType]) -> list[list[NodeType]]:
    """Group node types with equal attributes. In a collection all are one group, else each is by itself."""
    return [[*kinds]] if schema.collection is not None and kinds else [[kind] for kind in kinds]


def values_of(raw: Graph, kind: str) -> np.ndarray:
    """Return the bins of a type's synthesised attributes.

    They are int64 (n, attributes), -1 where there is no value.
    """
    table = raw.nodes[kind]
    columns = [
        places_of(each, table.attributes[each.name])
        if each.name in table.attributes
        else np.full(table.count, -1)
        for each in synthesised(raw.schema.node_type(kind))
    ]
    return np.stack(columns, 1).astype(np.int64)


def _values(
    raw: Graph,
    model: DiffusionModel,
    curves: dict[str, tuple[float, ...]],
    rng: Rng,
    place: torch.device,
) -> dict[str, torch.Tensor]:
    """Train the denoisers of values; their weights and laws."""
    found: dict[str, torch.Tensor] = {}
    groups = kinds_together(raw.schema, [kind for kind in raw.schema.node_types if synthesised(kind)])
    for group in groups:
        sizes = [node_bins(each).count for each in synthesised(group[0])]
        values = np.concatenate([values_of(raw, kind.name) for kind in group])
        degrees = np.concatenate([model.degrees_of(kind.name) for kind in group])
        inputs = torch.cat([model.weights[f"inputs.{kind.name}"] for kind in group]).to(place)
        law = marginals(values, sizes)
        network = ValueDenoiser(sizes, inputs.shape[1]).to(place)
        curve = learned(values, degrees, inputs, network, law, VALUE_STEPS, rng, lambda done: None)
        curves["values" if len(groups) == 1 else f"{group[0].name}: values"] = tuple(curve)
        found |= tensor_files.of_module(f"values.{group[0].name}", network)
        found |= {
            f"law.{kind.name}.{k}": torch.from_numpy(each) for kind in group for k, each in enumerate(law)
        }
    return {name: value.detach().cpu() for name, value in found.items()}
