"""Keys in order, whichever way they are sorted, and found so by those who use it."""

from __future__ import annotations

import numpy as np
import pytest

from core.graphs.columns import canonical, key_sort
from core.graphs.columns.tables import EdgeTable, NodeTable
from core.graphs.graph import Graph
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
