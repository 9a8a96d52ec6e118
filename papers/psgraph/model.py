"""The fitted PSGraph model.

Paid-for output of every step, from which graphs are sampled for free. A folder holds ``model.json`` (schema,
universe sizes, parameters and the list of cells), ``labels.parquet`` (partition after partition),
``degrees.parquet`` and ``between.parquet`` (cell after cell). Rows of labels and degrees are in node order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.graphs.graph import Graph
from core.graphs.schema import GraphSchema
from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.frame.model import drawn_by_cell
from core.methods.base import FittedModel, Progress
from core.privacy.entropy import Generator as Rng
from papers.psgraph.budget import PSGraphParams
from papers.psgraph.draw import draw
from papers.psgraph.step import StepModel

FORMAT = 1
_LABELS = pa.schema([("label", pa.int32())])
_DEGREES = pa.schema([("inside", pa.float32()), ("outside", pa.float32())])
_BETWEEN = pa.schema([("row", pa.int32()), ("column", pa.int32()), ("edges", pa.float64())])


@dataclass(frozen=True)
class PSGraphModel(FittedModel):
    """The paid-for output of every step.

    ``nodes`` are the sizes of the public universes; ``cells`` maps (relation, step) to its model.
    """

    schema: GraphSchema
    nodes: Mapping[str, int]
    params: PSGraphParams
    cells: dict[tuple[str, int | None], StepModel]

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw one synthetic graph; see :func:`drawn_by_cell`. O(steps * (n log n + k^2) + m log m)."""

        def drawn(name: str, model: StepModel) -> np.ndarray:
            return draw(model, self.params, rng)

        return drawn_by_cell(self.schema, self.nodes, self.cells, drawn, rng, progress)

    def save(self, folder: Path) -> None:
        """Write the model to ``folder``. :func:`load_model` gives back an equal one."""
        folder.mkdir(parents=True, exist_ok=True)
        models = list(self.cells.values())
        partitions = {id(model.labels): model.labels for model in models}
        number = {key: place for place, key in enumerate(partitions)}
        _write(folder / "labels.parquet", _LABELS, ([labels] for labels in partitions.values()))
        _write(folder / "degrees.parquet", _DEGREES, ([m.d_in, m.d_out] for m in models))
        _write(
            folder / "between.parquet",
            _BETWEEN,
            ([m.between.row, m.between.column, m.between.edges] for m in models),
        )
        cells = [
            {
                "edge_type": edge_type,
                "step": step,
                "edges": model.edges,
                "partition": number[id(model.labels)],
                "blocks": len(model.between.row),
                "triangles": model.triangles,
            }
            for (edge_type, step), model in self.cells.items()
        ]
        text = {
            "format": FORMAT,
            "schema": self.schema.model_dump(mode="json"),
            "nodes": dict(self.nodes),
            "params": self.params.model_dump(mode="json"),
            "cells": cells,
        }
        (folder / "model.json").write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


def load_model(folder: Path) -> PSGraphModel:
    """Read what :meth:`PSGraphModel.save` wrote. ValueError where its files contradict one another."""
    text = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    if text.get("format") != FORMAT:
        raise ValueError(f"a PSGraph model of format {text.get('format')!r} cannot be read")
    schema = GraphSchema.model_validate(text["schema"])
    rows = text["cells"]
    sizes = [text["nodes"][schema.edge_type(row["edge_type"]).source] for row in rows]
    owners = dict(sorted({row["partition"]: size for row, size in zip(rows, sizes, strict=True)}.items()))
    (label,) = _read(folder / "labels.parquet")
    labels = dict(zip(owners, _split(label, list(owners.values())), strict=True))
    inside, outside = (_split(column, sizes) for column in _read(folder / "degrees.parquet"))
    blocks = [_split(column, [row["blocks"] for row in rows]) for column in _read(folder / "between.parquet")]
    cells = {}
    for number, row in enumerate(rows):
        between = Blocks(
            blocks[0][number].astype(np.int64), blocks[1][number].astype(np.int64), blocks[2][number]
        )
        cells[row["edge_type"], row["step"]] = StepModel(
            row["edges"],
            labels[row["partition"]],
            inside[number],
            outside[number],
            between,
            row["triangles"],
        )
    return PSGraphModel(schema, text["nodes"], PSGraphParams.model_validate(text["params"]), cells)


def _write(path: Path, schema: pa.Schema, groups: Iterator[list[np.ndarray]]) -> None:
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for columns in groups:
            arrays = [pa.array(c).cast(f.type) for c, f in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _read(path: Path) -> list[np.ndarray]:
    return [column.to_numpy() for column in pq.read_table(path).columns]


def _split(column: np.ndarray, sizes: list[int]) -> list[np.ndarray]:
    if sum(sizes) != len(column):
        raise ValueError("a stored model holds another number of rows than it says")
    return np.split(column, np.cumsum(sizes)[:-1])
