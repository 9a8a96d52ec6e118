"""A graph whose edges stay elsewhere. It has its universe, and exact counts of its edges.

A folder of ``schema.json``, ``nodes.parquet``, ``degrees.parquet`` and ``counts.json``: the number of edges,
and those between the labels that public attributes make, by the labels' digest. Every count is of the
canonical edges, so that it is what the same graph in parts or in memory answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import NotAccepted
from core.graphs.columns.tables import Cell, NodeTable
from core.graphs.counted.port import Canonical
from core.graphs.schema import GraphSchema
from core.graphs.schema.partable import only_relation
from core.graphs.stored.parted import PartedGraph, read_parted
from core.graphs.stored.whole import read_schema, read_universe

COUNTS, DEGREES = "counts.json", "degrees.parquet"


@dataclass(frozen=True)
class CountedEdges:
    """The exact counts of the edges of the only cell."""

    count: int
    nodes: int
    folder: Path
    between: Mapping[str, Sequence[int]]

    def degrees(self) -> np.ndarray:
        """Read the edges of every node; int64."""
        found: np.ndarray = pq.read_table(self.folder / DEGREES)["degree"].to_numpy()
        return found

    def pairs(self, labels: np.ndarray, groups: int) -> np.ndarray:
        """Read the edges between labels, i <= j row by row. NotAccepted for labels that were not counted."""
        if groups == 1:
            return np.array([self.count], dtype=np.int64)
        told = self.between.get(label_digest(labels, groups))
        if told is None:
            raise NotAccepted("these labels were not counted where the edges lie", field="groups")
        return np.array(told, dtype=np.int64)

    def groups(self) -> Iterator[Cell]:
        """Refuse: the edges are not here."""
        raise NotAccepted("edges that stay elsewhere are counted, and nothing else is read", field="params")


@dataclass(frozen=True)
class CountedGraph:
    """A graph of one undirected relation whose edges stay elsewhere."""

    schema: GraphSchema
    nodes: Mapping[str, NodeTable]
    edges: CountedEdges

    def cell(self, edge_type: str, step: int | None) -> CountedEdges:
        """Open the only cell."""
        self.schema.edge_type(edge_type)
        if step is not None:
            raise KeyError(f"edge type {edge_type!r} has no step {step}")
        return self.edges


def label_digest(labels: np.ndarray, groups: int) -> str:
    """Name a labelling by its content."""
    content = np.ascontiguousarray(labels, dtype="<i8")
    return hashlib.sha256(f"{groups}:".encode() + content.tobytes()).hexdigest()


def write_counts(
    edges: Canonical, nodes: int, labellings: Sequence[tuple[np.ndarray, int]], folder: Path
) -> int:
    """Count the edges, beside the universe that stands in ``folder``. Returned is how many there are.

    ``labellings``: labels, and how many. ValueError where the engine's counts do not add up.
    """
    count, ends = sum(part.rows for part in edges.parts), 0
    labelled = [np.zeros(groups, dtype=np.int64) for _, groups in labellings]
    with pq.ParquetWriter(folder / DEGREES, pa.schema([("degree", pa.int64())]), compression="zstd") as file:
        first = 0
        for block in edges.degrees():
            file.write_table(pa.table({"degree": block}))
            ends += int(block.sum())
            for total, (labels, _) in zip(labelled, labellings, strict=True):
                np.add.at(total, labels[first : first + len(block)], block)
            first += len(block)
    if (first, ends) != (nodes, 2 * count):
        raise ValueError("the engine's degrees are not those of the edges that it counted")
    between = {}
    for total, (labels, groups) in zip(labelled, labellings, strict=True):
        found = edges.pairs(labels, groups)
        matrix = np.zeros((groups, groups), dtype=np.int64)
        matrix[np.triu_indices(groups)] = found
        if not np.array_equal((matrix + matrix.T).sum(axis=1), total):
            raise ValueError("the engine's counts of labels are not those of its degrees")
        between[label_digest(labels, groups)] = found.tolist()
    (folder / COUNTS).write_text(json.dumps({"edges": count, "between": between}), encoding="utf-8")
    return count


def read_counted(folder: Path) -> CountedGraph:
    """Open a graph whose edges stay elsewhere."""
    schema, nodes = read_schema(folder), read_universe(folder)
    told = json.loads((folder / COUNTS).read_bytes())
    count = nodes[only_relation(schema).source].count
    edges = CountedEdges(told["edges"], count, folder, told["between"])
    return CountedGraph(schema, MappingProxyType(nodes), edges)


def open_parts(folder: Path) -> PartedGraph | CountedGraph:
    """Open what is read by counts alone: a graph in parts, or one whose edges stay elsewhere."""
    return read_counted(folder) if (folder / COUNTS).exists() else read_parted(folder)
