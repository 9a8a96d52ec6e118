"""Caveats follow from public facts; warnings from the original, for curators only."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from core.evaluation import suite
from core.evaluation.metric import Suite
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Derived, EdgeType, GraphSchema, NodeType
from core.privacy.units import Unit
from core.reports.comparison import Comparison
from core.reports.evidence import Attack, Attacks
from core.reports.html.wording import SEVERE
from core.reports.model import GuaranteePart
from core.reports.notices import READ_OFF, caveats, warnings


def guarantee(**changes) -> GuaranteePart:
    values = {
        "kind": "pure",
        "epsilon": "1",
        "delta": "0",
        "unit": Unit.EDGE,
        "window": None,
        "statement": "One edge, epsilon 1.",
        "assurance": "proven",
    }
    return GuaranteePart(**(values | changes))


def codes(
    part: GuaranteePart, schema: GraphSchema | None = None, attributes=False, seeded=False
) -> list[str]:
    found = caveats(part, schema or GraphSchema(), protected_attributes=attributes, seeded=seeded)
    return [notice.code for notice in found]


@pytest.mark.parametrize(
    ("unit", "window", "code"),
    [
        (Unit.EDGE, None, "unit_edge"),
        (Unit.EVENT, None, "unit_event"),
        (Unit.W_EVENT, 5, "unit_w_event"),
        (Unit.PAIR, None, "unit_pair"),
        (Unit.NODE, None, "unit_node"),
    ],
)
def test_every_unit_says_what_it_does_not_cover(unit, window, code):
    assert codes(guarantee(unit=unit, window=window)) == [
        "node_set_public" if unit is Unit.NODE else "node_privacy_not_offered",
        code,
        "selection_not_covered",
    ]


def test_the_node_caveat_names_who_is_protected():
    kinds = (NodeType(name="patient", protected=True), NodeType(name="diagnosis"))
    relation = EdgeType(name="has", source="patient", target="diagnosis")
    patients = GraphSchema(node_types=kinds, edge_types=(relation,))
    found = caveats(guarantee(unit=Unit.NODE), patients, protected_attributes=False, seeded=False)
    assert "all edges of one node of the protected type, patient, in every relation" in found[1].text


@pytest.mark.parametrize("unit", list(Unit))
def test_edges_of_a_node_are_priced_where_their_number_is_declared(unit):
    schema = GraphSchema(node_types=(NodeType(degree_bound=3),))
    found = caveats(guarantee(unit=unit, delta="0.000001"), schema, protected_attributes=False, seeded=False)
    texts = [notice.text for notice in found if notice.code == "node_at_a_bound"]
    assert len(texts) == (unit in (Unit.EDGE, Unit.EVENT))
    for text in texts:
        assert "no node of type node has more than 3 protected edges" in text
        assert "epsilon 6 and delta 2.35e-4" in text


def test_the_w_event_caveat_names_the_window():
    found = caveats(
        guarantee(unit=Unit.W_EVENT, window=7), GraphSchema(), protected_attributes=False, seeded=False
    )
    assert "more than 7 consecutive snapshots is not protected" in found[1].text


@pytest.mark.parametrize(("epsilon", "large"), [("10", False), ("10.000000001", True), ("0.5", False)])
def test_an_epsilon_above_ten_is_called_out(epsilon, large):
    assert ("large_epsilon" in codes(guarantee(epsilon=epsilon))) == large


def test_a_release_without_guarantee_says_so_and_speaks_of_no_unit():
    found = codes(guarantee(kind="none", epsilon=None, delta=None))
    assert found == ["node_privacy_not_offered", "no_guarantee"]


def test_public_relations_attributes_and_seeds_are_disclosed():
    schema = GraphSchema(edge_types=(EdgeType(name="knows"), EdgeType(name="near", public=True)))
    found = codes(guarantee(), schema, attributes=True, seeded=True)
    assert found[3:] == ["public_relation_copied", "attributes_left_out", "seeded_sampling"]


def test_what_was_read_off_the_data_is_said_to_lie_outside_the_guarantee():
    found = caveats(
        guarantee(),
        GraphSchema(),
        protected_attributes=False,
        seeded=False,
        derived=tuple(reversed(Derived)),
    )
    codes = [notice.code for notice in found[3:]]
    assert codes[:2] == ["universe_from_edges", "grid_from_data"]
    assert codes[2:] == [f"{mark}_from_data" for mark in list(Derived)[2:]]
    assert READ_OFF == set(codes) <= SEVERE
    for notice in found[3:]:
        assert "outside the guarantee" in notice.text


def test_a_small_universe_is_said_to_be_small():
    said = {
        nodes: [
            n.code
            for n in caveats(
                guarantee(), GraphSchema(), protected_attributes=False, seeded=False, nodes=nodes
            )
        ]
        for nodes in (99, 100, None)
    }
    assert "few_nodes" in said[99]
    assert "few_nodes" not in said[100] + said[None]


def attacked(*attacks: Attack) -> Attacks:
    signature = dict.fromkeys(("per_step", "sequence", "reference_per_step", "reference_sequence"), 0.1)
    return Attacks.model_validate(
        {
            "degree_signature": {"steps": 1, "per_type": {}, "reference_per_type": {}, **signature},
            "inference": attacks,
        }
    )


def attack(low: float, high: float) -> Attack:
    auc = {"value": (low + high) / 2, "low": low, "high": high}
    score = {"auc": auc, "tpr_at_fpr_1e3": None, "tpr_at_fpr_1e2": None}
    return Attack.model_validate(
        {
            "name": "common_neighbours",
            "title": "Common neighbours",
            "knowledge": "",
            "edge_type": "edge",
            "positives": 9,
            "negatives": 9,
            "published": score,
            "reference": None,
        }
    )


def compared(original: nx.Graph, synthetic: nx.Graph) -> Comparison:
    graphs = []
    for graph in (original, synthetic):
        pairs = np.array(sorted(graph.edges), dtype=np.int64).reshape(-1, 2)
        edges = {"edge": EdgeTable(pairs[:, 0], pairs[:, 1])}
        graphs.append(Graph.build(GraphSchema(), {"node": NodeTable(len(graph))}, edges))
    return Comparison.model_validate(suite.compare(graphs[0], graphs[1], Suite.QUICK, lambda *_: None))


def test_small_denominators_and_tiny_snapshots_are_warned_of():
    ring = nx.cycle_graph(40)  # no triangles: transitivity 0
    found = warnings(guarantee(), compared(ring, nx.complete_graph(40)), attacked())
    assert {(n.code, n.metric) for n in found} == {
        ("tiny_snapshot", None),
        ("small_denominator", "transitivity"),
        ("small_denominator", "mean_local_clustering"),
    }
    assert {n.edge_type for n in found} == {"edge"}


def test_a_sound_comparison_carries_no_warning():
    graph = nx.disjoint_union(nx.complete_graph(12), nx.star_graph(12))
    assert warnings(guarantee(), compared(graph, graph), attacked()) == ()
    assert [n.code for n in warnings(guarantee(epsilon="11"), compared(graph, graph), attacked())] == [
        "large_epsilon"
    ]


@pytest.mark.parametrize(
    ("low", "high", "warned"), [(0.61, 0.7, True), (0.2, 0.39, True), (0.55, 0.7, False), (0.4, 0.6, False)]
)
def test_an_attack_that_succeeds_beyond_doubt_is_warned_of(low, high, warned):
    graph = nx.disjoint_union(nx.complete_graph(12), nx.star_graph(12))
    found = warnings(guarantee(), compared(graph, graph), attacked(attack(low, high)))
    assert [(n.code, n.edge_type) for n in found] == [("attack_succeeds", "edge")] * warned


@pytest.mark.parametrize(("control", "warned"), [(0.5, True), (0.6, True), (0.65, False), (0.35, False)])
def test_what_degrees_alone_reach_on_the_targets_is_no_success(control, warned):
    graph = nx.disjoint_union(nx.complete_graph(12), nx.star_graph(12))
    degrees = attack(control - 0.02, control + 0.02).model_copy(
        update={"name": "preferential_attachment", "control": True}
    )
    found = warnings(guarantee(), compared(graph, graph), attacked(degrees, attack(0.64, 0.68)))
    assert [n.code for n in found] == ["attack_succeeds"] * warned
