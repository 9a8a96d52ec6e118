"""The fitted model of a per-cell method.

It is named noisy columns of every cell, and how to sample from them. A folder holds ``model.json`` (method,
schema, universe sizes, parameters, cells and their column lengths) and one Parquet file per column, cell
after cell. Each file carries one random salt: the digests of a model's files stand in the ledger for good,
and where a model holds edges (lazy evidence), nobody may try out graphs against them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import GraphSchema
from core.methods._shared.frame.columns import Columns, Draw
from core.methods._shared.frame.declared import drawn_graph
from core.methods.base import FittedModel, Parameters, Progress
from core.privacy import entropy
from core.privacy.accounting.plan import CellKey
from core.privacy.entropy import Generator as Rng
from core.privacy.queries import Shape

Cell = TypeVar("Cell")

FORMAT = 1
SALT_BYTES = 32
PIECE = 1 << 20  # keys that are taken apart at a time


@dataclass(frozen=True)
class StoredCells:
    """The columns of every cell, as a folder keeps them. ``cells`` maps (relation, step) to its columns, of
    the same names in every cell; ``nodes`` are the universes."""

    method: str
    schema: GraphSchema
    nodes: Mapping[str, int]
    params: Parameters
    cells: dict[tuple[str, int | None], Columns]

    def shape(self, edge_type: str) -> Shape:
        """Return the public shape of a relation's cells."""
        relation = self.schema.edge_type(edge_type)
        return Shape(relation, self.nodes[relation.source], self.nodes[relation.target])

    def save(self, folder: Path) -> None:
        """Write the cells to ``folder``.

        :func:`load_stored` gives back equal ones. No two savings' files are equal.
        """
        folder.mkdir(parents=True, exist_ok=True)
        salt = entropy.noise_generator().bytes(SALT_BYTES).hex()
        names = list(next(iter(self.cells.values())))
        for name in names:
            column = np.concatenate([columns[name] for columns in self.cells.values()])
            table = pa.table({name: column}, metadata={"salt": salt})
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
        text = {
            "format": FORMAT,
            "salt": salt,
            "method": self.method,
            "schema": self.schema.model_dump(mode="json"),
            "nodes": dict(self.nodes),
            "params": self.params.model_dump(mode="json"),
            "cells": [
                {"edge_type": name, "step": step, "rows": {k: len(v) for k, v in columns.items()}}
                for (name, step), columns in self.cells.items()
            ],
        }
        (folder / "model.json").write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class CellsModel(StoredCells, FittedModel):
    """Paid-for columns, and how each cell is sampled.

    Nothing else is kept; each cell is sampled from its own.
    """

    draw: Draw

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw one synthetic graph; see :func:`drawn_by_cell`."""

        def draw(name: str, columns: Columns) -> np.ndarray:
            return self.draw(columns, self.shape(name).source_count, self.params, rng)

        return drawn_by_cell(self.schema, self.nodes, self.cells, draw, rng, progress)


def drawn_by_cell(
    schema: GraphSchema,
    nodes: Mapping[str, int],
    cells: Mapping[CellKey, Cell],
    draw: Callable[[str, Cell], np.ndarray],
    rng: Rng,
    progress: Progress,
) -> Graph:
    """Sample every cell in turn and join them to one graph.

    It is over the universes, aligned by index, without ids. ``draw(relation, cell)``: sorted keys, as for
    :func:`edge_table`. The same ``rng`` state gives the same graph.
    """
    drawn: dict[str, list[tuple[int | None, np.ndarray]]] = {}
    for done, ((name, step), cell) in enumerate(cells.items()):
        progress("sample", done, len(cells))
        drawn.setdefault(name, []).append((step, draw(name, cell)))
    progress("sample", len(cells), len(cells))
    edges = {name: edge_table(keys, nodes[schema.edge_type(name).target]) for name, keys in drawn.items()}
    return drawn_graph(schema, nodes, edges, rng)


def same_columns(cells: Mapping[CellKey, Columns]) -> dict[CellKey, Columns]:
    """Give each of ``cells`` the same columns, in one order. Those that a cell lacks are empty."""
    kinds: dict[str, np.dtype] = {}
    for columns in cells.values():
        for name, values in columns.items():
            kinds.setdefault(name, values.dtype)
    return {
        cell: {name: columns.get(name, np.empty(0, dtype=kind)) for name, kind in sorted(kinds.items())}
        for cell, columns in cells.items()
    }


def edge_table(drawn: list[tuple[int | None, np.ndarray]], targets: int) -> EdgeTable:
    """Build one relation's edges from the keys of its steps.

    Keys are ``source * targets + target``, of its steps or only cell. Columns are fresh and read-only, int32
    where numbers are that small: 8 bytes an edge and no more.
    """
    edges, last = sum(len(keys) for _, keys in drawn), max((int(keys.max(initial=0)) for _, keys in drawn))
    # ``last`` holds the largest source as its quotient.
    width = np.int32 if max(last // max(targets, 1), targets) <= np.iinfo(np.int32).max else np.int64
    source, target = np.empty(edges, dtype=width), np.empty(edges, dtype=width)
    done = 0
    for _, keys in drawn:
        # In pieces: np.divmod makes two int64 arrays as long as what it is given.
        for first in range(0, len(keys), PIECE):
            piece = keys[first : first + PIECE]
            rows = slice(done, done + len(piece))
            source[rows], target[rows] = np.divmod(piece, targets)
            done += len(piece)
    source.flags.writeable = target.flags.writeable = False
    if drawn[0][0] is None:
        return EdgeTable(source, target)
    steps = [np.full(len(keys), step, dtype=np.int32) for step, keys in drawn]
    return EdgeTable(source, target, np.concatenate(steps))


def load_cells(folder: Path, method: str, params: type[Parameters], draw: Draw) -> CellsModel:
    """Read the model that its ``save`` wrote. ValueError where its files contradict one another."""
    return CellsModel(**vars(load_stored(folder, method, params)), draw=draw)


def load_stored(folder: Path, method: str, params: type[Parameters]) -> StoredCells:
    """Read cells that :meth:`StoredCells.save` wrote. ValueError where its files contradict one another."""
    text = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    # Closed by default: an unknown format is refused, not guessed at.
    if text.get("format") != FORMAT or text.get("method") != method:
        raise ValueError(f"not a stored model of {method} in a format that can be read")
    rows = text["cells"]
    cells: dict[tuple[str, int | None], dict[str, np.ndarray]] = {
        (row["edge_type"], row["step"]): {} for row in rows
    }
    for name in rows[0]["rows"]:
        column = pq.read_table(folder / f"{name}.parquet").column(name).to_numpy()
        ends = np.cumsum([row["rows"][name] for row in rows])
        if ends[-1] != len(column):
            raise ValueError("a stored model holds another number of rows than it says")
        for part, values in zip(cells.values(), np.split(column, ends[:-1]), strict=True):
            part[name] = values
    schema = GraphSchema.model_validate(text["schema"])
    return StoredCells(method, schema, text["nodes"], params.model_validate(text["params"]), dict(cells))
