"""Who took part, asked of a twin: only under unit node, within the settings, and beside the bound."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation.attacks import membership
from core.evaluation.metric import Suite
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods.base import GraphKinds, Parameters, no_progress
from core.privacy.accounting.events import Pure
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from core.publishing import membership as publishing
from core.reports.evidence import Attack
from core.reports.model import GuaranteePart
from tests.support.methods import MadeUp
from tests.support.publishing import evaluation

PERSONS, ITEMS = 120, 20


def original(edges: int = 900) -> Graph:
    rng = np.random.default_rng(1)
    schema = GraphSchema(
        node_types=(
            NodeType(name="person", count=PERSONS, protected=True),
            NodeType(name="film", count=ITEMS),
        ),
        edge_types=(EdgeType(name="sees", source="person", target="film"),),
    )
    table = EdgeTable(rng.integers(0, PERSONS, edges), rng.integers(0, ITEMS, edges))
    return Graph.build(schema, {"person": NodeTable(PERSONS), "film": NodeTable(ITEMS)}, {"sees": table})


class Empty(MadeUp):
    """Reads nothing and publishes a graph without edges."""

    name = "empty"
    Params = Parameters
    accepts = GraphKinds(static=True, heterogeneous=True, bipartite=True)
    units = frozenset({Unit.NODE})
    kinds = frozenset({GuaranteeKind.PURE})

    def plan(self, params, public):
        read = Allotment(WHOLE_GRAPH, None, Pure(public.nano_epsilon, "laplace"), "nothing")
        return PrivacyPlan(self.name, public.unit, public.window, public.schema.steps, (read,))

    def fit(self, graph, plan, params, progress):
        progress("fit", 1, 1)
        self.schema = graph.schema
        return self

    def sample(self, rng, progress):
        none = np.empty(0, dtype=np.int64)
        counts = {each.name: NodeTable(each.count) for each in self.schema.node_types}
        return Graph.build(self.schema, counts, {"sees": EdgeTable(none, none)})


def asked(**changes):
    values = {
        "suite": Suite.STANDARD,
        "method": "empty",
        "unit": Unit.NODE,
        "nano_epsilon": 10**9,
        "edge_types": ("sees",),
    }
    return evaluation(**(values | changes))


GUARANTEE = GuaranteePart(
    kind="pure", epsilon="1", delta="0", unit=Unit.NODE, window=None, statement="-", assurance="proven"
)


def rows(monkeypatch, graph: Graph | None = None, **changes) -> list[Attack]:
    monkeypatch.setattr(publishing.registry, "get", lambda name: Empty())
    found = publishing.membership_attacks(graph or original(), asked(**changes), GUARANTEE, no_progress)
    return [Attack.model_validate(row) for row in found]


def test_a_release_that_reads_nothing_tells_nothing(monkeypatch):
    found = rows(monkeypatch)
    assert [attack.name for attack in found] == [name for name, _, _ in membership.ATTACKS]
    for attack in found:
        assert attack.published is not None
        assert attack.reference is not None
        assert attack.reference.auc.value > 0.95
        assert attack.bound == pytest.approx(membership.bound(1.0, 0.0))
    totals, nearest, own = (attack.published.auc.value for attack in found if attack.published)
    assert (nearest, own) == (0.5, 0.5)
    assert totals == pytest.approx(0.5, abs=0.2)


def test_no_other_unit_has_them(monkeypatch):
    assert rows(monkeypatch, unit=Unit.EDGE) == []


@pytest.mark.parametrize("changes", [{"suite": Suite.QUICK}, {"shadows": 0}, {"shadow_links": 100}])
def test_the_suite_and_the_settings_bound_them(monkeypatch, changes):
    assert all("once more" in (attack.not_run or "") for attack in rows(monkeypatch, **changes))


def test_a_method_that_is_not_there_is_told():
    found = publishing.membership_attacks(original(), asked(method="forgotten"), GUARANTEE, no_progress)
    assert all("does not take" in row["not_run"] for row in found)


def test_few_persons_are_told(monkeypatch):
    assert all("Fewer than" in (attack.not_run or "") for attack in rows(monkeypatch, original(15)))
