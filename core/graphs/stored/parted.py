"""A graph whose edges stay on disk. Relations have no attributes; each of them and of its snapshots is a
cell, with :mod:`core.graphs.stored.parts` of its own.

A folder of ``schema.json``, ``nodes.parquet``, the parts and ``parts.json``, which is written last and tells
of every part.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from core.graphs.columns.key_sort import sorted_keys
from core.graphs.graph import Cell, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.partable import Part, Slots, cells_of, part_name, require_partable, slots_of
from core.graphs.stored.parts import (
    Ends,
    canonical_part,
    require_apart,
    require_whole,
    write_part,
)
from core.graphs.stored.whole import read_schema, read_universe, write_universe

GROUP_ROWS = 1 << 20
PART_EDGES = 1 << 24
"""How many edges a part should have at most, about: they are sorted in memory, at some 40 bytes each."""

Rows = Ends | tuple[np.ndarray, np.ndarray, np.ndarray]
"""Both ends of rows of the first cell, or with each row's cell after them."""


@dataclass(frozen=True)
class PartedCell:
    """The edges of one cell. They are for going over them once, group by group."""

    edge_type: EdgeType
    step: int | None
    slots: Slots
    folder: Path
    parts: tuple[Part, ...]

    def groups(self) -> Iterator[Cell]:
        """Yield the edges of one row group after the other, each edge once.

        ValueError, at the end at the latest, where a file was altered so that this no longer holds: no sum
        over the edges comes out then. A graph in memory is made canonical when it is opened; this one is not.
        """
        for part in self.parts:
            for source, target in canonical_part(self.folder, part, self.slots):
                yield Cell(self.edge_type, self.step, self.slots.sources, self.slots.targets, source, target)


@dataclass(frozen=True)
class PartedGraph:
    """A graph in parts. Its edges are canonical, as :class:`~core.graphs.graph.Graph`'s are."""

    schema: GraphSchema
    nodes: Mapping[str, NodeTable]
    parts: tuple[Part, ...]
    folder: Path

    def cell(self, edge_type: str, step: int | None) -> PartedCell:
        """Open one cell. KeyError where there is none."""
        declared, cells = self.schema.edge_type(edge_type), cells_of(self.schema)
        if (declared, step) not in cells:
            raise KeyError(f"edge type {edge_type!r} has no step {step}")
        place, counts = cells.index((declared, step)), {n: each.count for n, each in self.nodes.items()}
        parts = tuple(part for part in self.parts if part.cell == place)
        return PartedCell(declared, step, slots_of(declared, counts), self.folder, parts)

    def cells(self) -> Iterator[PartedCell]:
        """Open every cell, one after the other."""
        for declared, step in cells_of(self.schema):
            yield self.cell(declared.name, step)


def write_parted(
    schema: GraphSchema,
    nodes: Mapping[str, NodeTable],
    rows: Iterable[Rows],
    edges: int,
    folder: Path,
    part_edges: int = PART_EDGES,
) -> PartedGraph:
    """Write the canonical graph of ``rows``. They come in any order: loops are dropped, repeats merged.

    ``edges``: about how many there are, by which they are divided. Rows go to files by cell and source (the
    smaller end, of an undirected relation) first, each of which is then sorted: a pair and its repeats meet
    in one. 1-Lipschitz: a row more is an edge more or none. How many parts there are follows from the
    universe and ``edges``. ValueError for ends that are no nodes. O(m log m) time; memory of one group of
    rows and one part.
    """
    require_partable(schema)
    counts = {name: table.count for name, table in nodes.items()}
    slots = [slots_of(relation, counts) for relation, _ in cells_of(schema)]
    sources, most = [each.sources for each in slots], max(each.targets for each in slots)
    folder.mkdir(parents=True, exist_ok=True)
    write_universe(Graph.build(schema, nodes, {}), folder)
    buckets = max(1, min(-(-edges // part_edges), sum(sources)))
    pieces = _pieces(sources, buckets)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        parts = [
            write_part(
                groups(keys, most), folder / part_name(number, len(pieces)), slots[cell].most, cell=cell
            )
            for number, (cell, keys) in enumerate(_cut(rows, slots, buckets, Path(scratch)))
        ]
    told = json.dumps([asdict(part) for part in parts], indent=1)
    (folder / "schema.json").write_text(schema.model_dump_json(indent=2) + "\n", encoding="utf-8")
    (folder / "parts.json").write_text(told + "\n", encoding="utf-8")
    return read_parted(folder)


def sorted_pairs(
    rows: Iterable[Rows], slots: Sequence[Slots], buckets: int, scratch: Path
) -> Iterator[np.ndarray]:
    """Sort the pairs of ``rows`` in files in ``scratch``. Keys are ``place * most + target``, each once,
    among the ``slots`` of its cell.

    ``most``: the targets of the cell with the most; ``place``: the source, after the sources of all cells
    before its own. Ends of a mirrored pair come in either order. Yields so many arrays, each of a range of
    places of its own, in their order. ValueError for ends that are no nodes. O(m log m) time; memory of one
    group of rows and one array.
    """
    files = [scratch / f"{number}" for number in range(buckets)]
    _scatter(rows, slots, files)
    for path in files:
        keys = sorted_keys(np.fromfile(path, dtype=np.uint64))
        path.unlink()
        yield keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
        del keys


def _pieces(counts: Sequence[int], buckets: int) -> list[tuple[int, int, int, int]]:
    """List what each file of :func:`sorted_pairs` is cut into: file, cell, and the range of places, at least
    one a file. It follows from the universe."""
    begins = [0, *itertools.accumulate(counts)]
    width = -(-begins[-1] // buckets)
    found = []
    for file in range(buckets):
        low, high = file * width, (file + 1) * width
        own = [
            (file, cell, max(low, begin), min(high, end))
            for cell, (begin, end) in enumerate(itertools.pairwise(begins))
            if max(low, begin) < min(high, end)
        ]
        found += own or [(file, len(counts) - 1, begins[-1], begins[-1])]
    return found


def _cut(
    rows: Iterable[Rows], slots: Sequence[Slots], buckets: int, scratch: Path
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each piece's cell and keys, ``source * most + target``."""
    sources, most = [each.sources for each in slots], np.uint64(max(each.targets for each in slots))
    begins, pieces = [0, *itertools.accumulate(sources)], iter(_pieces(sources, buckets))
    by_file = itertools.groupby(pieces, key=lambda piece: piece[0])
    for keys, (_, own) in zip(sorted_pairs(rows, slots, buckets, scratch), by_file, strict=True):
        for _, cell, first, end in own:
            low, high = np.searchsorted(keys, np.array([first, end], dtype=np.uint64) * most)
            own_keys = keys[low:high]
            own_keys -= np.uint64(begins[cell]) * most
            yield cell, own_keys


def read_parted(folder: Path) -> PartedGraph:
    """Open a graph in parts. What is known of them is read, and it is checked that no two share a pair."""
    parts = tuple(Part(**each) for each in json.loads((folder / "parts.json").read_bytes()))
    require_whole(parts)
    require_apart(parts)
    schema = read_schema(folder)
    require_partable(schema)
    return PartedGraph(schema, MappingProxyType(read_universe(folder)), parts, folder)


def _scatter(rows: Iterable[Rows], slots: Sequence[Slots], files: list[Path]) -> None:
    """Append the keys of all rows but loops to the file of their place."""
    sources, targets = (np.array([getattr(each, side) for each in slots]) for side in ("sources", "targets"))
    mirrored, loops = (np.array([getattr(each, name) for each in slots]) for name in ("mirrored", "loops"))
    begins, most = (np.cumsum(sources) - sources).astype(np.uint64), np.uint64(targets.max())
    width = np.uint64(-(-int(sources.sum()) // len(files)))
    with ExitStack() as stack:
        opened = [stack.enter_context(path.open("wb")) for path in files]
        for source, target, *of in rows:
            cell = of[0] if of else 0
            if len(source) and (
                min(source.min(), target.min()) < 0
                or (source >= sources[cell]).any()
                or (target >= targets[cell]).any()
            ):
                raise ValueError("an edge ends at no node of the universe")
            turned = mirrored[cell] & (source > target)
            low, high = np.where(turned, target, source), np.where(turned, source, target)
            place = low.astype(np.uint64) + begins[cell]
            keys = (place * most + high.astype(np.uint64))[(low != high) | loops[cell]]
            number = (keys // (most * width)).astype(np.int64)
            order = np.argsort(number, kind="stable")
            keys, sizes = keys[order], np.bincount(number, minlength=len(files))
            ends = np.cumsum(sizes)
            for chosen in np.flatnonzero(sizes):
                keys[ends[chosen] - sizes[chosen] : ends[chosen]].tofile(opened[chosen])


def groups(keys: np.ndarray, nodes: int) -> Iterator[Ends]:
    """Yield the ends of keys in groups. Keys are ``source * nodes + target``, a row group at a time."""
    for begin in range(0, len(keys), GROUP_ROWS):
        source, target = np.divmod(keys[begin : begin + GROUP_ROWS], np.uint64(nodes))
        yield source.astype(np.int64), target.astype(np.int64)
