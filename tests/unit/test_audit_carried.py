"""Audits of what is carried: canaries with values and rows, of one method and of a composition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.errors import NotAccepted
from core.privacy.accounting.audited import BESIDE, EDGE, GROUP, KINDS, VALUE, AuditSpec, canary_schema
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.units import Unit
from core.publishing.audit_targets import target_of, worlds
from core.settings import Settings
from core.workflows.audits.plans import AuditRequest, planned

SHARES = {"attribute_share": 0.25, "node_attribute_share": 0.1}
STRUCTURES = {
    EDGE: {"method": "dcsbm"},
    "*": {"method": "anchored", "parameters": {"evidence": "none"}},
}
COMPOSED = {"method": "composed", "epsilon": "1", "runs": 100}


def spec_of(**request: Any) -> AuditSpec:
    return planned(AuditRequest(**request), Settings())


@pytest.mark.parametrize("unit", ["edge", "event", "pair"])
def test_a_composition_is_audited_on_two_relations_whose_edges_and_nodes_carry(unit: str):
    spec = spec_of(**COMPOSED, unit=unit, parameters={"structures": STRUCTURES} | SHARES)
    assert [each.name for each in spec.graph_schema.edge_types] == [EDGE, BESIDE]
    assert set(spec.params["structures"]) == {EDGE, BESIDE}  # so that nothing follows from a later default
    plan = PrivacyPlan.from_json(spec.plan)
    assert {each.edge_type for each in plan.allotments} > {EDGE, BESIDE}  # rows stand apart
    assert (plan.cost().nano_epsilon or 0) <= 10**9
    target = target_of(spec)
    for graph, allowed in ((target.graph, target.plan), (target.neighbour, target.control)):
        assert np.isfinite(target.once(graph, allowed)).all()


@pytest.mark.parametrize("bipartite", [False, True])
def test_canaries_carry_what_is_to_be_carried(bipartite: bool):
    schema = canary_schema(Unit.EDGE, None, bipartite=bipartite, values=True, rows=True, several=True)
    one, two = worlds(schema, Unit.EDGE)
    held = [graph.edges[EDGE].values for graph in (one, two)]
    assert held[0] is not None
    assert held[1] is not None
    assert held[0].columns[VALUE].sum() == 1  # the canary alone
    assert held[1].columns[VALUE].sum() == 0
    assert one.edges[BESIDE].count == two.edges[BESIDE].count == two.edges[EDGE].count
    for name in one.nodes:
        groups = [graph.nodes[name].attributes[GROUP].to_pylist() for graph in (one, two)]
        assert groups[0] == groups[1]
        assert set(groups[0]) == set(KINDS)


def test_a_person_is_replaced_with_its_row():
    one, two = worlds(canary_schema(Unit.NODE, None, rows=True), Unit.NODE)
    groups = [graph.nodes["node"].attributes[GROUP].to_pylist() for graph in (one, two)]
    assert groups[0][1:] == groups[1][1:]
    assert groups[0][0] != groups[1][0]


@pytest.mark.parametrize(
    ("method", "parameters", "more"),
    [
        ("anchored", {"attribute_share": 0.3}, 2),
        ("dcsbm", {"node_attribute_share": 0.3}, 6),
        ("composed", {"structures": {"*": {"method": "dcsbm"}}} | SHARES, 8),
    ],
)
def test_what_is_drawn_of_values_and_rows_is_looked_at(method: str, parameters: dict[str, Any], more: int):
    spec = spec_of(method=method, epsilon="8", parameters=parameters, runs=100)
    target = target_of(spec)
    seen = np.stack([target.once(target.graph, target.plan) for _ in range(5)])
    assert seen.shape == (5, 4 + more)  # edges, the canary, both its ends; and what is carried
    assert np.isfinite(seen).all()
    if "attribute_share" in parameters:
        assert (seen[:, 4:6].sum(axis=1) == seen[:, 0]).all()  # every edge has a value
    if "node_attribute_share" in parameters:
        assert (seen[:, -2:].sum(axis=1) == 6).all()  # every node has a group


def test_a_structure_of_no_relation_is_refused():
    with pytest.raises(NotAccepted, match="edge, beside") as refused:
        spec_of(**COMPOSED, parameters={"structures": {"other": {"method": "dcsbm"}}})
    assert refused.value.members["field"] == "parameters.structures"
