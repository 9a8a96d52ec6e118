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
from core.graphs.counted.port import BLOCK_NODES, Found, Sides, Task
from core.graphs.counted.reference import NO_COLUMN, NO_FILE, Reference
from core.graphs.ingest.universe import NodeIndex
from core.graphs.schema import GraphSchema, NodeType
from core.graphs.schema.partable import Part, cells_of
from core.graphs.stored.fingerprint import fingerprint_parts
from core.graphs.stored.parted import PART_EDGES, PartedCell, PartedGraph, Rows, write_parted

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

    def found(self, source: Reference, sides: Sides) -> Found:
        """Look at every row once."""
        rows = loops = strangers = at = 0
        stranger: str | None = None
        for ends, read in _rows(source, sides):
            strange = np.any(ends < 0, axis=0)
            rows, strangers = rows + ends.shape[1], strangers + int(strange.sum())
            loops += int(((ends[0] == ends[1]) & ~strange).sum())
            if strange.any() and stranger is None:
                row = int(np.flatnonzero(strange)[0])
                at = 0 if ends[0, row] < 0 else 1
                stranger = str(read[at][row].as_py())
        return Found(rows, loops, strangers, stranger, at)

    def canonical(
        self,
        schema: GraphSchema,
        nodes: Mapping[str, NodeTable],
        sources: Sequence[Reference],
        rows: Sequence[int],
    ) -> InParts:
        """Sort and merge the rows in files. O(m log m); memory of the nodes and one part."""

        def ends() -> Iterator[Rows]:
            for number, ((relation, _), source) in enumerate(zip(cells_of(schema), sources, strict=True)):
                for each, _ in _rows(source, (nodes[relation.source], nodes[relation.target])):
                    one = len(sources) == 1
                    yield (each[0], each[1]) if one else (each[0], each[1], np.full(each.shape[1], number))

        return InParts(write_parted(schema, nodes, ends(), sum(rows), self.folder, self.part_edges))

    def each(self, task: Task, count: int) -> list[Mapping[str, Any]]:
        """Do the task for every number, one after the other."""
        return [task(number) for number in range(count)]


@dataclass(frozen=True)
class InParts:
    """The canonical edges of a graph in parts."""

    graph: PartedGraph

    @property
    def cells(self) -> Sequence[InPartsCell]:
        return [InPartsCell(cell) for cell in self.graph.cells()]

    def fingerprint(self, key: bytes) -> str:
        """Fingerprint the content."""
        rows = sum(part.rows for part in self.graph.parts)
        return fingerprint_parts(self.graph, key, max(1, -(-rows // PART_EDGES)))


@dataclass(frozen=True)
class InPartsCell:
    """Those of one cell."""

    cell: PartedCell

    @property
    def parts(self) -> Sequence[Part]:
        return self.cell.parts

    def degrees(self, side: str = "both") -> Iterator[np.ndarray]:
        """Count the edges of every node; memory of the nodes."""
        slots = self.cell.slots
        counts = np.zeros(slots.targets if side == "target" else slots.sources, dtype=np.int64)
        for ends in self.cell.groups():
            if side != "target":
                np.add.at(counts, ends.source, 1)
            if side != "source":
                np.add.at(counts, ends.target, 1)
        for first in range(0, len(counts), BLOCK_NODES):
            yield counts[first : first + BLOCK_NODES]

    def pairs(self, labels: np.ndarray, groups: int) -> np.ndarray:
        """Count the edges between labels."""
        counts = np.zeros((groups, groups), dtype=np.int64)
        for ends in self.cell.groups():
            a, b = labels[ends.source], labels[ends.target]
            key = np.minimum(a, b) * groups + np.maximum(a, b)
            counts += np.bincount(key, minlength=groups * groups).reshape(groups, groups)
        return counts[np.triu_indices(groups)]


def _files(source: Reference) -> list[str]:
    if source.folder is None:
        raise InvalidInput("a table is read by an engine with a catalogue; name a folder of Parquet files")
    files = places.listed(source.folder)
    if not files:
        raise InvalidInput(NO_FILE)
    return files


def _rows(source: Reference, sides: Sides) -> Iterator[tuple[np.ndarray, list[pa.ChunkedArray]]]:
    """Yield the places of both ends, (2, rows), -1 where there is no such node, with what was read."""
    index = [NodeIndex(NodeType(), each.count, each.ids) for each in sides]
    columns = [source.source, source.target]
    for address in _files(source):
        files, path = places.opened(address)
        with files.open_input_file(path) as opened, pq.ParquetFile(opened) as file:
            if missing := set(columns) - set(file.schema_arrow.names):
                raise InvalidInput(NO_COLUMN.format(min(missing)))
            for batch in file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
                read = [pa.chunked_array([batch[name]]) for name in columns]
                yield np.stack([of.lookup(each) for of, each in zip(index, read, strict=True)]), read
