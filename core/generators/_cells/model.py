"""A fitted model that is a perturbed graph: the edges of every cell as they came out of the mechanism.

A folder holds ``model.json`` (schema, universe sizes, the list of cells) and ``edges.parquet`` (the ends,
cell after cell).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.generators.base import Progress
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import GraphSchema
from core.privacy.entropy import Generator as Rng

FORMAT = 1
_EDGES = pa.schema([("source", pa.int64()), ("target", pa.int64())])

Ends = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class DrawnModel:
    """``nodes``: sizes of the public universes. ``cells``: (source, target) int64 of every cell."""

    schema: GraphSchema
    nodes: Mapping[str, int]
    cells: dict[tuple[str, int | None], Ends]

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """The perturbed graph over the same universe, nodes aligned by index and without ids.

        All randomness was spent at fit: every draw gives the same graph, and none costs anything. O(m log m).
        """
        parts: dict[str, list[tuple[int | None, Ends]]] = {}
        for done, ((edge_type, step), ends) in enumerate(self.cells.items()):
            progress("sample", done, len(self.cells))
            parts.setdefault(edge_type, []).append((step, ends))
        edges = {name: edge_table(drawn) for name, drawn in parts.items()}
        progress("sample", len(self.cells), len(self.cells))
        return Graph.build(self.schema, {name: NodeTable(n) for name, n in self.nodes.items()}, edges)

    def save(self, folder: Path) -> None:
        """``folder`` holds the model; :func:`load_model` gives back an equal one."""
        folder.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(folder / "edges.parquet", _EDGES, compression="zstd") as writer:
            for ends in self.cells.values():
                columns = [pa.array(np.asarray(column, dtype=np.int64)) for column in ends]
                writer.write_table(pa.Table.from_arrays(columns, schema=_EDGES))
        text = {
            "format": FORMAT,
            "schema": self.schema.model_dump(mode="json"),
            "nodes": dict(self.nodes),
            "cells": [
                {"edge_type": edge_type, "step": step, "edges": len(source)}
                for (edge_type, step), (source, _) in self.cells.items()
            ],
        }
        (folder / "model.json").write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


def edge_table(drawn: list[tuple[int | None, Ends]]) -> EdgeTable:
    """One relation's edges, from its steps (or its only cell, without time)."""
    source = np.concatenate([ends[0] for _, ends in drawn])
    target = np.concatenate([ends[1] for _, ends in drawn])
    if drawn[0][0] is None:
        return EdgeTable(source, target)
    steps = [np.full(len(ends[0]), step, dtype=np.int32) for step, ends in drawn]
    return EdgeTable(source, target, np.concatenate(steps))


def load_model(folder: Path) -> DrawnModel:
    """The model that :meth:`DrawnModel.save` wrote; ValueError where its files contradict one another."""
    text = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    if text.get("format") != FORMAT:
        raise ValueError(f"a perturbed graph of format {text.get('format')!r} cannot be read")
    sizes = [row["edges"] for row in text["cells"]]
    columns = [column.to_numpy() for column in pq.read_table(folder / "edges.parquet").columns]
    if any(sum(sizes) != len(column) for column in columns):
        raise ValueError("a stored model holds another number of edges than it says")
    source, target = (np.split(column, np.cumsum(sizes)[:-1]) for column in columns)
    cells = {
        (row["edge_type"], row["step"]): (source[number], target[number])
        for number, row in enumerate(text["cells"])
    }
    return DrawnModel(GraphSchema.model_validate(text["schema"]), text["nodes"], cells)
