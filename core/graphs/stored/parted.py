"""A graph whose edges stay on disk. Each relation, and each of its snapshots, is a cell, with
:mod:`core.graphs.stored.parts` of its own. An edge carries one value of each attribute of its relation.

A folder of ``schema.json``, ``nodes.parquet``, the parts and ``parts.json``, which is written last and tells
of every part.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from core.graphs.columns.canonical import Merged
from core.graphs.columns.key_sort import sorted_keys
from core.graphs.columns.merging import faults_of, merge_values
from core.graphs.graph import Cell, EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.edge_attributes import EdgeAttribute, EdgeAttributeKind
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

Rows = tuple[np.ndarray, ...]
"""Both ends of rows of the first cell, or with each row's cell after them. Of a relation with attributes each
row's time follows (0 without), and a column for each attribute: all rows are of that relation then."""
Told = Callable[[EdgeType, Merged], None]
"""Told what was made of the rows of one file, of a relation with attributes."""


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
        for source, target in self._rows(replace(self.slots, attributes=())):
            yield Cell(self.edge_type, self.step, self.slots.sources, self.slots.targets, source, target)

    def records(self) -> Iterator[EdgeTable]:
        """Yield them as :meth:`groups` does, with the step of each and what it carries."""
        names = [each.name for each in self.slots.attributes]
        for source, target, *values in self._rows(self.slots):
            step = None if self.step is None else np.full(len(source), self.step, dtype=np.int32)
            yield EdgeTable(source, target, step, EdgeValues(dict(zip(names, values, strict=True))))

    def _rows(self, slots: Slots) -> Iterator[Ends]:
        for part in self.parts:
            yield from canonical_part(self.folder, part, slots)


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

    def records(self, edge_type: str) -> Iterator[EdgeTable]:
        """Yield the edges of all snapshots of a relation with what they carry, a row group at a time."""
        for step in self.schema.steps_of(edge_type):
            yield from self.cell(edge_type, step).records()


def refuse_faults(relation: EdgeType, merged: Merged) -> None:
    """Raise ValueError where what was made of rows is not as declared."""
    if merged.faults:
        raise ValueError(f"edge type {relation.name!r} leaves the range of {merged.faults[0].attribute!r}")


def write_parted(
    schema: GraphSchema,
    nodes: Mapping[str, NodeTable],
    rows: Iterable[Rows],
    edges: int,
    folder: Path,
    part_edges: int = PART_EDGES,
    *,
    told: Told = refuse_faults,
) -> PartedGraph:
    """Write the canonical graph of ``rows``. They come in any order: loops are dropped, repeats merged.

    ``edges``: about how many there are, by which they are divided. Rows go to files by cell and source (the
    smaller end, of an undirected relation) first, each of which is then sorted: a pair and its repeats meet
    in one. 1-Lipschitz: a row more is an edge more or none. How many parts there are follows from the
    universe and ``edges``. ValueError for ends that are no nodes. O(m log m) time; memory of one group of
    rows and one part.

    What edges carry is made of their own rows, as in memory (:mod:`core.graphs.columns.merging`): with values
    too, a row more changes one edge at most.
    """
    require_partable(schema)
    counts = {name: table.count for name, table in nodes.items()}
    cells = cells_of(schema)
    slots = [slots_of(relation, counts) for relation, _ in cells]
    sources, most = [each.sources for each in slots], max(each.targets for each in slots)
    folder.mkdir(parents=True, exist_ok=True)
    write_universe(Graph.build(schema, nodes, {}), folder)
    carried = max(len(each.attributes) for each in slots)
    # Words of a row: its key, its time, and what it carries.
    width = carried + 2 if carried else 1
    # So that a file has about as many words as ``part_edges``, and one source at least.
    buckets = max(1, min(-(-edges * width // part_edges), sum(sources)))
    pieces = _pieces(sources, buckets)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        parts = [
            write_part(
                _groups(keys, words, cells[cell], most, told),
                folder / part_name(number, len(pieces)),
                slots[cell].most,
                cell=cell,
                attributes=slots[cell].attributes,
            )
            for number, (cell, keys, words) in enumerate(_cut(rows, slots, buckets, Path(scratch), width))
        ]
    listed = json.dumps([asdict(part) for part in parts], indent=1)
    (folder / "schema.json").write_text(schema.model_dump_json(indent=2) + "\n", encoding="utf-8")
    # Last: a folder that lacks it is unfinished.
    (folder / "parts.json").write_text(listed + "\n", encoding="utf-8")
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
    for keys, _ in _sorted(rows, slots, buckets, scratch, 1):
        yield keys
        del keys


def _sorted(
    rows: Iterable[Rows], slots: Sequence[Slots], buckets: int, scratch: Path, width: int
) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """Sort as :func:`sorted_pairs` does. Of more than one word a row repeats are left, with the other words
    of each."""
    files = [scratch / f"{number}" for number in range(buckets)]
    _scatter(rows, slots, files, width)
    for path in files:
        held = np.fromfile(path, dtype=np.uint64)
        path.unlink()
        if width == 1:
            held = sorted_keys(held)
            held = held[_first_of(held)]
            yield held, None
            del held
            continue
        held = held.reshape(-1, width)
        held = held[np.argsort(held[:, 0], kind="stable")]
        yield held[:, 0].copy(), held[:, 1:]


def _first_of(keys: np.ndarray) -> np.ndarray:
    """Mark the first of equal keys, which are sorted."""
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def _edges(
    keys: np.ndarray, words: np.ndarray | None, cell: tuple[EdgeType, int | None], most: int, told: Told
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Merge the rows of one file of one cell; its keys, each once, and what their edges carry."""
    if words is None:
        return keys, []
    first, (relation, step) = _first_of(keys), cell
    edges = keys[first]
    if not relation.attributes:
        return edges, []
    columns = {
        each.name: np.ascontiguousarray(words[:, place]).view(_word_of(each))
        for place, each in enumerate(relation.attributes, start=1)
    }
    time = np.ascontiguousarray(words[:, 0]).view(np.int64) if relation.ordered else None
    place = np.cumsum(first) - 1
    values, clipped = merge_values(relation, EdgeValues(columns), place, len(edges), time)
    source, target = (each.astype(np.int64) for each in np.divmod(edges, np.uint64(most)))
    steps = None if step is None else np.full(len(edges), step, dtype=np.int32)
    table, merged = EdgeTable(source, target, steps, values), len(keys) - len(edges)
    told(relation, Merged(table, 0, merged, faults_of(relation, values), clipped))
    return edges, [values.columns[each.name] for each in relation.attributes]


def _groups(
    keys: np.ndarray, words: np.ndarray | None, cell: tuple[EdgeType, int | None], most: int, told: Told
) -> Iterator[Ends]:
    edges, columns = _edges(keys, words, cell, most, told)
    return groups(edges, most, columns)


def _word_of(attribute: EdgeAttribute) -> type[np.float64 | np.int64]:
    """Say what a row's word of the attribute holds."""
    return np.float64 if attribute.kind is EdgeAttributeKind.NUMBER else np.int64


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
        # A file without sources is one piece without rows: there is a piece for every file.
        found += own or [(file, len(counts) - 1, begins[-1], begins[-1])]
    return found


def _cut(
    rows: Iterable[Rows], slots: Sequence[Slots], buckets: int, scratch: Path, width: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
    """Yield each piece's cell and keys, ``source * most + target``, and the other words of its rows."""
    sources, most = [each.sources for each in slots], np.uint64(max(each.targets for each in slots))
    begins, pieces = [0, *itertools.accumulate(sources)], iter(_pieces(sources, buckets))
    by_file = itertools.groupby(pieces, key=lambda piece: piece[0])
    files = _sorted(rows, slots, buckets, scratch, width)
    for (keys, words), (_, own) in zip(files, by_file, strict=True):
        for _, cell, first, end in own:
            low, high = np.searchsorted(keys, np.array([first, end], dtype=np.uint64) * most)
            # In place, as nobody else holds them: a copy would take as much memory again.
            own_keys = keys[low:high]
            own_keys -= np.uint64(begins[cell]) * most
            yield cell, own_keys, None if words is None else words[low:high]
        del keys, own_keys


def read_parted(folder: Path) -> PartedGraph:
    """Open a graph in parts. What is known of them is read, and it is checked that no two share a pair."""
    parts = tuple(Part(**each) for each in json.loads((folder / "parts.json").read_bytes()))
    require_whole(parts)
    require_apart(parts)
    schema = read_schema(folder)
    require_partable(schema)
    return PartedGraph(schema, MappingProxyType(read_universe(folder)), parts, folder)


def _scatter(rows: Iterable[Rows], slots: Sequence[Slots], files: list[Path], words: int) -> None:
    """Append the keys of all rows but loops to the file of their place; with each so many words in all."""
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
            kept = (low != high) | loops[cell]
            keys = (place * most + high.astype(np.uint64))[kept]
            number = (keys // (most * width)).astype(np.min_scalar_type(len(files)))  # few bytes sort fast
            if words > 1:
                # With values all rows are of one relation, so that any row's cell has its attributes.
                attributes = slots[int(np.max(cell, initial=0))].attributes
                keys = _with_values(keys, words, attributes, [column[kept] for column in of[1:]])
            order = np.argsort(number, kind="stable")
            keys, sizes = keys[order], np.bincount(number, minlength=len(files))
            ends = np.cumsum(sizes)
            for chosen in np.flatnonzero(sizes):
                keys[ends[chosen] - sizes[chosen] : ends[chosen]].tofile(opened[chosen])


def _with_values(
    keys: np.ndarray, words: int, attributes: Sequence[EdgeAttribute], of: Sequence[np.ndarray]
) -> np.ndarray:
    """Write each row's time and what it carries behind its key; all are of one relation."""
    held = np.zeros((len(keys), words), dtype=np.uint64)
    held[:, 0] = keys
    if attributes:
        held[:, 1] = of[0].astype(np.int64).view(np.uint64)
    for place, (each, column) in enumerate(zip(attributes, of[1:], strict=bool(attributes))):
        held[:, place + 2] = column.astype(_word_of(each)).view(np.uint64)
    return held


def groups(keys: np.ndarray, nodes: int, columns: Sequence[np.ndarray] = ()) -> Iterator[Ends]:
    """Yield the ends of keys in groups, with what ``columns`` say of each. Keys are ``source * nodes +
    target``, a row group at a time."""
    for begin in range(0, len(keys), GROUP_ROWS):
        some = slice(begin, begin + GROUP_ROWS)
        source, target = np.divmod(keys[some], np.uint64(nodes))
        yield source.astype(np.int64), target.astype(np.int64), *(column[some] for column in columns)
