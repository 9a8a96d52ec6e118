"""The unit node from registration on: what is refused says what to mend, and nothing is charged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.errors import InvalidInput, NotAccepted
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.identity.models import Role
from core.ledger import service as ledger
from core.methods import registry
from core.methods.base import GraphKinds, Parameters, PublicFacts, require_accepted
from core.privacy.accounting.events import GaussianEvent
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from core.workflows.datasets import queries
from core.workflows.jobs.submit import JobRequest, plan_job, submit_job
from core.workflows.streams.lifecycle import StreamRequest, create_stream
from tests.integration.datasets.conftest import Curator
from tests.support.methods import MadeUp

HAS = EdgeType(name="has", source="patient", target="diagnosis")
EDGES = b"source,target\n0,1\n0,2\n1,0\n2,1\n"


def schema(*relations: EdgeType, time: TimeGrid | None = None, **patient: Any) -> GraphSchema:
    kinds = (NodeType(**({"name": "patient", "count": 6} | patient)), NodeType(name="diagnosis", count=6))
    return GraphSchema(node_types=kinds, edge_types=relations or (HAS,), time=time)


PROTECTED = schema(protected=True)


def entries(curator: Curator, account_id: str) -> list[str]:
    with curator.services.db.transaction() as session:
        return [entry.kind for entry in ledger.entries(session, account_id, after=0, limit=9).entries]


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        (schema(), "graph_schema.node_types"),
        (schema(HAS, EdgeType(name="of", source="diagnosis", target="diagnosis"), protected=True),
         "graph_schema.edge_types.of"),
        (schema(EdgeType(name="of", source="diagnosis", target="diagnosis"), protected=True),
         "graph_schema.node_types"),
    ],
)  # fmt: skip
def test_a_schema_that_leaves_somebody_out_is_refused_and_leaves_nothing(
    curator: Curator, declared: GraphSchema, field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        curator.register(unit="node", graph_schema=declared)
    assert refused.value.members["field"] == field
    assert queries.list_datasets(curator.services, curator.principal).items == []


def test_persons_are_declared_under_no_other_unit(curator: Curator) -> None:
    with pytest.raises(InvalidInput, match="use the unit node"):
        curator.register(unit="edge", graph_schema=PROTECTED)


@pytest.mark.parametrize("terms", [{}, {"filter": "renyi", "delta": "1e-6", "epsilon": "8"}])
def test_the_account_keeps_the_unit_under_both_filters(curator: Curator, terms: dict[str, str]) -> None:
    dataset = curator.ready(EDGES, unit="node", graph_schema=PROTECTED, **terms)
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    assert (view.unit, view.window, view.filter) == ("node", None, terms.get("filter", "basic"))
    assert view.graph_schema is not None
    assert GraphSchema.model_validate(view.graph_schema) == PROTECTED
    assert entries(curator, dataset.account_id) == ["grant"]


def test_a_method_that_hides_edges_names_those_that_hide_nodes_and_charges_nothing(curator: Curator) -> None:
    dataset = curator.ready(EDGES, unit="node", graph_schema=PROTECTED)
    others = [name for name, each in registry.generators().items() if Unit.NODE not in each.units]
    for name in others:
        request = JobRequest(dataset_id=dataset.id, epsilon="1", method=name)
        with pytest.raises(NotAccepted, match=r"profiles .* projection") as refused:
            submit_job(curator.services, curator.principal, request, name)
        assert refused.value.members["field"] == "unit"
    assert entries(curator, dataset.account_id) == ["grant"]


class Gaussian(MadeUp):
    """One Gaussian read of the whole graph, at the delta that is asked for."""

    name, title, summary, assurance = "read", "Read", "A test's method.", "experimental"
    Params = Parameters
    accepts = GraphKinds(static=True, heterogeneous=True, bipartite=True)
    units = frozenset({Unit.NODE})
    kinds = frozenset({GuaranteeKind.APPROXIMATE})

    def plan(self, params: Parameters, public: PublicFacts) -> PrivacyPlan:
        require_accepted(self, public)
        if not public.delta_atto:
            raise NotAccepted("Gaussian noise needs a positive delta", field="delta")
        read = Allotment(WHOLE_GRAPH, None, GaussianEvent(20), "totals")
        return PrivacyPlan(self.name, public.unit, None, 1, (read,), public.delta_atto)


@pytest.mark.parametrize(
    ("asked", "error"),
    [({}, NotAccepted), ({"delta": "1e-6"}, InvalidInput)],
    ids=["pure", "no delta left"],
)
def test_gaussian_noise_is_refused_on_an_account_without_delta(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, asked: dict[str, str], error: type[Exception]
) -> None:
    monkeypatch.setattr(registry, "get", lambda name: Gaussian())
    dataset = curator.ready(EDGES, unit="node", graph_schema=PROTECTED)
    request = JobRequest(dataset_id=dataset.id, epsilon="1", method="read", **asked)
    with pytest.raises(error, match="delta"):
        submit_job(curator.services, curator.principal, request, "key")
    assert entries(curator, dataset.account_id) == ["grant"]


@pytest.mark.parametrize("filter", ["basic", "renyi"])
def test_gaussian_reads_of_persons_are_reserved_under_both_filters(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, filter: str
) -> None:
    monkeypatch.setattr(registry, "get", lambda name: Gaussian())
    terms = {"unit": "node", "filter": filter, "epsilon": "8", "delta": "1e-5"}
    dataset = curator.ready(EDGES, graph_schema=PROTECTED, **terms)
    request = JobRequest(dataset_id=dataset.id, epsilon="1", delta="1e-6", method="read")
    job, _ = submit_job(curator.services, curator.principal, request, "key")
    reserved = job.spec["amounts"]
    assert reserved.keys() >= ({"epsilon", "delta"} if filter == "basic" else {"rdp/2", "rdp/8"})
    assert entries(curator, dataset.account_id) == ["grant", "reserve"]


@pytest.mark.parametrize(("filter", "second"), [("basic", "0"), ("renyi", "0.000001")])
def test_a_second_job_that_names_no_delta_is_pure_where_the_first_has_spent_it(
    curator: Curator, filter: str, second: str
) -> None:
    terms = {"unit": "node", "filter": filter, "epsilon": "8", "delta": "1e-6"}
    dataset, found = curator.ready(EDGES, graph_schema=PROTECTED, **terms), []
    for key in ("one", "two"):
        request = JobRequest(dataset_id=dataset.id, epsilon="1", repeat=True)
        found.append(plan_job(curator.services, curator.principal, request).cost.delta)
        submit_job(curator.services, curator.principal, request, key)
    assert found == ["0.000001", second]
    assert entries(curator, dataset.account_id) == ["grant", "reserve", "reserve"]


def test_relations_among_persons_and_with_things_are_one_job_and_none_is_left_out_in_silence(
    curator: Curator,
) -> None:
    both = schema(HAS, EdgeType(name="knows", source="patient", target="patient"), protected=True)
    terms = {"unit": "node", "epsilon": "2", "delta": "1e-5"}
    dataset = curator.ready(b"source,target,type\n0,1,has\n1,0,has\n0,2,knows\n", graph_schema=both, **terms)

    def planned(epsilon: str, **asked: Any) -> Any:
        request = JobRequest(dataset_id=dataset.id, epsilon=epsilon, delta="1e-6", **asked)
        return plan_job(curator.services, curator.principal, request)

    assert planned("1").method == "composed"
    for method in ("profiles", "projection"):
        with pytest.raises(NotAccepted, match="job of its own") as refused:
            planned("1", method=method)
        assert refused.value.members["field"] == "edge_types"
    for relation, other, method in (("has", "knows", "profiles"), ("knows", "has", "projection")):
        plan = planned("1", edge_types=[relation])
        assert plan.method == method
        assert any(f"not asked for: {other}." in told for told in plan.warnings)
    assert entries(curator, dataset.account_id) == ["grant"]


def test_a_live_stream_is_refused_with_the_reason(curator: Curator) -> None:
    timed = schema(HAS.model_copy(update={"temporal": True}), time=TimeGrid(count=2), protected=True)
    dataset = curator.ready(b"source,target,time\n0,1,0\n0,2,1\n", unit="node", graph_schema=timed)
    request = StreamRequest(dataset_id=dataset.id, epsilon="1")
    with pytest.raises(NotAccepted, match="a node has edges in every snapshot") as refused:
        create_stream(curator.services, curator.principal, request, "key")
    assert refused.value.members["field"] == "dataset_id"
    assert entries(curator, dataset.account_id) == ["grant"]


def test_a_node_above_its_declared_degree_is_named_and_nothing_is_charged(curator: Curator) -> None:
    dataset = curator.register(unit="node", graph_schema=schema(protected=True, degree_bound=1))
    version = curator.validate(curator.send(dataset, EDGES))
    assert version.state == "rejected"
    (finding,) = version.findings
    assert (finding["line"], finding["column"]) == (2, 1)
    assert "more than the 1 edges declared" in finding["message"]
    assert entries(curator, dataset.account_id) == ["grant"]
    requester = replace(curator.principal, roles=frozenset({Role.REQUESTER}))
    seen = queries.get_dataset(curator.services, requester, dataset.id)
    assert (seen.state, seen.version) == ("registered", None)  # as if nothing had been sent


def test_a_dry_run_prices_all_edges_of_a_node_where_their_number_is_declared(curator: Curator) -> None:
    def prices(name: str, **patient: Any) -> list[tuple[str, int, str, str]]:
        dataset = curator.ready(EDGES, name=name, protection_domain=name, graph_schema=schema(**patient))
        request = JobRequest(dataset_id=dataset.id, epsilon="0.5", method="edgerand")
        plan = plan_job(curator.services, curator.principal, request)
        assert entries(curator, dataset.account_id) == ["grant"]
        return [(each.node_type, each.edges, each.epsilon, each.delta) for each in plan.node_prices]

    assert prices("open") == []
    assert prices("bounded", degree_bound=2) == [("patient", 2, "2", "0")]
    assert prices("many", degree_bound=5) == []
