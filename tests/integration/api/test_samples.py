"""Drawing again over HTTP: free samples, identical requests, and what cancelling gives back."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from core.workflows.releases import publish
from graphveil import Graphveil, ProblemError
from tests.integration.api.conftest import Tenant


@pytest.fixture
def sdk(address: str, house: Tenant) -> Iterator[Graphveil]:
    with Graphveil(address, house.token(Role.REQUESTER)) as connected:
        yield connected


def sample(tenant: Tenant, job_id: str, key: str | None = None, *roles: Role, **request: Any) -> Any:
    headers = {"Idempotency-Key": key or secrets.token_hex(8)}
    return tenant.call("POST", f"/jobs/{job_id}/samples", *roles, json=request, headers=headers)


def once(tenant: Tenant, dataset_id: str, epsilon: str, **request: Any) -> Any:
    """A request that wants no repeat."""
    return tenant.submit(dataset_id, epsilon, **{"repeat": False, **request})


def balance(tenant: Tenant, dataset_id: str) -> Any:
    shown = tenant.call("GET", f"/datasets/{dataset_id}/budget").json()
    return {name: shown[name] for name in ("charged", "reserved", "remaining")}


def test_a_requester_draws_again_and_the_ledger_does_not_move(house: Tenant, ready_dataset: str):
    source = house.submit(ready_dataset, "8", formats=["csv"]).json()["id"]  # enough for edges
    house.work(Topic.RUN, source)
    before = balance(house, ready_dataset)
    answer = sample(house, source, None, Role.REQUESTER, formats=["csv"], label="again")
    job = answer.json()
    assert (answer.status_code, job["state"], job["sample_of"]) == (202, "queued", source)
    assert answer.headers["Location"] == f"/jobs/{job['id']}"
    assert int(answer.headers["Retry-After"]) >= 1
    house.work(Topic.RUN, job["id"])
    assert house.call("GET", answer.headers["Location"]).json()["state"] == "published"
    assert balance(house, ready_dataset) == before
    report = house.call("GET", f"/jobs/{job['id']}/report").json()["public"]
    assert report["provenance"]["sample_of"] == source
    assert (report["guarantee"]["epsilon"], report["charge"]["charged_epsilon"]) == ("8", "0")
    named = {file["name"]: file["sha256"] for file in _files(house, job["id"])}
    theirs = {file["name"]: file["sha256"] for file in _files(house, source)}
    assert "graph.csv" in named
    assert named["edges.parquet"] != theirs["edges.parquet"]
    entries = house.call("GET", f"/datasets/{ready_dataset}/ledger", params={"limit": 500}).json()["items"]
    lines = [entry for entry in entries if entry["job_id"] == job["id"]]
    assert [(line["kind"], line["amounts"]) for line in lines] == [
        ("reserve", {}),
        ("charge", {}),
        ("derive", {}),
    ]
    assert named.items() <= lines[2]["digests"].items()
    page = house.call("GET", f"/jobs/{job['id']}/report", headers={"Accept": "text/html"}).text
    assert f"graphveil sample {source}" in page


def _files(tenant: Tenant, job_id: str) -> list[dict[str, Any]]:
    return tenant.call("GET", f"/jobs/{job_id}/artifacts").json()["items"]


def test_a_sample_needs_no_body_and_a_key_makes_one(house: Tenant, published_job: str):
    key = secrets.token_hex(8)
    address = f"/v1/jobs/{published_job}/samples"
    first = house.call("POST", address, headers={"Idempotency-Key": key})
    assert (first.status_code, "Idempotency-Replayed" in first.headers) == (202, False)
    assert first.headers["Location"] == f"/v1/jobs/{first.json()['id']}"
    again = sample(house, published_job, key)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json()["id"] == first.json()["id"]
    other = sample(house, published_job, key, label="other")
    assert (other.status_code, other.json()["type"]) == (422, "/problems/idempotency-key-reused")
    keyless = house.call("POST", address, json={})
    assert (keyless.status_code, keyless.json()["type"]) == (400, "/problems/idempotency-key-missing")


@pytest.mark.parametrize(
    ("request_", "slug", "field"),
    [
        ({"seed": 7}, "invalid-input", "seed"),
        ({"formats": ["xls"]}, "unknown-format", "format"),
        ({"formats": ["csv", "csv"]}, "invalid-input", "formats"),
        ({"epsilon": "1"}, "invalid-input", "epsilon"),
        ({"suite": "all"}, "invalid-input", "suite"),
    ],
)
def test_a_refused_sample_names_its_field(
    house: Tenant, published_job: str, request_: dict[str, Any], slug: str, field: str
):
    answer = sample(house, published_job, **request_)
    assert (answer.status_code, answer.json()["type"]) == (422, f"/problems/{slug}")
    assert field in answer.json()["errors"][0]["field"]


def test_only_published_releases_have_samples(house: Tenant, ready_dataset: str, published_stream: str):
    job_id = house.submit(ready_dataset, "0.125").json()["id"]
    assert sample(house, job_id).json()["type"] == "/problems/job-not-finished"
    house.call("POST", f"/jobs/{job_id}/cancel")
    assert sample(house, job_id).json()["type"] == "/problems/job-failed"
    rows = house.call("GET", f"/streams/{published_stream}/snapshots").json()["items"]
    tick = next(row["job_id"] for row in rows if row["state"] == "published")
    answer = sample(house, tick)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/not-accepted")


def test_a_public_dataset_takes_a_seed_and_the_same_seed_draws_the_same_graph(tenant: Tenant):
    dataset_id = tenant.ready("8", public=True)
    source = tenant.submit(dataset_id, "8").json()["id"]  # enough for edges, which samples differ by
    tenant.work(Topic.RUN, source)
    digests = []
    for seed in (7, 7, 8):
        job_id = sample(tenant, source, seed=seed).json()["id"]
        tenant.work(Topic.RUN, job_id)
        digests.append({file["name"]: file["sha256"] for file in _files(tenant, job_id)}["edges.parquet"])
    assert digests[0] == digests[1] != digests[2]


def test_an_archived_dataset_has_no_samples(tenant: Tenant):
    dataset_id = tenant.ready()
    job_id = tenant.submit(dataset_id, "1").json()["id"]
    tenant.work(Topic.RUN, job_id)
    assert tenant.call("DELETE", f"/datasets/{dataset_id}").status_code in (200, 204)
    answer = sample(tenant, job_id)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/dataset-not-ready")
    assert answer.json()["state"] == "archived"


def test_an_identical_request_is_offered_the_release_that_stands(tenant: Tenant):
    dataset_id = tenant.ready("1")
    first = once(tenant, dataset_id, "1").json()
    refused = once(tenant, dataset_id, "1.0", delta="0.0", formats=["csv"], label="other", suite="quick")
    problem = refused.json()
    assert (refused.status_code, problem["type"]) == (409, "/problems/identical-release")
    assert (problem["job_id"], problem["state"]) == (first["id"], "queued")
    tenant.work(Topic.RUN, first["id"])
    named = {"method": first["method"], "parameters": first["parameters"]}  # what auto chose
    problem = once(tenant, dataset_id, "1", **named).json()
    assert (problem["job_id"], problem["state"]) == (first["id"], "published"), problem
    assert problem["links"]["samples"] == f"/v1/jobs/{first['id']}/samples"
    for name in ("job", "report", "artifacts"):
        assert tenant.call("GET", problem["links"][name]).status_code == 200
    assert (
        tenant.call("POST", problem["links"]["samples"], headers={"Idempotency-Key": "s"}).status_code == 202
    )
    again = tenant.submit(dataset_id, "1", repeat=True).json()  # the budget alone decides
    assert again["type"] == "/problems/budget-exceeded"


def test_what_differs_is_not_identical(house: Tenant, tenant: Tenant):
    dataset_id = tenant.ready("9", public=True)
    asked: list[dict[str, Any]] = [
        {},
        {"seed": 1},
        {"seed": 2},
        {"method": "edgerand"},
        {"method": "psgraph", "parameters": {"tail_share": 0.2}},
        {"comparison": True},
        {"comparison": True},
    ]
    answers = [once(tenant, dataset_id, "0.5", **request) for request in asked]
    answers.append(once(tenant, dataset_id, "0.25"))
    assert {answer.status_code for answer in answers} == {202}
    assert once(tenant, dataset_id, "0.5", seed=1).json()["job_id"] == answers[1].json()["id"]


def test_a_job_that_came_to_nothing_is_no_release(tenant: Tenant):
    dataset_id = tenant.ready()
    job_id = once(tenant, dataset_id, "1").json()["id"]
    tenant.call("POST", f"/jobs/{job_id}/cancel")
    assert once(tenant, dataset_id, "1").status_code == 202


def test_a_new_upload_makes_a_new_release(tenant: Tenant):
    dataset_id = tenant.ready()
    assert once(tenant, dataset_id, "1").status_code == 202
    received = tenant.upload(dataset_id, "source,target\n1,2\n")
    tenant.work(Topic.INGEST, received.json()["id"])
    assert once(tenant, dataset_id, "1").status_code == 202


def test_a_replay_comes_before_the_offer(tenant: Tenant):
    dataset_id = tenant.ready()
    first = once(tenant, dataset_id, "1", key="mine")
    again = once(tenant, dataset_id, "1", key="mine")
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert again.headers["Idempotency-Replayed"] == "true"


def test_a_dry_run_shows_the_release_that_stands(tenant: Tenant):
    dataset_id = tenant.ready("1")
    body = {"dataset_id": dataset_id, "epsilon": "0.5"}

    def plan() -> Any:
        return tenant.call("POST", "/jobs?dry_run=true", json=body).json()

    assert plan()["identical_to"] is None
    job_id = once(tenant, dataset_id, "0.5").json()["id"]
    assert plan()["identical_to"] == job_id
    assert tenant.submit(dataset_id, "0.5", repeat=True).status_code == 202
    problem = plan()  # the budget no longer covers a repeat: as the submission, it offers what stands
    assert problem["type"] == "/problems/identical-release"
    refused = once(tenant, dataset_id, "0.5")
    assert (refused.status_code, refused.json()["type"]) == (409, problem["type"])


def test_of_identical_requests_at_one_moment_one_is_taken(tenant: Tenant):
    dataset_id = tenant.ready("9")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: once(tenant, dataset_id, "1"), range(8)))
    assert sorted(answer.status_code for answer in answers) == [202] + [409] * 7
    assert balance(tenant, dataset_id)["reserved"]["epsilon"] == "1"


def test_cancelling_says_what_returns(tenant: Tenant):
    dataset_id = tenant.ready()
    queued = tenant.submit(dataset_id, "0.5").json()
    assert queued["budget"] is None
    cancelled = tenant.call("POST", f"/jobs/{queued['id']}/cancel").json()
    assert (cancelled["state"], cancelled["budget"]["outcome"]) == ("cancelled", "returned")

    unopened = _running(tenant, dataset_id)
    shown = tenant.call("POST", f"/jobs/{unopened.job_id}/cancel").json()
    assert (shown["state"], shown["budget"]["outcome"]) == ("cancelling", "pending")
    publish.cancel_held(tenant.services, unopened)
    assert _budget_of(tenant, unopened.job_id) == "returned"
    assert balance(tenant, dataset_id)["charged"]["epsilon"] == "0"

    opened = _running(tenant, dataset_id)
    publish.record_opening(tenant.services, opened)
    shown = tenant.call("POST", f"/jobs/{opened.job_id}/cancel").json()
    assert (shown["state"], shown["budget"]["outcome"]) == ("cancelling", "spent")
    publish.cancel_held(tenant.services, opened)
    assert _budget_of(tenant, opened.job_id) == "spent"
    assert balance(tenant, dataset_id)["charged"]["epsilon"] == "0.5"


def test_a_cancelled_sample_had_reserved_nothing(house: Tenant, published_job: str):
    job_id = sample(house, published_job).json()["id"]
    shown = house.call("POST", f"/jobs/{job_id}/cancel").json()
    assert (shown["state"], shown["budget"]["outcome"]) == ("cancelled", "returned")
    assert "reserved nothing" in shown["budget"]["text"]


def _running(tenant: Tenant, dataset_id: str) -> publish.JobWork:
    job_id = tenant.submit(dataset_id, "0.5").json()["id"]
    work = publish.begin_job(tenant.services, job_id, "w")
    assert work is not None
    return work


def _budget_of(tenant: Tenant, job_id: str) -> str:
    return tenant.call("GET", f"/jobs/{job_id}").json()["budget"]["outcome"]


def test_the_client_draws_again_and_is_offered_what_stands(
    sdk: Graphveil, tenant: Tenant, house: Tenant, published_job: str, ready_dataset: str
):
    job = sdk.sample(published_job, formats=["csv"], idempotency_key="client")
    assert job.sample_of == published_job
    assert sdk.sample(published_job, formats=["csv"], idempotency_key="client").id == job.id
    with pytest.raises(ProblemError) as caught:
        sdk.submit(ready_dataset, epsilon="1")
    assert caught.value.slug == "identical-release"
    assert sdk.job(caught.value.members["job_id"]).epsilon == "1"
