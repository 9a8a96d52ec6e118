"""Tables of edge values: the figures of a graph beside itself, and those of values that say nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import attribute_tables
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType


@pytest.fixture(scope="module")
def original() -> Graph:
    return attribute_tables.generated(20_000)


def test_a_graph_beside_itself_is_not_off(original: Graph):
    found = attribute_tables.figures(original, original)
    assert {name: found[name] for name in ("TV or EMD", "nodes", "correlation", "target means")} == {
        "TV or EMD": 0,
        "nodes": 0,
        "correlation": 0,
        "target means": 0,
    }
    assert found["spread"] == 1
    assert 0.9 < found["AUC"] < 0.99  # of two nodes' means, without the edge itself


def test_values_dealt_out_anew_tell_nothing(original: Graph):
    table = original.edges["edge"]
    column = np.random.default_rng(5).permutation(table.values.columns["trust"])
    shuffled = replace(table, values=EdgeValues({"trust": column}))
    found = attribute_tables.figures(original, Graph(original.schema, original.nodes, {"edge": shuffled}))
    assert found["TV or EMD"] == 0
    assert found["target means"] > 1
    assert abs(found["AUC"] - 0.5) < 0.03


def test_more_is_kept_than_a_histogram_does(original: Graph):
    told = {
        row: attribute_tables.figures(original, attribute_tables.valued(original, 4, row)[0])
        for row in ("histogram", "this")
    }
    assert told["this"]["AUC"] > told["histogram"]["AUC"] + 0.1
    assert told["this"]["target means"] < told["histogram"]["target means"]


def test_other_methods_are_run_where_they_are_named():
    own, named = ([*attribute_tables.rows("labels", each)] for each in (["dcsbm"], ["anchored", "keyframe"]))
    assert {row for *_, row in own} == {"read", "this"}
    graphs = {
        method: {name for _, name, _, row in named if row == method} for method in ("anchored", "keyframe")
    }
    assert graphs["anchored"] == {*attribute_tables.LABELLED, attribute_tables.ONE_WAY}
    assert graphs["keyframe"] == {*attribute_tables.LABELLED}


def test_tables_are_means_over_runs():
    line = {"table": "values", "graph": "g", "epsilon": 1, "row": "this"}
    lines = [line | {"run": run, "figures": {"TV or EMD": 0.1 * run, "nodes": 0.5}} for run in (0, 1)]
    assert "| 1 | this | .050 | .500 | 2 |" in "\n".join(attribute_tables.tables(lines))


def test_classes_that_are_drawn_with_edges_meet_and_labels_that_are_read_have_none():
    names = ("a", "b")
    group = Attribute(name="group", protection="protected", label=True, categories=names)
    schema = GraphSchema(node_types=(NodeType(count=80, attributes=(group,)),), edge_types=(EdgeType(),))
    source, target = np.triu_indices(80, 1)
    kept = (source % 2 == target % 2) & (np.random.default_rng(1).random(len(source)) < 0.5)
    column = pa.array([names[node % 2] for node in range(80)])
    nodes = {"node": NodeTable(80, None, {"group": column})}
    graph = Graph.build(schema, nodes, {"edge": EdgeTable(source[kept], target[kept])})
    found = {
        row: attribute_tables.labelled(graph, 50, row) for row in ("this", "anchored", "keyframe", "read")
    }
    for row in ("this", "anchored", "keyframe"):
        assert found[row]["true homophily"] == 1
        assert found[row]["homophily"] > 0.7
    assert "homophily" not in found["read"]
    lines = [
        {"table": "labels", "graph": "g", "epsilon": 1, "row": row, "run": 0, "figures": figures}
        for row, figures in found.items()
    ]
    assert "| - |" in "\n".join(attribute_tables.tables(lines))
