"""A graph whose edges stay elsewhere. It has its universe, and exact counts of its edges.

A folder of ``schema.json``, ``nodes.parquet``, ``degrees.parquet`` and ``counts.json``: the number of edges,
and those between the labels that public attributes make, by the labels' digest. Where sides differ,
``in_degrees.parquet`` has those of targets; several cells have degrees each, by number. Every count is of the
canonical edges, so that it is what the same graph in parts or in memory answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import NotAccepted
from core.graphs.columns.tables import Cell, NodeTable
from core.graphs.counted.port import Canonical, CanonicalCell
from core.graphs.schema import GraphSchema
from core.graphs.schema.partable import Slots, cells_of, require_referable, slots_of
from core.graphs.stored.parted import PartedGraph, read_parted
from core.graphs.stored.whole import read_schema, read_universe

COUNTS, DEGREES, IN_DEGREES = "counts.json", "degrees.parquet", "in_degrees.parquet"


@dataclass(frozen=True)
class CountedEdges:
    """The exact counts of the edges of one cell. ``files``: of degrees; those of sources and of targets where
    a pair is not the same both ways."""

    count: int
    folder: Path
    between: Mapping[str, Sequence[int]]
    files: tuple[str, ...] = (DEGREES,)

    def degrees(self, side: str = "both") -> np.ndarray:
        """Read the edges of every node, at both ends or one side; int64."""
        chosen = self.files if side == "both" else (self.files[side == "target"],)
        found = [pq.read_table(self.folder / name)["degree"].to_numpy() for name in chosen]
        total: np.ndarray = sum(found[1:], start=found[0])
        return total

    def pairs(self, labels: np.ndarray, groups: int) -> np.ndarray:
        """Read the edges between labels, i <= j row by row. NotAccepted for labels that were not counted."""
        if groups == 1:
            return np.array([self.count], dtype=np.int64)
        between = self.between.get(label_digest(labels, groups))
        if between is None:
            raise NotAccepted("these labels were not counted where the edges lie", field="groups")
        return np.array(between, dtype=np.int64)

    def groups(self) -> Iterator[Cell]:
        """Refuse: the edges are not here."""
        raise NotAccepted("edges that stay elsewhere are counted, and nothing else is read", field="params")


@dataclass(frozen=True)
class CountedGraph:
    """A graph whose edges stay elsewhere. ``edges``: the counts of each cell, in their order."""

    schema: GraphSchema
    nodes: Mapping[str, NodeTable]
    edges: tuple[CountedEdges, ...]

    def cell(self, edge_type: str, step: int | None) -> CountedEdges:
        """Open one cell. KeyError where there is none."""
        declared, cells = self.schema.edge_type(edge_type), cells_of(self.schema)
        if (declared, step) not in cells:
            raise KeyError(f"edge type {edge_type!r} has no step {step}")
        return self.edges[cells.index((declared, step))]


def label_digest(labels: np.ndarray, groups: int) -> str:
    """Name a labelling by its content."""
    digest = hashlib.sha256(f"{groups}:".encode())
    # In one byte order and width, whatever machine has counted.
    digest.update(np.ascontiguousarray(labels, dtype="<i8").data)
    return digest.hexdigest()


def write_counts(
    edges: Canonical,
    schema: GraphSchema,
    nodes: Mapping[str, NodeTable],
    labellings: Mapping[str, Sequence[tuple[np.ndarray, int]]],
    folder: Path,
) -> list[int]:
    """Count the edges, beside the universe that stands in ``folder``. Returned is how many each cell has.

    ``labellings``: of each node type, labels and how many. ValueError where the engine's counts do not
    add up.
    """
    sizes, cells = {name: table.count for name, table in nodes.items()}, cells_of(schema)
    counts = []
    for number, ((relation, _), cell) in enumerate(zip(cells, edges.cells, strict=True)):
        slots, own = slots_of(relation, sizes), labellings.get(relation.source, ())
        files = [folder / name for name in _files(slots, number, len(cells))]
        counts.append(_write_cell(cell, slots, own if relation.homogeneous else (), files))
    content = counts[0] if len(counts) == 1 else {"cells": counts}
    (folder / COUNTS).write_text(json.dumps(content), encoding="utf-8")
    return [each["edges"] for each in counts]


def _files(slots: Slots, number: int, cells: int) -> tuple[str, ...]:
    """Name the files of a cell's degrees. There is one where a pair is the same both ways."""
    prefix = "" if cells == 1 else f"{number}-"
    return tuple(prefix + name for name in ((DEGREES,) if slots.mirrored else (DEGREES, IN_DEGREES)))


def _write_cell(
    cell: CanonicalCell, slots: Slots, labellings: Sequence[tuple[np.ndarray, int]], files: Sequence[Path]
) -> dict[str, Any]:
    count, column = sum(part.rows for part in cell.parts), pa.schema([("degree", pa.int64())])
    labelled = [np.zeros(groups, dtype=np.int64) for _, groups in labellings]
    for path, side in zip(files, ("both",) if slots.mirrored else ("source", "target"), strict=True):
        first = ends = 0
        with pq.ParquetWriter(path, column, compression="zstd") as file:
            for block in cell.degrees(side):
                file.write_table(pa.table({"degree": block}))
                ends += int(block.sum())
                for total, (labels, _) in zip(labelled, labellings, strict=True):
                    np.add.at(total, labels[first : first + len(block)], block)
                first += len(block)
        nodes = slots.targets if side == "target" else slots.sources
        # Each edge has two ends in one vector, or one in each of two.
        if (first, ends) != (nodes, 2 * count if slots.mirrored else count):
            raise ValueError("the engine's degrees are not those of the edges that it counted")
    between = {}
    for total, (labels, groups) in zip(labelled, labellings, strict=True):
        found = cell.pairs(labels, groups)
        matrix = np.zeros((groups, groups), dtype=np.int64)
        matrix[np.triu_indices(groups)] = found
        # A label's edges to all labels are its nodes' degrees; one inside it has both ends there.
        if not np.array_equal((matrix + matrix.T).sum(axis=1), total):
            raise ValueError("the engine's counts of labels are not those of its degrees")
        between[label_digest(labels, groups)] = found.tolist()
    return {"edges": count, "between": between}


def read_counted(folder: Path) -> CountedGraph:
    """Open a graph whose edges stay elsewhere."""
    schema, nodes = read_schema(folder), read_universe(folder)
    require_referable(schema)
    stored, cells = json.loads((folder / COUNTS).read_bytes()), cells_of(schema)
    sizes, edges = {name: table.count for name, table in nodes.items()}, []
    for number, ((relation, _), each) in enumerate(zip(cells, stored.get("cells", [stored]), strict=True)):
        files = _files(slots_of(relation, sizes), number, len(cells))
        edges.append(CountedEdges(each["edges"], folder, each["between"], files))
    return CountedGraph(schema, MappingProxyType(nodes), tuple(edges))


def open_parts(folder: Path) -> PartedGraph | CountedGraph:
    """Open what is read by counts alone: a graph in parts, or one whose edges stay elsewhere."""
    return read_counted(folder) if (folder / COUNTS).exists() else read_parted(folder)
