"""Items of a graph in parts, kept in a keyed order under caps: those that are kept in memory.

Items go to files beside the parts, each file a range of the order; the files are taken one after the other,
and the items of each by rank, ties as the parts have them.

Proof that the kept degrees are those of :func:`core.privacy.mechanisms.projection.kept_items`, under the same
key: an item's rank is a keyed function of its two nodes and step alone, so that files of growing ranges, each
sorted, are the one order of all items. Whether an item is kept hangs on the room of its two ends at its turn.
What a file leaves of every cap is the room that the next one begins with; so by induction over the files each
item meets the room that it meets in memory. Parts are canonical, so that each item comes once, which
every pass checks: an altered file stops the read before any number comes out. The kept degrees are thus the
same function of graph and key, for neighbours too, and the lemma of ends holds of them with the sensitivities
that :mod:`core.privacy.mechanisms.projection` proves; no read has another here. How many files there are, and
how long a pass takes, follows from the edges and is told to nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from core.graphs.columns.tables import EdgeTable
from core.graphs.stored.parted import PartedGraph
from core.privacy.mechanisms.projection import Items, kept_in_order, ranks_of

FILE_ITEMS = 2**22
"""Items in one file of a class of them, about: 16 bytes each, sorted in memory."""
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


@dataclass(frozen=True)
class PartedItems:
    """The items of a relation of a graph in parts, in the order that a table has in memory."""

    graph: PartedGraph
    relation: str

    def groups(self) -> Iterator[EdgeTable]:
        """Yield them, a row group at a time."""
        for step in self.graph.schema.steps_of(self.relation):
            for group in self.graph.cell(self.relation, step).groups():
                steps = None if step is None else np.full(group.count, step)
                yield EdgeTable(group.source, group.target, steps)

    def kept_degrees(
        self,
        of: Callable[[EdgeTable], tuple[Items, np.ndarray]],
        nodes: int,
        caps: Sequence[int],
        key: bytes,
    ) -> Iterator[np.ndarray]:
        """Yield the kept degrees of each class of items, int64 (nodes,), under a cap for each.

        ``of`` makes items of some edges, and says their classes: each by its own edge, whatever the others.
        One pass over the edges, and one over the files; memory of the nodes, one group and one file.
        O(m log m) time.
        """
        cells = [self.graph.cell(self.relation, step) for step in self.graph.schema.steps_of(self.relation)]
        files = 1 + sum(part.rows for cell in cells for part in cell.parts) // FILE_ITEMS
        with TemporaryDirectory(dir=self.graph.folder) as scratch:
            paths = [Path(scratch) / str(number) for number in range(files * len(caps))]
            for group in self.groups():
                items, classes = of(group)
                ranks = ranks_of(items, key)
                # The upper 32 bits of a rank, scaled: files are ranges of the order, and nothing overflows.
                place = classes * files + ((ranks >> _HALF) * np.uint64(files) >> _HALF).astype(np.int64)
                word = (items.source.astype(np.uint64) << _HALF) | items.target.astype(np.uint64)
                _append(np.stack([ranks, word], axis=1), place, paths)
            for number, cap in enumerate(caps):
                room = np.full(nodes, cap, dtype=np.int64)
                for path in filter(Path.exists, paths[number * files : (number + 1) * files]):
                    ranks, word = np.fromfile(path, np.uint64).reshape(-1, 2).T
                    path.unlink()
                    source, target = (word >> _HALF).astype(np.int64), (word & _LOW).astype(np.int64)
                    # Stable: of equal ranks the first in the parts comes first, as in memory.
                    kept = kept_in_order(source, target, np.argsort(ranks, kind="stable"), room)
                    for end in (source, target):
                        # What is kept takes room at both ends; the next file begins with what is left.
                        room -= np.bincount(end[kept], minlength=nodes)
                yield cap - room


def _append(entries: np.ndarray, place: np.ndarray, paths: Sequence[Path]) -> None:
    """Append each row to the file of its place. Rows of one keep their order."""
    order, sizes = np.argsort(place, kind="stable"), np.bincount(place, minlength=len(paths))
    entries, ends = entries[order], np.cumsum(sizes)
    for number in np.flatnonzero(sizes).tolist():
        with paths[number].open("ab") as out:
            entries[ends[number] - sizes[number] : ends[number]].tofile(out)
