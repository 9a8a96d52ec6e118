"""Sensitive links of a graph, named by its curator. They are never released, whatever else is.

A stored graph may hold ``sensitive.parquet`` beside its other files: the columns ``type``, ``source`` and
``target`` (indices into the node types), each row a link of a protected relation without time. The list is
itself secret. It is read by a fit that has declared its access as unprotected, whose model keeps what it hid
for its curators' comparison, and by nothing else; neither its rows nor their number belong in a release, the
public report, a log or the text of an error. The file carries random bytes: the digests of a release's files
stand in the ledger for good, and nobody may try out lists against them; and sizes stand beside them, so every
file is as long as a power of two, PADDED_BYTES at least, which is that of all lists up to some 20 000 links.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InvalidInput
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType

FILE = "sensitive.parquet"
COLUMNS = pa.schema([("type", pa.string()), ("source", pa.int64()), ("target", pa.int64())])
PADDED_BYTES = 2**18
SALT_DIGITS, ROOM = 64, 16
_FIELD = "sensitive"

Pairs = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class SensitiveLinks:
    """Sensitive links of each relation that has some. They are (source, target) int64: sorted, each once.

    Pairs of an undirected relation have ``source <= target``, as the graph's edges. Made by
    :meth:`SensitiveLinks.of`. Its text shows no link. ``list_id`` names the list, None where a share
    was drawn; it is random, and tells nothing of the links.
    """

    pairs: Mapping[str, Pairs] = field(repr=False)
    list_id: str | None = None

    @classmethod
    def of(cls, graph: Graph, pairs: Mapping[str, Pairs], list_id: str | None = None) -> SensitiveLinks:
        """Take the pairs as links of ``graph``. Repeats are merged, undirected ones turned. O(m log m).

        Raises InvalidInput, which names no pair, for a relation that is undeclared, public or timed, and for
        a pair that is no link of its relation.
        """
        checked = {}
        for name, (source, target) in pairs.items():
            relation = _protected(graph, name)
            columns = graph.nodes[relation.target].count
            keys = np.unique(_keys(graph, relation, np.asarray(source), np.asarray(target)))
            table = graph.edges[name]
            links = table.source.astype(np.int64) * columns + table.target  # sorted: edges are
            if not np.isin(keys, links, assume_unique=True).all():
                raise InvalidInput(f"a sensitive pair of {name!r} is not one of its links", field=_FIELD)
            if len(keys):
                checked[name] = (keys // columns, keys % columns)
        return cls(MappingProxyType(checked), list_id)

    def of_relation(self, name: str) -> Pairs:
        """Return the sensitive links of one relation, none where it has none."""
        none = np.empty(0, dtype=np.int64)
        return self.pairs.get(name, (none, none))


def write_sensitive(links: SensitiveLinks, folder: Path) -> None:
    """Write the list to ``folder``. The stored graph is there; one that was there is replaced."""
    tables = [
        pa.table([pa.repeat(pa.scalar(name), len(source)), source, target], schema=COLUMNS)
        for name, (source, target) in links.pairs.items()
    ]
    known = {} if links.list_id is None else {"list_id": links.list_id}
    table = pa.concat_tables([COLUMNS.empty_table(), *tables])
    # Whoever reads meanwhile finds the old list, or all of the new one.
    unfinished = folder / f"{FILE}.part"
    unfinished.write_bytes(_padded(table, known))
    unfinished.replace(folder / FILE)


def _padded(table: pa.Table, known: dict[str, str]) -> bytes:
    """Write the table as Parquet, with random hex digits in its metadata up to a length that says little."""

    def written(digits: int) -> bytes:
        padding = os.urandom(digits // 2 + 1).hex()[:digits]
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, COLUMNS, compression="zstd") as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({**known, "padding": padding})
        written: bytes = sink.getvalue().to_pybytes()
        return written

    needed = len(written(SALT_DIGITS)) + ROOM
    size = max(PADDED_BYTES, 1 << (needed - 1).bit_length())
    while True:
        digits = SALT_DIGITS + size - needed
        # The length of a length is written too, which may take a byte more or less: that is made up for.
        content = written(digits + size - len(written(digits)))
        if len(content) == size:
            return content
        size *= 2  # one digit made the file two bytes longer: it has no padding of this length


def read_sensitive(folder: Path, graph: Graph) -> SensitiveLinks | None:
    """Read the sensitive links of the stored graph. None where it has no list of them.

    Raises InvalidInput as :func:`stored_links` and :meth:`SensitiveLinks.of`.
    """
    stored = stored_links(folder)
    return None if stored is None else SensitiveLinks.of(graph, stored.pairs, stored.list_id)


def stored_links(folder: Path) -> SensitiveLinks | None:
    """Read the links as the file has them. They are not checked against a graph; None where there is no file.

    Raises InvalidInput where the file has other columns or an empty cell.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid:
        raise InvalidInput("the list of sensitive links is no Parquet file", field=_FIELD) from None
    if table.column_names != COLUMNS.names or any(column.null_count for column in table.columns):
        raise InvalidInput(
            "sensitive links have the columns type, source and target, and no empty cell", field=_FIELD
        )
    known = pq.read_metadata(path).metadata or {}
    table = table.replace_schema_metadata(None)
    try:
        table = table.cast(COLUMNS)
    except pa.ArrowInvalid:
        raise InvalidInput("sensitive links name a type and two node indices", field=_FIELD) from None
    types = table["type"].to_numpy()
    ends: list[Any] = [table[name].to_numpy() for name in ("source", "target")]
    named = {str(name): types == name for name in np.unique(types)} if len(types) else {}
    list_id = known.get(b"list_id")
    return SensitiveLinks(
        MappingProxyType({name: (ends[0][at], ends[1][at]) for name, at in named.items()}),
        None if list_id is None else list_id.decode(),
    )


def _protected(graph: Graph, name: str) -> EdgeType:
    try:
        relation = graph.schema.edge_type(name)
    except KeyError:
        raise InvalidInput("a sensitive pair is of a relation that is not declared", field=_FIELD) from None
    if relation.public:
        raise InvalidInput(f"{name!r} is public: its links cannot be sensitive", field=_FIELD)
    if relation.temporal:
        raise InvalidInput(f"{name!r} carries time; sensitive links are of relations without", field=_FIELD)
    return relation


def _keys(graph: Graph, relation: EdgeType, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    if source.dtype.kind not in "iu" or target.dtype.kind not in "iu" or source.shape != target.shape:
        raise InvalidInput("sensitive pairs are integer indices of nodes, two a pair", field=_FIELD)
    source, target = source.astype(np.int64), target.astype(np.int64)
    counts = graph.nodes[relation.source].count, graph.nodes[relation.target].count
    for ends, count in zip((source, target), counts, strict=True):
        if len(ends) and not (ends.min() >= 0 and ends.max() < count):
            raise InvalidInput(
                f"a sensitive pair of {relation.name!r} names a node outside the universe", field=_FIELD
            )
    if relation.homogeneous and not relation.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    slots: np.ndarray = source * counts[1] + target
    return slots
