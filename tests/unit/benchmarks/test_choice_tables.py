"""What is chosen among rules and shares on the other graphs, and what counts as the same choice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import carry_shares, default_regret, relation_choice
from core.graphs.schema import EdgeType
from core.privacy.units import Unit


def line(name: str, relation: str, method: str, error: float, **facts: float):
    told = {"least": 50.0, "most": 5_000.0, "strength": 0.2, "inside": 0.0} | facts
    return {
        "set": name, "relation": relation, "method": method, "epsilon": 1.0, "run": 0,
        "errors": {"degree": error, "true": 0.0, "out": 0.5, "in": 0.5}, "facts": told,
    }  # fmt: skip


def relations(name: str, relation: str, errors: tuple[float, float, float], **facts: float):
    pairs = zip(relation_choice.CANDIDATES, errors, strict=True)
    return [line(name, relation, method, error, **facts) for method, error in pairs]


def test_a_rule_keeps_the_degrees_of_small_relations_and_of_few_nodes():
    facts = {"strength": 0.2, "inside": 0.0, "least": 943.0, "most": 1_682.0}
    assert relation_choice.rule(0.6, 100, 2_000, 2_000, facts) == "anchored, none"
    assert relation_choice.rule(0.6, 100, 2_000, 1_000, facts) == "hetesdg"
    assert relation_choice.rule(0.6, 1_000, 2_000, 2_000, facts) == "anchored"
    assert relation_choice.rule(0.1, 100, 2_000, 2_000, facts) == "anchored"
    inside = facts | {"inside": 1.0, "least": 90.0, "most": 90.0}
    assert relation_choice.rule(0.6, 100, 1_000, 0, inside) == "anchored, none"


def test_a_rule_is_chosen_without_the_graph_that_it_is_judged_on():
    lines = [
        *relations("acm", "subjects", (0.4, 0.1, 0.4)),
        *relations("dblp", "fields", (0.1, 0.5, 0.5), least=3_000.0),
        *relations("states", "in", (0.4, 0.2, 0.4)),
    ]
    found = {
        told: relation_choice.regrets_of(relation_choice.cases_of(lines), rule)
        for told, rule in relation_choice.rules().items()
    }
    assert relation_choice.chosen(found, "acm").startswith("worth 0.45; few 100")
    assert found["hetesdg"]["acm"] == [pytest.approx(0.3)]
    assert any("states" in row for row in relation_choice.tables(lines))


def test_relations_that_no_composition_could_serve_have_one_method():
    lines = [
        *relations("acm", "subjects", (0.4, 0.1, 0.4)),
        *relations("acm", "authors", (0.1, 0.4, 0.4), least=3_000.0),
    ]
    cases, rules = relation_choice.cases_of(lines), relation_choice.rules()
    few = next(rule for told, rule in rules.items() if "few 100" in told)
    assert relation_choice.regrets_of(cases, few) == {"acm": [pytest.approx(0.15)]}  # hetesdg for both


def test_generated_graphs_are_what_they_say():
    graph = relation_choice.generated(60)
    assert graph.nodes["node"].count == 60
    assert graph.edges["edge"].count > 90  # of 240, those that repeat none
    two = relation_choice.between(relation_choice.heavy(30, 20))
    assert two.nodes["left"].count <= 30
    assert two.nodes["right"].count <= 20
    found = relation_choice.correlations(graph, graph, "edge")
    assert found == {"out": pytest.approx(1), "in": pytest.approx(1)}


@pytest.mark.parametrize(("name", "same"), [("states", True), ("routes", False)])
def test_what_auto_took_before_is_compared_with_what_it_takes(name: str, same: bool):
    graph = relation_choice.load(name, Path())
    found = default_regret.both(graph, Unit.EDGE, 2.0)
    assert default_regret.alike(found) is same
    told = [default_regret.told(found[side]) for side in (default_regret.BEFORE, default_regret.NOW)]
    assert told == (["anchored"] * 2 if same else ["hetesdg", "anchored, none"])


def test_a_table_of_before_and_now_counts_what_is_the_same():
    base = {"set": "cora", "epsilon": 1.0, "before": "dcsbm", "now": "dcsbm"}
    other = {"set": "routes", "epsilon": 1.0, "before": "hetesdg", "now": "anchored, none", "run": 0}
    lines = [
        base | {"side": "same", "run": 0, "alike": True},
        other | {"side": "before", "error": 0.4, "seconds": 2.0},
        other | {"side": "now", "error": 0.3, "seconds": 1.0},
    ]
    printed = "\n".join(default_regret.tables(lines))
    assert "1 cases" in printed
    assert "| routes | 1 | hetesdg | anchored, none | 0.400 ± 0.000 | 0.300 ± 0.000 | 0.50 | 1 |" in printed
    assert "before 0.100 (0.100), now 0.000 (0.000)" in printed


def test_a_share_is_chosen_on_the_other_graphs():
    lines = []
    for graph, best in (("otc", 0.15), ("films", 0.15), ("raters", 0.35)):
        for share in carry_shares.SHARES["values"]:
            row = {"what": "values", "graph": graph, "share": share, "epsilon": 1.0, "run": 0}
            lines.append(row | {"structure": 0.5, "carried": 0.5 * (1 + (share != best))})
    found = carry_shares.regrets(lines, "values")
    assert found["otc"][0.15] == 0
    assert found["otc"][0.25] == pytest.approx(0.5)
    assert carry_shares.chosen(found, "raters") == 0.15
    assert any("chosen on the others" in row for row in carry_shares.tables(lines))


def test_flights_carry_a_delay_and_what_is_carried_has_no_error_beside_itself():
    graph = carry_shares.load("flights", Path())
    assert graph.schema.edge_types[0] == EdgeType(directed=True, attributes=(carry_shares.DELAY,))
    assert carry_shares.carried(graph, graph) == 0
    table = graph.edges["edge"]
    assert table.values is not None
    assert np.abs(table.values.columns["delay"]).max() <= 240
