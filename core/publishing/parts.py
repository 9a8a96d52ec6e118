"""What is known of a release in parts. Every part is verified by the task that drew it, which leaves the
degrees of its nodes, and how many of its edges carry a value of each bin; those of the whole are their sums.
No part is read again to join it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.graphs.schema.partable import Part, Slots, divided
from core.graphs.schema.value_bins import bins_of
from core.graphs.stored.parts import checked_part, require_apart, require_whole
from core.privacy.queries import tally

GROUP_NODES = 1 << 20
OUT, IN = "degree", "in_degree"
CARRIED = "carried"
_WRITING = {
    "use_dictionary": False,
    "column_encoding": dict.fromkeys((OUT, IN), "BYTE_STREAM_SPLIT"),  # nearly all degrees are small
    "compression": "zstd",
}


def write_degrees(folder: Path, part: Part, slots: Slots, path: Path) -> None:
    """Verify a part, and write the degrees of its nodes, up to the last that has an edge there.

    Of a cell that is not mirrored those of sources and of targets have a column each. The file's metadata
    count the bins of what edges carry. The same part gives the
    same bytes. ValueError where it is not what was told of it. O(rows) time; memory of the nodes and one row
    group.
    """
    found = [np.zeros(0, dtype=np.int64) for _ in _sides(slots)]
    bins = [bins_of(each) for each in slots.attributes]
    counts = [np.zeros(each.count, dtype=np.int64) for each in bins]
    for source, target, *values in checked_part(folder, part, slots):
        # Rows are sorted by source, so that the last has the largest.
        last = max(int(source[-1]), int(target.max())) + 1
        found = [np.pad(each, (0, max(0, last - len(each)))) for each in found]
        tally(found[0], source)
        tally(found[-1], target)
        for own, count, column in zip(bins, counts, values, strict=True):
            count += np.bincount(own.places(column), minlength=own.count)
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(dict(zip((OUT, IN), found, strict=False)))
    if counts:
        table = table.replace_schema_metadata({CARRIED: json.dumps([each.tolist() for each in counts])})
    pq.write_table(table, path, row_group_size=GROUP_NODES, **_WRITING)


def placed(parts: Sequence[Part], sizes: Sequence[tuple[int, int]]) -> list[list[Part]]:
    """Give every cell its parts. ``sizes``: how shards were divided, see
    :func:`~core.graphs.schema.partable.divided`. ValueError where these are not all parts of one graph."""
    require_whole(parts)
    by_number = iter(sorted(parts, key=lambda part: part.name))
    counts = divided([edges for edges, _ in sizes], [most for _, most in sizes], len(parts))
    return [list(islice(by_number, count)) for count in counts]


def degrees_of(folder: Path, parts: Sequence[Part], slots: Slots) -> list[np.ndarray]:
    """Add up the degrees that the parts of one cell have in ``folder``: of both sides, or once if mirrored.

    A node has edges in several parts, those of its smaller neighbours. ValueError where two parts may share
    a pair, or where degrees are not those of so many rows and nodes. O(n parts) time, O(n) memory.
    """
    # Parts that follow one another by their sources can share no pair.
    require_apart(sorted(parts, key=_place))
    found = [np.zeros(nodes, dtype=np.int64) for nodes in _sides(slots)]
    for part in parts:
        before, first = [int(each.sum()) for each in found], 0
        for columns in _read(folder / part.name):
            if len(columns) != len(found):
                raise ValueError(f"{part.name}: not the degrees of such a relation")
            for own, degrees in zip(found, columns, strict=True):
                known, beyond = np.split(degrees, [max(0, len(own) - first)])
                if degrees.min(initial=0) < 0 or beyond.any() or first + len(degrees) > slots.most:
                    raise ValueError(f"{part.name}: not the degrees of nodes that there are")
                own[first : first + len(known)] += known
            first += len(columns[0])
        # Mirrored, an edge counts at both of its ends in the one vector.
        ends = part.rows * (2 if slots.mirrored else 1)
        if any(int(own.sum()) - had != ends for own, had in zip(found, before, strict=True)):
            raise ValueError(f"{part.name}: not the degrees of the rows that were written")
    return found


def carried_of(folder: Path, parts: Sequence[Part], slots: Slots) -> list[np.ndarray]:
    """Add up how many edges of one cell carry a value of each bin, attribute by attribute.

    ValueError where they are not those of so many rows.
    """
    found = [np.zeros(bins_of(each).count, dtype=np.int64) for each in slots.attributes]
    for part in parts if found else ():
        held = pq.read_schema(folder / part.name).metadata or {}
        counts = [np.array(each, dtype=np.int64) for each in json.loads(held.get(CARRIED.encode(), b"[]"))]
        # The counts came with the part: they are believed only where they fit its rows.
        if [each.shape for each in counts] != [each.shape for each in found] or any(
            each.min() < 0 or int(each.sum()) != part.rows for each in counts
        ):
            raise ValueError(f"{part.name}: not the values of the rows that were written")
        for own, more in zip(found, counts, strict=True):
            own += more
    return found


def _sides(slots: Slots) -> list[int]:
    """Return how many nodes have degrees: those of a mirrored cell, or sources and targets apart."""
    return [slots.sources] if slots.mirrored else [slots.sources, slots.targets]


def _read(path: Path) -> Iterable[list[np.ndarray]]:
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield [column.to_numpy() for column in file.read_row_group(group, use_threads=False).columns]


def _place(part: Part) -> tuple[int, str]:
    return part.first_source, part.name
