"""The parts code as an engine: this machine, one thread. It is the cheapest in CPU seconds on one machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InvalidInput
from core.graphs.columns.tables import NodeTable
from core.graphs.counted import places
from core.graphs.counted.port import BLOCK_NODES, Found, Task
from core.graphs.counted.reference import NO_COLUMN, NO_FILE, Reference
from core.graphs.ingest.universe import NodeIndex
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.schema.partable import Part
from core.graphs.stored.fingerprint import fingerprint_parts
from core.graphs.stored.parted import PART_EDGES, PartedGraph, write_parted
from core.graphs.stored.parts import Ends

BATCH_ROWS = 1 << 20


@dataclass(frozen=True)
class Here:
    """The parts code. It keeps canonical edges in ``folder``."""

    folder: Path
    part_edges: int = PART_EDGES

    def pinned(self, source: Reference) -> str:
        """Digest the content of the files, whatever their names."""
        files = _files(source)
        return places.joint(self.each(lambda number: {"sha256": places.digest(files[number])}, len(files)))

    def found(self, source: Reference, nodes: NodeTable) -> Found:
        """Look at every row once."""
        rows = loops = strangers = 0
        stranger: str | None = None
        for ends, read in _rows(source, nodes):
            strange = np.any(ends < 0, axis=0)
            rows, strangers = rows + ends.shape[1], strangers + int(strange.sum())
            loops += int(((ends[0] == ends[1]) & ~strange).sum())
            if strange.any() and stranger is None:
                row = int(np.flatnonzero(strange)[0])
                stranger = str(read[0 if ends[0, row] < 0 else 1][row].as_py())
        return Found(rows, loops, strangers, stranger)

    def canonical(self, source: Reference, nodes: NodeTable, rows: int) -> InParts:
        """Sort and merge the rows in files. O(m log m); memory of the nodes and one part."""
        schema = GraphSchema(node_types=(NodeType(count=nodes.count),), edge_types=(EdgeType(),))
        ends = ((each[0], each[1]) for each, _ in _rows(source, nodes))
        tables = {"node": NodeTable(nodes.count, nodes.ids)}
        return InParts(write_parted(schema, tables, ends, rows, self.folder, self.part_edges))

    def each(self, task: Task, count: int) -> list[Mapping[str, Any]]:
        """Do the task for every number, one after the other."""
        return [task(number) for number in range(count)]


@dataclass(frozen=True)
class InParts:
    """The canonical edges of a graph in parts."""

    graph: PartedGraph

    @property
    def parts(self) -> Sequence[Part]:
        return self.graph.parts

    def degrees(self) -> Iterator[np.ndarray]:
        """Count the edges of every node; memory of the nodes."""
        counts = np.zeros(self.graph.nodes["node"].count, dtype=np.int64)
        for ends in self._ends():
            for each in ends:
                np.add.at(counts, each, 1)
        for first in range(0, len(counts), BLOCK_NODES):
            yield counts[first : first + BLOCK_NODES]

    def pairs(self, labels: np.ndarray, groups: int) -> np.ndarray:
        """Count the edges between labels."""
        counts = np.zeros((groups, groups), dtype=np.int64)
        for source, target in self._ends():
            a, b = labels[source], labels[target]
            key = np.minimum(a, b) * groups + np.maximum(a, b)
            counts += np.bincount(key, minlength=groups * groups).reshape(groups, groups)
        return counts[np.triu_indices(groups)]

    def fingerprint(self, key: bytes) -> str:
        """Fingerprint the content."""
        rows = sum(part.rows for part in self.parts)
        return fingerprint_parts(self.graph, key, max(1, -(-rows // PART_EDGES)))

    def _ends(self) -> Iterator[Ends]:
        for cell in self.graph.cell("edge", None).groups():
            yield cell.source, cell.target


def _files(source: Reference) -> list[str]:
    if source.folder is None:
        raise InvalidInput("a table is read by an engine with a catalogue; name a folder of Parquet files")
    files = places.listed(source.folder)
    if not files:
        raise InvalidInput(NO_FILE)
    return files


def _rows(source: Reference, nodes: NodeTable) -> Iterator[tuple[np.ndarray, list[pa.ChunkedArray]]]:
    """Yield the places of both ends, (2, rows), -1 where there is no such node, with what was read."""
    index, columns = NodeIndex(NodeType(), nodes.count, nodes.ids), [source.source, source.target]
    for address in _files(source):
        files, path = places.opened(address)
        with files.open_input_file(path) as opened, pq.ParquetFile(opened) as file:
            if missing := set(columns) - set(file.schema_arrow.names):
                raise InvalidInput(NO_COLUMN.format(min(missing)))
            for batch in file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
                read = [pa.chunked_array([batch[name]]) for name in columns]
                yield np.stack([index.lookup(each) for each in read]), read
