"""Semantic membership inference where classes are communities, and where they are nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from core.evaluation.attacks import metapaths, semantic
from core.evaluation.attacks.projection import protected_relations
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from core.reports.evidence import Attack
from tests.support.attacked_graphs import clustered, clustered_bipartite, rewired

CLASSES = pa.array([f"c{i // 64}" for i in range(400)])  # four communities of 16 share a class


def labelled(pairs, classes=CLASSES, protection=Protection.WITHHELD) -> Graph:
    attribute = Attribute(name="club", protection=protection, label=True)
    schema = GraphSchema(node_types=(NodeType(count=len(classes), attributes=(attribute,)),))
    nodes = {"node": NodeTable(len(classes), None, {"club": classes})}
    return Graph.build(schema, nodes, {"edge": EdgeTable(*pairs)})


def areas(original: Graph, synthetic: Graph, field: str = "published") -> list[float]:
    rows = semantic.entries(original, synthetic, protected_relations(original, synthetic), 1)
    for row in rows:
        Attack.model_validate(row)
    return [row[field]["auc"]["value"] for row in rows]


def test_the_original_gives_classes_away_and_a_rewiring_does_not():
    original, other = labelled(clustered()), labelled(rewired(clustered()))
    assert min(areas(original, original)) > 0.9
    assert areas(original, other, "reference") == areas(original, original)
    assert areas(original, other) == areas(original, other)
    for area in areas(original, other):
        assert abs(area - 0.5) < 0.1


def typed(links, classes) -> Graph:
    """People in groups; the groups' public towns join them."""
    schema = GraphSchema(
        node_types=(
            NodeType(name="person", count=240, attributes=(Attribute(name="club"),)),
            NodeType(name="group", count=240),
        ),
        edge_types=(EdgeType(name="joins", source="person", target="group", temporal=True),),
        time=TimeGrid(count=2),
    )
    nodes = {"person": NodeTable(240, None, {"club": classes}), "group": NodeTable(240)}
    source, target = links
    step = np.arange(len(source)) % 2
    return Graph.build(schema, nodes, {"joins": EdgeTable(source, target, step)})


def test_two_hops_through_another_type_and_over_time_carry_the_class():
    classes = pa.array([f"c{i // 60}" for i in range(240)])
    links = clustered_bipartite()
    original = typed(links, classes)
    assert min(areas(original, original)) > 0.9
    for area in areas(original, typed(rewired(links, bipartite=True), classes)):
        assert abs(area - 0.5) < 0.13


def test_a_node_does_not_reach_its_own_class():
    # A triangle 0-1-2 and a pendant 3 at 2; all known, classes 0, 1, 0, 1.
    pairs = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 3])
    graph = labelled(pairs, pa.array(["a", "b", "a", "b"]))
    known = np.arange(4)
    every = metapaths.hops(graph, graph.schema.edge_types)
    own = np.eye(2)[[0, 1, 0, 1]]
    classes = metapaths.sp.csr_array(own)
    one, two = metapaths._reached(every, "node", known, classes, own)
    assert one.tolist() == [[1, 1], [2, 0], [1, 2], [1, 0]]
    # Walks of two links that do not come back: 0 -> 2 (by 1), 1 and 3 (by 2).
    assert two.tolist() == [[1, 2], [2, 1], [1, 1], [1, 1]]


def test_paths_cross_a_protected_relation():
    schema = GraphSchema(
        edge_types=(EdgeType(name="private", directed=True), EdgeType(name="open", public=True)),
        node_types=(NodeType(count=4),),
    )
    pairs = EdgeTable(np.array([0, 1]), np.array([1, 2]))
    graph = Graph.build(schema, {"node": NodeTable(4)}, {"private": pairs, "open": pairs})
    every = metapaths.hops(graph, schema.edge_types[:1])
    assert [(hop.protected, hop.matrix.nnz) for hop in every] == [(True, 2), (True, 2), (False, 4)]
    none = metapaths.sp.csr_array((4, 2))
    paths = list(metapaths._reached(every, "node", np.arange(4), none, np.zeros((4, 2))))
    assert len(paths) == 2 + 9 - 1  # both directions of the private one, and all pairs but open-open


def test_nulls_and_rare_classes_are_left_out_and_the_split_is_fixed():
    names = ["a"] * 50 + ["b"] * 60 + ["rare"] * 9 + [None] * 20
    graph = labelled((np.array([0]), np.array([1])), pa.array(names))
    (subject,) = semantic.subjects(graph, graph.schema.edge_types, 1)
    assert subject.count == 2
    assert len(subject.known) == 55
    assert subject.label.sum() == 55
    nodes = np.concatenate([subject.known, subject.node[subject.label]])
    assert sorted(nodes) == list(range(110))
    true = np.where(subject.node < 50, 0, 1)
    assert np.array_equal(subject.stated == true, subject.label)
    again = semantic.subjects(graph, graph.schema.edge_types, 1)[0]
    assert np.array_equal(subject.node, again.node)


@pytest.mark.parametrize(
    ("classes", "protection"),
    [
        (CLASSES, Protection.PUBLIC),  # no secret
        (pa.array(["same"] * 400), Protection.WITHHELD),
        (pa.array([str(i) for i in range(400)]), Protection.WITHHELD),
        (pa.array([None] * 400, pa.string()), Protection.WITHHELD),
        (pa.array(["a", "b"] * 15), Protection.PROTECTED),  # too few nodes
    ],
)
def test_without_a_class_to_infer_it_says_so(classes, protection):
    none = np.empty(0, dtype=np.int64)
    graph = labelled((none, none), classes, protection)
    rows = semantic.entries(graph, graph, graph.schema.edge_types, 1)
    assert [row["name"] for row in rows] == list(semantic.CLASSIFIERS)
    for row in rows:
        assert Attack.model_validate(row).not_run == semantic.NOTHING_TO_INFER
        assert row["published"] is row["reference"] is None
