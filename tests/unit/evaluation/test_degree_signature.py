"""The degree-signature attack on graphs whose classes are known."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from core.evaluation.attacks.degree_signature import degree_signature, step_degrees, success
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid


def static(graph: nx.Graph) -> Graph:
    pairs = np.array(sorted(graph.edges), dtype=np.int64).reshape(-1, 2)
    nodes = {"node": NodeTable(graph.number_of_nodes())}
    return Graph.build(GraphSchema(), nodes, {"edge": EdgeTable(pairs[:, 0], pairs[:, 1])})


@pytest.mark.parametrize(
    ("graph", "chance"),
    [
        (nx.cycle_graph(12), 1 / 12),  # one class of twelve
        (nx.star_graph(9), 2 / 10),  # the hub alone, nine leaves
        (nx.path_graph(5), 2 / 5),  # two ends, three inner nodes
        (nx.empty_graph(4), 1 / 4),
    ],
)
def test_on_the_original_the_probability_is_classes_over_nodes(graph, chance):
    found = degree_signature(static(graph), static(graph), [None])
    for name in ("per_step", "sequence", "reference_per_step", "reference_sequence"):
        assert found[name] == pytest.approx(chance)


def test_a_node_whose_degree_changed_is_never_found():
    assert success(np.array([1, 1, 2]), np.array([2, 1, 1])).tolist() == [0.0, 0.5, 0.0]


def test_a_release_without_edges_hides_all_who_have_one():
    found = degree_signature(static(nx.cycle_graph(6)), static(nx.empty_graph(6)), [None])
    assert found["per_step"] == 0.0
    assert found["reference_per_step"] == pytest.approx(1 / 6)


def temporal() -> Graph:
    """Three users: 0-1 speak in step 0, 1-2 in step 1; user 2 belongs to the only group."""
    schema = GraphSchema(
        node_types=(NodeType(name="user", count=3), NodeType(name="group", count=1)),
        edge_types=(
            EdgeType(name="talks", source="user", target="user", temporal=True),
            EdgeType(name="joins", source="user", target="group"),
        ),
        time=TimeGrid(count=2),
    )
    talks = EdgeTable(np.array([0, 1]), np.array([1, 2]), np.array([0, 1]))
    edges = {"talks": talks, "joins": EdgeTable(np.array([2]), np.array([0]))}
    return Graph.build(schema, {"user": NodeTable(3), "group": NodeTable(1)}, edges)


def test_untimed_edges_count_in_every_step_and_out_degrees_at_the_source():
    graph = temporal()
    assert [step_degrees(graph, t)["user"].tolist() for t in (0, 1)] == [[1, 1, 1], [0, 1, 2]]
    assert [step_degrees(graph, t, "out")["user"].tolist() for t in (0, 1)] == [[1, 0, 1], [0, 1, 1]]
    assert step_degrees(graph, 1)["group"].tolist() == [1]
    with pytest.raises(ValueError, match="direction"):
        step_degrees(graph, 0, "in")


def test_the_sequence_tells_more_apart_than_any_single_step():
    found = degree_signature(temporal(), temporal(), (0, 1))
    # Step 0: all four have degree 1. Step 1: 0, {1, group}, 2. Sequences: (1,0), {(1,1) twice}, (1,2).
    assert found["per_step"] == pytest.approx((1 / 4 + 3 / 4) / 2)
    assert found["sequence"] == pytest.approx(3 / 4)
    assert found["per_type"]["user"] == pytest.approx((1 / 3 + 1) / 2)
    assert found["per_type"]["group"] == 1.0


def test_the_typed_form_searches_one_node_type_and_has_its_own_reference():
    original = temporal()
    # The release swaps nobody's degree in step 0 and gives user 0 a second contact in step 1.
    talks = EdgeTable(np.array([0, 0, 1]), np.array([1, 1, 2]), np.array([0, 1, 1]))
    edges = {"talks": talks, "joins": original.edges["joins"]}
    found = degree_signature(original, Graph.build(original.schema, original.nodes, edges), (0, 1))
    # Users, step 0: degrees 1, 1, 1 in both: 1/3. Step 1: 0, 1, 2 against 1, 2, 2: user 2 among two.
    assert found["per_type"]["user"] == pytest.approx((1 / 3 + 1 / 6) / 2)
    assert found["per_type"]["group"] == 1.0
    assert found["reference_per_type"]["user"] == pytest.approx((1 / 3 + 1) / 2)
    assert found["reference_per_type"]["group"] == 1.0


def test_a_node_type_without_nodes_is_left_out():
    schema = GraphSchema(node_types=(NodeType(name="node", count=2), NodeType(name="rest")))
    graph = Graph.build(schema, {"rest": NodeTable(0)}, {"edge": EdgeTable(np.array([0]), np.array([1]))})
    found = degree_signature(graph, graph, [None])
    assert found["per_type"] == found["reference_per_type"] == {"node": 0.5}
