"""Audits under unit node: neighbours differ in all edges of one node."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from core.errors import NotAccepted
from core.graphs.graph import EdgeTable, Graph
from core.methods import registry
from core.methods.base import GraphKinds, Parameters, PublicFacts, require_accepted
from core.methods.profiles.persons import degree_bins
from core.privacy.accounting.audited import EDGE, MECHANISMS, NODES, canary_schema
from core.privacy.accounting.events import Pure
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, GuaranteeKind, PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing import audit
from core.publishing.audit_targets import target_of, worlds
from core.settings import Settings
from core.workflows.audits.plans import AuditRequest, planned
from tests.support.methods import MadeUp


class Count(MadeUp):
    """Draws as many edges as a noisy count says; ``sensitivity`` is what it takes one node to hold."""

    name, title, summary, assurance = "count", "Count", "A test's method.", "experimental"
    Params = Parameters
    accepts = GraphKinds(static=True, heterogeneous=True, bipartite=True)
    units = frozenset({Unit.NODE})
    kinds = frozenset({GuaranteeKind.PURE})
    sensitivity = NODES

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        require_accepted(self, public)
        read = Allotment(WHOLE_GRAPH, None, Pure(public.nano_epsilon, "discrete_laplace/count"), "count")
        return PrivacyPlan(self.name, public.unit, None, 1, (read,))

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Any) -> Any:
        event: Any = plan.allotments[0].event
        graph._meter.charge(WHOLE_GRAPH, None, event, "count")
        true = np.array([graph._graph.edges[EDGE].count])
        noisy = mechanisms.discrete_laplace(true, self.sensitivity, event.nano_epsilon)
        kept = int(np.clip(noisy[0], 0, (NODES - 1) ** 2))
        source, target = np.divmod(np.arange(kept), NODES - 1)
        rows = EdgeTable(source, target + 1)
        return SimpleNamespace(sample=lambda rng, progress: Graph.build(graph.schema, {}, {EDGE: rows}))

    def load(self, folder: Any) -> Any:
        raise NotImplementedError


@pytest.fixture
def method(monkeypatch: pytest.MonkeyPatch) -> Count:
    found = Count()
    monkeypatch.setattr(registry, "get", lambda name: found)
    return found


def judged(**request: Any) -> dict[str, Any]:
    spec = planned(AuditRequest(unit="node", epsilon="1", method="count", **request), Settings())
    return audit.judged(spec, target_of(spec), lambda stage, done, total: None)


@pytest.mark.parametrize("bipartite", [False, True])
def test_the_two_graphs_differ_in_all_edges_of_one_protected_node(bipartite: bool) -> None:
    schema = canary_schema(Unit.NODE, None, bipartite=bipartite)
    assert schema.protected_type == schema.node_type(schema.edge_type(EDGE).source)
    one, two = (
        {*zip(g.edges[EDGE].source.tolist(), g.edges[EDGE].target.tolist(), strict=True)}
        for g in worlds(schema, Unit.NODE)
    )
    assert {source for source, _ in one ^ two} == {0}
    assert one & two
    assert 0 not in {source for source, _ in one & two}
    assert (len(one - two), len(two - one)) == ((4, 2) if bipartite else (NODES - 1, 0))


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_mechanisms_that_hide_single_edges_are_refused(name: str) -> None:
    with pytest.raises(NotAccepted, match="audit a method") as refused:
        planned(AuditRequest(unit="node", method=name, epsilon="1", delta="0.01"), Settings())
    assert refused.value.members["field"] == "unit"


PROFILES = {"method": "profiles", "unit": "node", "epsilon": "1", "delta": "0.01"}


def test_of_profiles_all_that_a_fit_is_told_is_looked_at() -> None:
    target = target_of(planned(AuditRequest(**PROFILES), Settings()))
    entries = len(degree_bins(NODES)) + NODES  # persons by degree, and what each thing has
    assert target.once(target.graph, target.plan).shape == (entries,)
    assert np.isfinite(target.once(target.neighbour, target.control)).all()


def test_more_runs_are_advised_where_fewer_do_not_show_half_of_the_noise() -> None:
    assert planned(AuditRequest(**PROFILES), Settings()).runs == 10_000


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_half_of_the_noise_of_profiles_is_caught_in_the_advised_runs() -> None:
    spec = planned(AuditRequest(**PROFILES), Settings())
    assert audit.judged(spec, target_of(spec), lambda *_: None)["verdict"] == "passed"


def test_a_method_that_hides_a_node_passes(method: Count) -> None:
    found = judged(runs=1_000)
    assert (found["unit"], found["window"], found["passed"]) == ("node", None, True)


@pytest.mark.audits
def test_a_method_that_hides_one_edge_of_a_node_fails(method: Count) -> None:
    method.sensitivity = 1
    found = judged(runs=3_000)
    assert found["verdict"] == "failed"
