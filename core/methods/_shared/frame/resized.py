"""A fitted law at another number of nodes. Post-processing: it sees a model, and no graph.

Every node of the larger or smaller universe repeats one of the model's: its degree, its label. Counts over
edges and triangles grow with the nodes, so that degrees, their mean, clustering and communities' shares stay
as they were measured, and the density falls as nodes are added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from core.graphs.schema import GraphSchema
from core.methods._shared.frame.columns import Columns
from core.methods._shared.frame.model import CellsModel
from core.privacy.entropy import Generator as Rng

Law = Callable[["Columns", np.ndarray], "Columns"]
"""The columns of a cell whose source nodes repeat those of ``origins`` (n,), indices into the present."""


def repeated(count: int, wanted: int, rng: Rng) -> np.ndarray:
    """Choose which nodes to repeat: ``wanted`` of ``count``, sorted.

    Each is repeated as often as any, or once more. Which are repeated once more is chance.
    """
    whole, rest = divmod(wanted, count)
    # Sorted, so that copies of one node stand together.
    return np.sort(np.concatenate([np.tile(np.arange(count), whole), rng.permutation(count)[:rest]]))


def schema_of(schema: GraphSchema, nodes: Mapping[str, int]) -> GraphSchema:
    """Declare other sizes of the universes. Bounds on edges and degrees were facts of the original's."""
    kinds = tuple(
        kind.model_copy(update={"count": nodes[kind.name], "degree_bound": None})
        for kind in schema.node_types
    )
    edges = tuple(each.model_copy(update={"edge_bound": None}) for each in schema.edge_types)
    return schema.model_copy(update={"node_types": kinds, "edge_types": edges})


def cells_resized(model: CellsModel, origins: Mapping[str, np.ndarray], law: Law) -> CellsModel:
    """Return the model of the same cells over other nodes. ``origins`` names these by type."""
    nodes = {kind: len(rows) for kind, rows in origins.items()}
    cells = {
        (name, step): law(columns, origins[model.schema.edge_type(name).source])
        for (name, step), columns in model.cells.items()
    }
    return replace(model, schema=schema_of(model.schema, nodes), nodes=nodes, cells=cells)


def degrees_of(degrees: np.ndarray, origins: np.ndarray) -> np.ndarray:
    """Give each node its origin's degree. It has at most as many as there are other nodes."""
    most = np.asarray(max(len(origins) - 1, 0), dtype=degrees.dtype)
    return np.asarray(np.minimum(degrees[origins], most))
