"""A keyed fingerprint of content. It is the backstop that finds the same edges uploaded again.

It covers which pairs of ids are joined (of a collection, in which graph), nothing else: row order, the order
of the node list, format, names of types, direction, time grid and isolated nodes do not change it, so that
another reading of the same population's data is recognised. The key makes it worthless for guessing content
from outside.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from core.graphs.columns.key_sort import STRETCH, distinct, sorted_keys, stretches
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema.partable import Slots
from core.graphs.stored.parted import PartedGraph, groups, sorted_pairs

MIN_KEY_BYTES = 16
MAX_KEY_BYTES = 64  # BLAKE2b, RFC 7693


def fingerprint(graph: Graph, key: bytes) -> str:
    """Hash the set of joined id pairs. It is keyed BLAKE2b-256, in hex; ValueError for a key not of 16 to 64
    bytes.

    The digest is over the sorted ids that occur in an edge and the sorted pairs of their ranks, which is
    injective on edge sets. O(m log m) time, about 24 bytes an edge.
    """
    digest, ranks = _begun(graph, _joined_nodes(graph), key)
    for pairs in distinct(_pairs(graph, ranks)):
        digest.update(pairs.astype("<u8", copy=False).data)
    return digest.hexdigest()


def fingerprint_parts(graph: PartedGraph, key: bytes, buckets: int) -> str:
    """Fingerprint a graph whose edges stay in parts. It hashes the joined id pairs, as :func:`fingerprint`
    does in memory.

    Pairs of ranks are sorted in so many files beside the parts. O(m log m) time; memory of the nodes, one
    group of rows and one file.
    """
    joined = {name: np.zeros(table.count, dtype=bool) for name, table in graph.nodes.items()}
    for cell in graph.cells():
        for group in cell.groups():
            joined[cell.edge_type.source][group.source] = True
            joined[cell.edge_type.target][group.target] = True
    digest, ranks = _begun(graph, joined, key)
    count = sum(table.count for table in graph.nodes.values())
    rows = (
        (ranks[cell.edge_type.source][group.source], ranks[cell.edge_type.target][group.target])
        for cell in graph.cells()
        for group in cell.groups()
    )
    with tempfile.TemporaryDirectory(dir=graph.folder) as scratch:
        # Two types may have an id in common, which is then joined with itself.
        for keys in sorted_pairs(rows, [Slots(count, count, loops=True)], buckets, Path(scratch)):
            for low, high in groups(keys, count):
                # Packed as in :func:`_pairs`: the same content has one digest, in memory and in parts.
                digest.update((low.astype("<u8") << np.uint64(32) | high.astype("<u8")).data)
            del keys
    return digest.hexdigest()


def _begun(
    graph: Graph | PartedGraph, joined: dict[str, np.ndarray], key: bytes
) -> tuple[hashlib.blake2b, dict[str, np.ndarray]]:
    """Hash the ids of the ``joined`` nodes; the digest, and the rank of each node's id among them."""
    if not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
        raise ValueError(f"the fingerprint key must have {MIN_KEY_BYTES} to {MAX_KEY_BYTES} bytes")
    sorted_ids, ranks = ranked(graph.nodes, joined, graph.schema.graph_ids())
    return begun(sorted_ids, key), ranks


def ranked(
    nodes: Mapping[str, NodeTable], joined: Mapping[str, np.ndarray], owners: Mapping[str, str]
) -> tuple[pa.ChunkedArray, dict[str, np.ndarray]]:
    """Sort the ids of the ``joined`` nodes, each once; with them each such node's place among them, uint32.

    ``owners``: in a collection, the graph whose id each node's stands behind, as graphs number nodes alike.
    """
    if not owners and all(table.ids is None for table in nodes.values()):
        return _ranked_numbers(joined)
    texts = {name: table.id_array() for name, table in nodes.items()}
    if owners:
        texts = {n: pc.binary_join_element_wise(owners[n], each, "/") for n, each in texts.items()}
    ids = [pl.Series(texts[name].filter(pa.array(mask)), dtype=pl.String) for name, mask in joined.items()]
    sizes, every = [len(own) for own in ids], pl.concat(ids)
    del texts, ids  # of many nodes each copy of their ids is the largest thing in memory
    order = every.arg_sort()
    listed, places = every.gather(order), np.arange(len(every), dtype=np.uint32)
    del every
    if len(sizes) > 1:  # inside one type ids are distinct
        first = (listed != listed.shift()).fill_null(True)
        listed, places = listed.filter(first), (np.cumsum(first.to_numpy()) - 1).astype(np.uint32)
    rank = np.empty(len(order), dtype=np.uint32)
    rank[order.to_numpy()] = places
    del order, places
    ranks, done = {}, 0
    for (name, mask), size in zip(joined.items(), sizes, strict=True):
        ranks[name] = np.zeros(len(mask), dtype=np.uint32)
        ranks[name][mask] = rank[done : done + size]
        done += size
    return pa.chunked_array([listed.to_arrow()]), ranks


def _ranked_numbers(joined: Mapping[str, np.ndarray]) -> tuple[pa.ChunkedArray, dict[str, np.ndarray]]:
    """Rank as :func:`ranked` does where the ids of every type are the integers from 0 on."""
    found = np.zeros(max(len(mask) for mask in joined.values()), dtype=bool)
    for mask in joined.values():
        found[: len(mask)] |= mask
    order, rank = as_written(len(found)), np.zeros(len(found), dtype=np.uint32)
    texts, done = [], 0
    for rows in stretches(len(order)):
        own = order[rows]
        own = own[found[own]]
        rank[own] = np.arange(done, done + len(own), dtype=np.uint32)
        texts.append(pa.array(own).cast(pa.string()))
        done += len(own)
    return pa.chunked_array(texts, pa.string()), {name: rank[: len(mask)] for name, mask in joined.items()}


def as_written(count: int) -> np.ndarray:
    """Order the integers below ``count`` as their decimals sort as text; uint32.

    Each one's place is worked out, none is compared: of every length, so many decimals stand before it.
    O(count digits).
    """
    order, most = np.empty(count, dtype=np.uint32), len(str(max(count - 1, 0)))
    lowest = [0, *(10**digits for digits in range(1, most)), count]  # of each length
    for digits in range(1, most + 1):
        for begin in range(lowest[digits - 1], lowest[digits], STRETCH):
            numbers = np.arange(begin, min(begin + STRETCH, lowest[digits]))
            place = np.zeros(len(numbers), dtype=np.int64)
            for length in range(1, digits):
                # Of fewer digits those before it are all up to
                # its own first digits, which sort before it too.
                place += numbers // 10 ** (digits - length) + 1 - lowest[length - 1]
            for length in range(digits, most + 1):
                # Of as many digits or more they are those below it with zeros behind.
                below = np.minimum(numbers * 10 ** (length - digits), lowest[length])
                place += np.maximum(below - lowest[length - 1], 0)  # 0 begins no other
            order[place] = numbers
    return order


def begun(sorted_ids: pa.ChunkedArray, key: bytes) -> hashlib.blake2b:
    """Begin the digest of a content. It has the sorted ids that occur in an edge; pairs of ranks follow."""
    digest = hashlib.blake2b(key=key, digest_size=32, person=b"graphveil-edges")
    digest.update(len(sorted_ids).to_bytes(8, "little"))
    # Lengths first: else the same text might be that of other ids, cut elsewhere.
    for ids in sorted_ids.chunks:
        digest.update(pc.binary_length(ids).to_numpy().astype("<i8").data)
    for chunk in filter(len, sorted_ids.chunks):
        ids = chunk.cast(pa.large_string())
        _, places, text = ids.buffers()
        bounds = np.frombuffer(places, dtype=np.int64)
        digest.update(memoryview(text)[bounds[ids.offset] : bounds[ids.offset + len(ids)]])
    return digest


def _joined_nodes(graph: Graph) -> dict[str, np.ndarray]:
    masks = {name: np.zeros(table.count, dtype=bool) for name, table in graph.nodes.items()}
    for edge_type in graph.schema.edge_types:
        table = graph.edges[edge_type.name]
        for rows in stretches(table.count):
            masks[edge_type.source][table.source[rows].astype(np.intp)] = True
            masks[edge_type.target][table.target[rows].astype(np.intp)] = True
    return masks


def _pairs(graph: Graph, ranks: dict[str, np.ndarray]) -> np.ndarray:
    """Sort the pairs of ranks, packed into keys; one may stand several times."""
    keys, done = np.empty(sum(table.count for table in graph.edges.values()), dtype=np.uint64), 0
    for edge_type in graph.schema.edge_types:
        table = graph.edges[edge_type.name]
        for rows in stretches(table.count):
            one = ranks[edge_type.source].take(table.source[rows])
            other = ranks[edge_type.target].take(table.target[rows])
            own = keys[done : done + len(one)]
            # The smaller rank first: direction does not change the fingerprint. Ranks have 32 bits each.
            np.minimum(one, other, out=own)
            own <<= np.uint64(32)
            own |= np.maximum(one, other)
            done += len(one)
    return sorted_keys(keys)
