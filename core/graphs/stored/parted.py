"""A graph of one relation, edges on disk. The relation is undirected, and edges stay in the parts of
:mod:`core.graphs.stored.parts`.

A folder of ``schema.json``, ``nodes.parquet``, the parts and ``parts.json``, which is written last and tells
of every part. Static graphs of one node type and one relation without attributes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from core.graphs.columns.key_sort import sorted_keys
from core.graphs.graph import Cell, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.partable import Part, part_name, require_partable
from core.graphs.stored.parts import (
    Ends,
    canonical_part,
    checked_part,
    require_apart,
    require_whole,
    write_part,
)
from core.graphs.stored.whole import read_schema, read_universe, write_universe

GROUP_ROWS = 1 << 20
PART_EDGES = 1 << 24
"""How many edges a part should have at most, about: they are sorted in memory, at some 40 bytes each."""


@dataclass(frozen=True)
class PartedCell:
    """The edges of the only cell. They are for going over them once, group by group."""

    edge_type: EdgeType
    nodes: int
    folder: Path
    parts: tuple[Part, ...]

    def groups(self) -> Iterator[Cell]:
        """Yield the edges of one row group after the other, each edge once.

        ValueError, at the end at the latest, where a file was altered so that this no longer holds: no sum
        over the edges comes out then. A graph in memory is made canonical when it is opened; this one is not.
        """
        for part in self.parts:
            for source, target in canonical_part(self.folder, part, self.nodes):
                yield Cell(self.edge_type, None, self.nodes, self.nodes, source, target)


@dataclass(frozen=True)
class PartedGraph:
    """A graph in parts. Its edges are canonical, as :class:`~core.graphs.graph.Graph`'s are."""

    schema: GraphSchema
    nodes: Mapping[str, NodeTable]
    parts: tuple[Part, ...]
    folder: Path

    def cell(self, edge_type: str, step: int | None) -> PartedCell:
        """Open the only cell."""
        declared = self.schema.edge_type(edge_type)
        if step is not None:
            raise KeyError(f"edge type {edge_type!r} has no step {step}")
        count = self.nodes[declared.source].count
        return PartedCell(declared, count, self.folder, self.parts)


def write_parted(
    schema: GraphSchema,
    nodes: Mapping[str, NodeTable],
    rows: Iterable[Ends],
    edges: int,
    folder: Path,
    part_edges: int = PART_EDGES,
) -> PartedGraph:
    """Write the canonical graph of ``rows``. They come in any order: loops are dropped, repeats merged.

    ``edges``: about how many there are, by which they are divided. Rows go to files by their smaller end
    first, each of which is then sorted: a pair and its repeats meet in one. 1-Lipschitz: a row more is an
    edge more or none. ValueError for ends that are no nodes. O(m log m) time; memory of one group of rows and
    one part.
    """
    relation = require_partable(schema)
    count = nodes[relation.source].count
    folder.mkdir(parents=True, exist_ok=True)
    write_universe(Graph.build(schema, nodes, {}), folder)
    buckets = max(1, min(-(-edges // part_edges), count))
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        parts = [
            write_part(groups(keys, count), folder / part_name(number, buckets), count)
            for number, keys in enumerate(sorted_pairs(rows, count, buckets, Path(scratch)))
        ]
    told = json.dumps([asdict(part) for part in parts], indent=1)
    (folder / "schema.json").write_text(schema.model_dump_json(indent=2) + "\n", encoding="utf-8")
    (folder / "parts.json").write_text(told + "\n", encoding="utf-8")
    return read_parted(folder)


def sorted_pairs(rows: Iterable[Ends], nodes: int, buckets: int, scratch: Path) -> Iterator[np.ndarray]:
    """Sort the pairs of ``rows`` in files in ``scratch``. Keys are ``low * nodes + high``, each once, no
    loops.

    Yields so many arrays, each of a range of smaller ends of its own, in their order. ValueError for ends
    outside 0..nodes-1. O(m log m) time; memory of one group of rows and one array.
    """
    files = [scratch / f"{number}" for number in range(buckets)]
    _scatter(rows, nodes, files)
    for path in files:
        keys = sorted_keys(np.fromfile(path, dtype=np.uint64))
        path.unlink()
        yield keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
        del keys


def read_parted(folder: Path) -> PartedGraph:
    """Open a graph in parts. What is known of them is read, and it is checked that no two share a pair."""
    parts = tuple(Part(**each) for each in json.loads((folder / "parts.json").read_bytes()))
    require_whole(parts)
    require_apart(parts)
    schema = read_schema(folder)
    require_partable(schema)
    return PartedGraph(schema, MappingProxyType(read_universe(folder)), parts, folder)


def check_parted(graph: PartedGraph) -> int:
    """Read and check every part. Each is checked by :func:`~core.graphs.stored.parts.checked_part`; returned
    is the number of edges."""
    count = graph.nodes[require_partable(graph.schema).source].count
    return sum(len(source) for part in graph.parts for source, _ in checked_part(graph.folder, part, count))


def _scatter(rows: Iterable[Ends], nodes: int, files: list[Path]) -> None:
    """Append the keys ``low * nodes + high`` of all rows but loops to the file of their smaller end."""
    with ExitStack() as stack:
        opened = [stack.enter_context(path.open("wb")) for path in files]
        width = -(-nodes // len(files))
        for source, target in rows:
            low, high = np.minimum(source, target), np.maximum(source, target)
            if len(low) and (low.min() < 0 or high.max() >= nodes):
                raise ValueError("an edge ends at no node of the universe")
            keys = (low.astype(np.uint64) * np.uint64(nodes) + high.astype(np.uint64))[low != high]
            number = (keys // np.uint64(nodes * width)).astype(np.int64)
            order = np.argsort(number, kind="stable")
            keys, sizes = keys[order], np.bincount(number, minlength=len(files))
            ends = np.cumsum(sizes)
            for chosen in np.flatnonzero(sizes):
                keys[ends[chosen] - sizes[chosen] : ends[chosen]].tofile(opened[chosen])


def groups(keys: np.ndarray, nodes: int) -> Iterator[Ends]:
    """Yield the ends of keys in groups. Keys are ``low * nodes + high``, a row group at a time."""
    for begin in range(0, len(keys), GROUP_ROWS):
        source, target = np.divmod(keys[begin : begin + GROUP_ROWS], np.uint64(nodes))
        yield source.astype(np.int64), target.astype(np.int64)
