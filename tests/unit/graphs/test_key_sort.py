"""Keys in order, whichever way they are sorted, and found so by those who use it."""

from __future__ import annotations

import numpy as np
import pytest

from core.graphs.columns import canonical, key_sort
from core.graphs.columns.tables import EdgeTable, NodeTable
from core.graphs.graph import Graph
from core.graphs.ingest.relations import Gathered
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored import fingerprint

LARGEST = 2**64 - 1


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_sort, "MANY", 0)


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [0],
        [0, 0, 0],
        [LARGEST, 0, LARGEST, 1],
        [1 << 63, 1 << 62, (1 << 63) | 1],
        [7 << 32 | 3, 7 << 32 | 1, 3 << 32 | 9],
        [1 << bit for bit in range(63, -1, -1)],
    ],
)
def test_every_digit_counts(keys: list[int]) -> None:
    assert key_sort.sorted_keys(np.array(keys, dtype=np.uint64)).tolist() == sorted(keys)


@pytest.mark.parametrize("bits", [1, 9, 10, 11, 34, 63, 64])
def test_random_keys_are_sorted_as_numpy_sorts_them(bits: int) -> None:
    keys = np.random.default_rng(bits).integers(0, 2**bits, 3000, dtype=np.uint64)
    wanted = np.sort(keys)
    found = key_sort.sorted_keys(keys)
    assert found.dtype == np.uint64
    np.testing.assert_array_equal(found, wanted)


def test_keys_in_order_stay_where_they_are() -> None:
    keys = np.arange(100, dtype=np.uint64) << np.uint64(40)
    assert key_sort.sorted_keys(keys) is keys


@pytest.mark.parametrize("stretch", [1, 3, 64])
def test_keys_come_once_however_they_are_cut(stretch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_sort, "STRETCH", stretch)
    keys = np.sort(np.random.default_rng(0).integers(0, 40, 60, dtype=np.uint64))
    assert np.concatenate(list(key_sort.distinct(keys))).tolist() == np.unique(keys).tolist()


def test_gathered_columns_grow_and_widen() -> None:
    gathered = Gathered()
    assert gathered.columns() == []
    parts = [np.arange(start, start + size) for start, size in ((0, 5), (5, 0), (5, 9), (14, 1))]
    for part in parts:
        gathered.add((part.astype(np.int32), part.astype(np.int32 if part[:1].sum() < 5 else np.int64)))
    narrow, wide = gathered.columns()
    assert (narrow.dtype, wide.dtype) == (np.int32, np.int64)
    assert narrow.tolist() == wide.tolist() == list(range(15))


@pytest.mark.parametrize("few", [False, True])
def test_merged_columns_cannot_be_written(few: bool) -> None:
    ends = np.random.default_rng(0).integers(0, 4 if few else 500, (2, 900))
    schema, nodes = GraphSchema(node_types=(NodeType(count=500),)), {"node": NodeTable(500)}
    merged = canonical.merge_edges(schema, schema.edge_types[0], nodes, EdgeTable(ends[0], ends[1]))
    for column in (merged.edges.source, merged.edges.target):
        assert canonical.frozen(column) is column
        assert few == (column.base is None)


@pytest.mark.parametrize("temporal", [False, True])
def test_a_graph_and_its_fingerprint_are_the_same_either_way(
    temporal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    edge_type = EdgeType(temporal=temporal)
    schema = GraphSchema(
        node_types=(NodeType(count=50),),
        edge_types=(edge_type,),
        time=TimeGrid(count=5) if temporal else None,
    )
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 50, (2, 900))
    rows = EdgeTable(ends[0], ends[1], rng.integers(0, 5, 900) if temporal else None)
    nodes = {schema.node_types[0].name: NodeTable(50)}

    def built() -> tuple[canonical.Merged, Graph]:
        merged = canonical.merge_edges(schema, edge_type, nodes, rows)
        return merged, Graph.build(schema, nodes, {edge_type.name: rows})

    merged, graph = built()
    monkeypatch.setattr(key_sort, "STRETCH", 7)
    assert built()[1].equals(graph)
    monkeypatch.setattr(key_sort, "MANY", 1 << 40)
    as_before, before = built()
    assert graph.equals(before)
    assert (merged.loops_dropped, merged.duplicates_merged) == (
        as_before.loops_dropped,
        as_before.duplicates_merged,
    )
    digest = fingerprint.fingerprint(before, bytes(32))
    monkeypatch.setattr(key_sort, "MANY", 0)
    assert fingerprint.fingerprint(graph, bytes(32)) == digest
