"""Releases without a guarantee: refused where the policy says so; once made, the account shows as exposed."""

from __future__ import annotations

from typing import Any

import pytest

from core.identity.models import Role
from core.methods import registry
from core.outbox.models import Topic
from core.privacy.accounting.plan import GuaranteeKind
from core.workflows.operations import gauges_budgets
from tests.integration.api.conftest import TIMED, Tenant

WITHOUT = [
    (name, {"variant": "paper"} if "variant" in generator.Params.model_fields else {})
    for name, generator in registry.generators().items()
    if GuaranteeKind.NONE in generator.kinds
]
TIMED_ONLY = frozenset({"thepuff"})
ALLOWED = {"kinds": ["pure", "approximate", "none"]}


@pytest.fixture(scope="module")
def closed(house: Tenant) -> dict[bool, str]:
    """Ready datasets under the default policy: one without time, one with."""
    timed = house.register(unit="event", graph_schema=TIMED, delta="0.001")["id"]
    received = house.upload(timed, "source,target,time\n0,1,3\n1,2,9\n2,3,15\n")
    house.work(Topic.INGEST, received.json()["id"])
    own = "source,target\n5,8\n8,13\n13,21\n"  # else its budget is that of whoever sent the same before
    return {False: house.ready(delta="0.001", content=own), True: timed}


def test_the_methods_are_those_that_are_known_to_give_none():
    known = {"ppgsl", "dice", "random_rewire", "rwlp", "ppne", "gvae", "ggan", "diffusion"}
    known |= {"graphrnn", "heterogeneous_walks", "temporal_walks"}
    assert known <= {name for name, params in WITHOUT if not params}
    assert {name for name, params in WITHOUT if params} >= {"dpggan", "dpgvae", "hetesdg", "thepuff"}


@pytest.mark.parametrize(("method", "params"), WITHOUT, ids=[name for name, _ in WITHOUT])
@pytest.mark.parametrize("dry", [True, False], ids=["plan", "job"])
def test_a_policy_without_none_refuses_them_and_says_so(
    house: Tenant, closed: dict[bool, str], method: str, params: dict[str, Any], dry: bool
):
    body = {
        "dataset_id": closed[method in TIMED_ONLY],
        "epsilon": "1",
        "method": method,
        "parameters": params,
    }
    query = "?dry_run=true" if dry else ""
    if "approximate" in {str(kind) for kind in registry.get(method).kinds}:
        body["delta"] = "0.00001"
    answer = house.call("POST", f"/jobs{query}", json=body, headers={"Idempotency-Key": f"none-{method}"})
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (422, "/problems/kind-not-allowed"), problem
    assert (problem["kind"], problem["allowed"]) == ("none", ["pure", "approximate"])
    assert "none" in problem["detail"]


def test_an_exposed_account_shows_as_exposed_everywhere(tenant: Tenant):
    dataset_id = tenant.ready(policy=ALLOWED, public=True)
    bounded = published(tenant, dataset_id, method="edgerand")
    places = dict(seen(tenant, dataset_id, bounded))
    assert not any(places.values()), places
    asked = {"dataset_id": dataset_id, "epsilon": "1", "method": "random_rewire"}
    dry = tenant.call("POST", "/jobs?dry_run=true", json=asked).json()
    assert any("once it has opened the graph, and even if it fails" in said for said in dry["warnings"])
    exposing = published(tenant, dataset_id, method="random_rewire", suite="quick")
    for job_id in (bounded, exposing):  # earlier releases say so as well
        for role in (Role.CURATOR, Role.REQUESTER):
            places = dict(seen(tenant, dataset_id, job_id, role))
            assert all(places.values()), (role, places)
    refused = tenant.submit(dataset_id, method="edgerand").json()
    assert refused["type"] == "/problems/account-exposed"
    again = tenant.submit(dataset_id, method="random_rewire")
    assert (again.status_code, again.json()["exposed"]) == (202, True)
    with tenant.services.db.transaction() as session:
        found = gauges_budgets.read(session, 10_000)
    account = tenant.call("GET", f"/datasets/{dataset_id}/budget").json()["account_id"]
    assert [gauge.exposed for gauge in found.fullest if gauge.account_id == account] == [True]
    assert found.exposed >= 1


def published(tenant: Tenant, dataset_id: str, **asked: Any) -> str:
    answer = tenant.submit(dataset_id, **asked)
    assert answer.status_code == 202, answer.text
    assert answer.json()["exposed"] is False
    tenant.work(Topic.RUN, answer.json()["id"])
    return answer.json()["id"]


def seen(tenant: Tenant, dataset_id: str, job_id: str, role: Role = Role.CURATOR) -> list[tuple[str, bool]]:
    """Every place that tells of the account, and whether it says that it is exposed."""
    get = lambda path: tenant.call("GET", path, role)  # noqa: E731
    listed = next(each for each in get("/datasets").json()["items"] if each["id"] == dataset_id)
    job = next(each for each in get("/jobs").json()["items"] if each["id"] == job_id)
    return [
        ("dataset", get(f"/datasets/{dataset_id}").json()["exposed"]),
        ("datasets", listed["exposed"]),
        ("budget", get(f"/datasets/{dataset_id}/budget").json()["exposed"]),
        ("job", get(f"/jobs/{job_id}").json()["exposed"]),
        ("jobs", job["exposed"]),
        ("release", get(f"/jobs/{job_id}/artifacts").json()["exposed"]),
        ("report", get(f"/jobs/{job_id}/report").json()["public"]["charge"]["exposed"]),
        ("page", "The account is exposed." in get(f"/jobs/{job_id}/report.html").text),
        ("markdown", "opened a graph of this budget account" in get(f"/jobs/{job_id}/report.md").text),
    ]
