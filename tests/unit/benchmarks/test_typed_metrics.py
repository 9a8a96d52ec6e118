"""The structure measures of typed releases, on hand values and against plain loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from benchmarks import typed_metrics
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid

SCHEMA = GraphSchema(
    node_types=(
        NodeType(name="u", count=3),
        NodeType(name="m", count=4),
        NodeType(name="g", count=2),
        NodeType(name="o", count=2),
    ),
    edge_types=(
        EdgeType(name="u-m", source="u", target="m", temporal=True),
        EdgeType(name="m-g", source="m", target="g"),
        EdgeType(name="u-o", source="u", target="o"),
    ),
    time=TimeGrid(count=2),
)
READING = typed_metrics.Reading("u-m", ("~u-o", "u-m", "m-g"))


def graph(timed, static=(), owners=()) -> Graph:
    """``timed`` holds (source, target, step), the others pairs."""

    def columns(rows, width):
        found = np.array(rows, dtype=np.int64).reshape(-1, width)
        return EdgeTable(*(found[:, place] for place in range(width)))

    nodes = {kind.name: NodeTable(kind.count) for kind in SCHEMA.node_types}
    tables = {"u-m": columns(timed, 3), "m-g": columns(static, 2), "u-o": columns(owners, 2)}
    return Graph.build(SCHEMA, nodes, tables)


ORIGINAL = graph(
    [(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (2, 3, 1)],
    [(0, 0), (1, 1), (2, 1), (3, 0)],
    [(0, 0), (1, 1), (2, 1)],
)


def bipartite(rows: int, columns: int, keys: np.ndarray, steps: np.ndarray, count: int) -> Graph:
    """One timed relation ``u-m`` from keys ``source * columns + target``."""
    schema = GraphSchema(
        node_types=(NodeType(name="u", count=rows), NodeType(name="m", count=columns)),
        edge_types=(EdgeType(name="u-m", source="u", target="m", temporal=True),),
        time=TimeGrid(count=count),
    )
    table = EdgeTable(keys // columns, keys % columns, steps.astype(np.int32))
    return Graph.build(schema, {"u": NodeTable(rows), "m": NodeTable(columns)}, {"u-m": table})


def test_the_original_is_at_no_distance_from_itself():
    found = typed_metrics.figures(ORIGINAL, ORIGINAL, READING)
    apart = [value for name, value in found.items() if name.startswith(("degree_tv", "node_l1"))]
    assert len(apart) == 12
    assert apart == [0.0] * 12
    assert (found["chain_tv"], found["active_tv"], found["cycles"]) == (0.0, 0.0, 1.0)
    assert found["EO-Rate"] == 1.0
    assert found["auc_new"] is None  # there is no new pair


def test_degree_figures_have_the_values_worked_out_by_hand():
    # Step 0: user degrees 2 2 0 against 1 0 0; step 1: 0 0 1 against 0 0 2.
    other = graph([(0, 0, 0), (2, 0, 1), (2, 1, 1)])
    found = typed_metrics.degree_figures(ORIGINAL, other, "u-m")
    assert found["degree_tv u-m source"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found["node_l1 u-m source"] == pytest.approx((1 + 2 + 1) / 5)
    # Movies: 2 2 0 0 against 1 0 0 0, and 0 0 0 1 against 1 1 0 0; in all 2 2 0 1 against 2 1 0 0.
    assert found["degree_tv u-m target"] == pytest.approx((2 / 4 + 1 / 4) / 2)
    assert found["node_l1 u-m target"] == pytest.approx(2 / 5)
    lost = typed_metrics.degree_figures(ORIGINAL, other, "m-g")
    assert lost["node_l1 m-g target"] == 1.0


def test_nothing_to_compare_is_undefined_not_perfect():
    empty = graph([])
    assert typed_metrics.degree_figures(empty, ORIGINAL, "u-m")["node_l1 u-m source"] is None
    assert typed_metrics.chain_tv(empty, empty, READING.chain) is None
    assert typed_metrics.structure(empty, ORIGINAL, READING)["cycles"] is None
    assert typed_metrics.structure(empty, ORIGINAL, READING)["auc"] is None


def test_cycles_are_counted_within_each_step():
    assert typed_metrics.four_cycles(ORIGINAL, "u-m") == 1
    # The same four edges in two steps close no cycle.
    parted = graph([(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)])
    assert typed_metrics.four_cycles(parted, "u-m") == 0


def test_cycles_agree_with_a_count_over_pairs_of_rows():
    rng = np.random.default_rng(3)
    keys = rng.choice(12 * 15, 60, replace=False)
    drawn = bipartite(12, 15, keys, rng.integers(0, 2, 60), 2)
    expected = 0
    for step in range(2):
        dense = drawn.cell("u-m", step).adjacency.toarray().astype(int)
        common = [int((a * b).sum()) for a, b in combinations(dense, 2)]
        expected += sum(shared * (shared - 1) // 2 for shared in common)
    assert expected > 0
    assert typed_metrics.four_cycles(drawn, "u-m") == expected


def test_activity_counts_steps_not_edges():
    # Active steps: one each in the original; here node 0 is active in both, node 1 in none.
    other = graph([(0, 0, 0), (0, 1, 1), (2, 0, 1), (2, 1, 1)])
    assert typed_metrics.active_tv(ORIGINAL, other, "u-m") == pytest.approx(2 / 3)


def test_the_chain_table_agrees_with_walking_it():
    other = graph([(0, 3, 0), (1, 1, 0), (2, 2, 1)], [(1, 1), (2, 1), (3, 0)], [(0, 0), (1, 1), (2, 0)])
    expected = []
    for step in range(2):
        shares = []
        for each in (ORIGINAL, other):
            table = np.zeros((2, 2))
            timed, static, owners = (each.edges[name] for name in ("u-m", "m-g", "u-o"))
            for u, m, when in zip(timed.source, timed.target, timed.step, strict=True):
                for v, o in zip(owners.source, owners.target, strict=True):
                    for n, g in zip(static.source, static.target, strict=True):
                        table[o, g] += when == step and u == v and m == n
            shares.append(table / table.sum())
        expected.append(np.abs(shares[0] - shares[1]).sum() / 2)
    assert 0 < np.mean(expected) < 1
    assert typed_metrics.chain_tv(ORIGINAL, other, READING.chain) == pytest.approx(np.mean(expected))


def test_a_step_that_one_graph_alone_walks_counts_as_wrong():
    other = graph([(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)], [(0, 0), (1, 1)], [(0, 0), (1, 1)])
    assert typed_metrics.chain_tv(ORIGINAL, other, READING.chain) == pytest.approx((0 + 1) / 2)


def blocks(seed: int, share: float) -> Graph:
    """Two camps of users and of movies; ``share`` of the edges stay in their camp. Two steps."""
    rng = np.random.default_rng(seed)
    rows, columns, edges = 120, 160, 4000
    source = rng.integers(0, rows, edges)
    same = rng.random(edges) < share
    half = columns // 2
    target = rng.integers(0, half, edges) + half * ((source < rows // 2) ^ same)
    keys = np.unique(source * columns + target)
    return bipartite(rows, columns, keys, rng.integers(0, 2, len(keys)), 2)


def test_auc_sees_preferences_and_nothing_where_there_are_none():
    original, kept, none = blocks(1, 0.9), blocks(2, 0.9), blocks(3, 0.5)
    auc, auc_new = typed_metrics.preference_aucs(original, kept, "u-m")
    assert auc > 0.6
    assert auc_new > 0.6  # another draw of the same preferences: not by copied edges
    blind, blind_new = typed_metrics.preference_aucs(original, none, "u-m")
    assert blind == pytest.approx(0.5, abs=0.03)
    assert blind_new == pytest.approx(0.5, abs=0.03)


def test_copied_edges_raise_auc_and_not_auc_new():
    original = blocks(1, 0.5)  # no preferences: what is left is the edges themselves
    table = original.edges["u-m"]
    keys = table.source.astype(np.int64) * 160 + table.target
    half = bipartite(120, 160, keys[::2], table.step[::2], 2)
    auc, auc_new = typed_metrics.preference_aucs(original, half, "u-m")
    assert auc > 0.6
    assert auc_new < 0.55


def test_degrees_alone_earn_no_auc():
    rng = np.random.default_rng(5)
    weight = 1 / (1 + np.arange(160))
    targets = rng.choice(160, 6000, p=weight / weight.sum())
    keys = np.unique(rng.choice(120, 6000, p=np.linspace(1, 9, 120) / 600) * 160 + targets)
    original = bipartite(120, 160, keys, rng.integers(0, 2, len(keys)), 2)
    targets = rng.choice(160, 6000, p=weight / weight.sum())
    keys = np.unique(rng.choice(120, 6000, p=np.linspace(1, 9, 120) / 600) * 160 + targets)
    other = bipartite(120, 160, keys, rng.integers(0, 2, len(keys)), 2)
    assert typed_metrics.preference_aucs(original, other, "u-m")[0] == pytest.approx(0.5, abs=0.05)


def test_aucs_repeat_and_an_empty_graph_scores_a_half():
    original = blocks(1, 0.9)
    once, again = (typed_metrics.preference_aucs(original, blocks(2, 0.9), "u-m") for _ in range(2))
    assert once == again
    empty = Graph.build(original.schema, original.nodes, {})
    assert typed_metrics.preference_aucs(original, empty, "u-m") == (0.5, 0.5)


def test_the_focus_needs_two_sides():
    schema = GraphSchema(
        node_types=(NodeType(count=3),), edge_types=(EdgeType(temporal=True),), time=TimeGrid(count=1)
    )
    table = EdgeTable(np.array([0]), np.array([1]), np.array([0], dtype=np.int32))
    friends = Graph.build(schema, {"node": NodeTable(3)}, {"edge": table})
    with pytest.raises(ValueError, match="two sides"):
        typed_metrics.preference_aucs(friends, friends, "edge")
