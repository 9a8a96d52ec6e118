"""Edges of relations in parts. These are Parquet files, written and read one row group at a time.

A part has the columns ``source`` and ``target``, indices into the nodes, sorted, each pair once; source <
target where the relation is undirected; and one for each attribute that its edges carry. It is of one
relation and snapshot, and has a range of sources of its own among the parts of that, so that no pair stands
in two parts. Of a release with several, ``type`` and ``step`` say in each row which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.graphs.columns.value_arrays import ARROW, arrow_values, stored_values
from core.graphs.schema.edge_attributes import EdgeAttribute, EdgeAttributeKind
from core.graphs.schema.partable import Part, Slots, part_name

ENDS = ("source", "target")
_WRITING: dict[str, Any] = {
    "use_dictionary": ["type", "step"],
    "column_encoding": dict.fromkeys(ENDS, "DELTA_BINARY_PACKED"),
    # The differences between sorted sources are nearly all 0 or 1; those of targets are mostly chance.
    "compression": {"source": "zstd", "target": "none"},
}

Ends = tuple[np.ndarray, ...]
"""Sources and targets, and behind them a column for each attribute."""


def write_part(
    groups: Iterable[Ends],
    path: Path,
    nodes: int,
    *,
    cell: int = 0,
    of: tuple[str, int | None] | None = None,
    attributes: Sequence[EdgeAttribute] = (),
    others: Sequence[EdgeAttribute] = (),
) -> Part:
    """Write one part of a graph. Each of ``groups``, which come in the order of their sources, is a row
    group.

    ``cell``: whose part it is; ``of``: the relation and the step that its rows say. ``attributes``: what the
    edges carry; ``others``: what those of other parts do, null here. The same groups give the same bytes.
    The file is there when it is whole: a process that dies meanwhile leaves ``path``
    as it was. One group is in memory. O(rows).
    """
    unfinished = path.with_suffix(f".{uuid4().hex}")
    index = pa.int32() if nodes <= 2**31 else pa.int64()
    schema = pa.schema([(name, index) for name in ENDS])
    if of is not None:
        schema = schema.append(pa.field("type", pa.string())).append(pa.field("step", pa.int32()))
    for each in (*attributes, *others):
        schema = schema.append(pa.field(each.name, ARROW[each.kind]))
    writing = _writing(*attributes, *others)
    rows, first, last = 0, -1, -1
    try:
        with pq.ParquetWriter(unfinished, schema, **writing) as writer:
            for source, target, *values in groups:
                if not len(source):
                    continue
                columns = [pa.array(source).cast(index), pa.array(target).cast(index)]
                if of is not None:
                    columns += [
                        pa.repeat(pa.scalar(each, kind), len(source))
                        for each, kind in zip(of, (pa.string(), pa.int32()), strict=True)
                    ]
                columns += [arrow_values(*each) for each in zip(attributes, values, strict=True)]
                columns += [pa.nulls(len(source), ARROW[each.kind]) for each in others]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=len(source))
                first = int(source[0]) if first < 0 else first
                last, rows = int(source[-1]), rows + len(source)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return Part(path.name, _digest(path), path.stat().st_size, rows, first, last, cell)


def _writing(*attributes: EdgeAttribute) -> dict[str, Any]:
    """Say how columns are written; values are compressed, and of few different ones listed once."""
    listed = [each.name for each in attributes if each.kind is not EdgeAttributeKind.NUMBER]
    packed = dict.fromkeys((each.name for each in attributes), "zstd")
    return {
        **_WRITING,
        "use_dictionary": [*_WRITING["use_dictionary"], *listed],
        "compression": {**_WRITING["compression"], **packed},
    }


def read_part(path: Path, attributes: Sequence[EdgeAttribute] = ()) -> Iterator[Ends]:
    """Read a part, a row group at a time. ValueError for values that are not as declared."""
    names = [*ENDS, *(each.name for each in attributes)]
    with pq.ParquetFile(path) as file:
        if lacking := set(names) - set(file.schema_arrow.names):
            raise ValueError(f"{path.name}: no column {min(lacking)!r}")
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=names, use_threads=False)
            values = [stored_values(each, table[each.name]) for each in attributes]
            yield table["source"].to_numpy(), table["target"].to_numpy(), *values


def checked_part(folder: Path, part: Part, slots: Slots) -> Iterator[Ends]:
    """Read a part and check it. It is checked against what is known of it: ValueError for the first thing
    that is not so.

    Checked are the digest, and what :func:`canonical_part` checks. O(rows).
    """
    path = folder / part.name
    if path.stat().st_size != part.bytes or _digest(path) != part.sha256:
        raise ValueError(f"{part.name}: the bytes are not those that were written")
    yield from canonical_part(folder, part, slots)


def canonical_part(folder: Path, part: Part, slots: Slots) -> Iterator[Ends]:
    """Read a part whose rows are canonical. There are as many as declared: ValueError for the first that is
    not so.

    Pairs are sorted, distinct, among the ``slots``, with sources in the part's range: parts whose ranges are
    apart share none. Values are those that the slots' attributes may have. O(rows).
    """
    rows, before, last = 0, -1, -1
    for source, target, *values in read_part(folder / part.name, slots.attributes):
        # Across row groups too: the first pair of each lies after the last one of the group before.
        keys = source.astype(np.int64) * slots.targets + target
        if keys[0] <= before or (keys[1:] <= keys[:-1]).any():
            raise ValueError(f"{part.name}: pairs are not sorted, or stand twice")
        # Pairs ascend and targets are in range (below), so that the first and the last source bound all.
        known = source[0] >= 0 and source[-1] < slots.sources and target.min() >= 0
        wrong = source >= target if slots.mirrored else (source == target) & (not slots.loops)
        if not known or target.max() >= slots.targets or wrong.any():
            raise ValueError(f"{part.name}: not pairs of two nodes that there are, in their order")
        if source[0] < part.first_source:
            raise ValueError(f"{part.name}: a source outside the part's range")
        rows, before, last = rows + len(source), int(keys[-1]), int(source[-1])
        yield source, target, *values
    if rows != part.rows or last != part.last_source:
        raise ValueError(f"{part.name}: not the rows that were written")


def require_whole(parts: Sequence[Part]) -> None:
    """Check that these parts make one graph. Each comes once: ValueError where one lacks, or is another's."""
    names = {part_name(number, len(parts)) for number in range(len(parts))}
    if {part.name for part in parts} != names:
        raise ValueError("these are not all parts of one graph")


def require_apart(parts: Iterable[Part]) -> None:
    """Check that no two parts share pairs. ValueError where ranges of sources of one cell meet or come
    unsorted."""
    last: dict[int, int] = {}
    for part in parts:
        if part.rows:
            if part.first_source <= last.get(part.cell, -1):
                raise ValueError(f"{part.name}: its sources are another part's as well")
            last[part.cell] = part.last_source


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
