"""What is known of a release in parts. Every part is verified by the task that drew it, which leaves the
degrees of its nodes; those of the whole are their sums. No part is read again to join it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from math import isqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.graphs.schema.partable import Part, divided
from core.graphs.stored.parts import checked_part, require_apart, require_whole
from core.privacy.queries import tally

GROUP_NODES = 1 << 20
MOST_NODES = isqrt(2**63 - 1)
"""So many may be nodes of a part, whose pairs are compared as one number each."""
_WRITING = {
    "use_dictionary": False,
    "column_encoding": {"degree": "BYTE_STREAM_SPLIT"},  # nearly all degrees are small
    "compression": "zstd",
}


def write_degrees(folder: Path, part: Part, path: Path) -> None:
    """Verify a part, and write the degrees of its nodes, up to the last that has an edge there.

    The same part gives the same bytes. ValueError where it is not what was told of it. O(rows) time; memory
    of the nodes and one row group.
    """
    found = np.zeros(0, dtype=np.int64)
    for source, target in checked_part(folder, part, MOST_NODES):
        found = np.pad(found, (0, max(0, int(target.max()) + 1 - len(found))))
        tally(found, source)
        tally(found, target)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"degree": found}), path, row_group_size=GROUP_NODES, **_WRITING)


def placed(parts: Sequence[Part], sizes: Sequence[tuple[int, int]]) -> list[list[Part]]:
    """Give every cell its parts. ``sizes``: how shards were divided, see
    :func:`~core.graphs.schema.partable.divided`. ValueError where these are not all parts of one graph."""
    require_whole(parts)
    by_number = iter(sorted(parts, key=lambda part: part.name))
    counts = divided([edges for edges, _ in sizes], [most for _, most in sizes], len(parts))
    return [list(islice(by_number, count)) for count in counts]


def degrees_of(folder: Path, parts: Sequence[Part], nodes: int) -> np.ndarray:
    """Add up the degrees that the parts of one cell have in ``folder``.

    A node has edges in several parts, those of its smaller neighbours. ValueError where two parts may share
    a pair, or where degrees are not those of so many rows and nodes. O(n parts) time, O(n) memory.
    """
    require_apart(sorted(parts, key=_place))
    found = np.zeros(nodes, dtype=np.int64)
    for part in parts:
        before, first = int(found.sum()), 0
        for degrees in _read(folder / part.name):
            if first + len(degrees) > nodes or degrees.min(initial=0) < 0:
                raise ValueError(f"{part.name}: not the degrees of nodes that there are")
            found[first : first + len(degrees)] += degrees
            first += len(degrees)
        if int(found.sum()) - before != 2 * part.rows:
            raise ValueError(f"{part.name}: not the degrees of the rows that were written")
    return found


def _read(path: Path) -> Iterable[np.ndarray]:
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, use_threads=False)["degree"].to_numpy()


def _place(part: Part) -> tuple[int, str]:
    return part.first_source, part.name
