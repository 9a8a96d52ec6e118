"""Who may do what: keys, roles, and the walls between tenants."""

from __future__ import annotations

import time

import pytest
from fastapi.testclient import TestClient

from core.identity import service as identity
from core.identity.models import Role
from tests.integration.api.conftest import SCHEMA, Tenant

REGISTER = {"name": "n", "unit": "edge", "epsilon": "1", "graph_schema": SCHEMA}
JOB = {"dataset_id": "ds_none", "epsilon": "1"}
STREAM = {"dataset_id": "ds_none", "epsilon": "1"}
EVERY_ROUTE = [
    ("GET", "/datasets"),
    ("POST", "/datasets"),
    ("GET", "/datasets/{dataset}"),
    ("PUT", "/datasets/{dataset}/schema"),
    ("POST", "/datasets/{dataset}/reading"),
    ("PUT", "/datasets/{dataset}/content"),
    ("POST", "/datasets/{dataset}/uploads"),
    ("POST", "/datasets/{dataset}/uploads/up_1/complete"),
    ("DELETE", "/datasets/{dataset}/uploads"),
    ("PUT", "/datasets/{dataset}/sensitive-links"),
    ("GET", "/datasets/{dataset}/sensitive-links"),
    ("DELETE", "/datasets/{dataset}/sensitive-links"),
    ("DELETE", "/datasets/{dataset}"),
    ("GET", "/datasets/{dataset}/budget"),
    ("POST", "/datasets/{dataset}/budget/unblock"),
    ("GET", "/datasets/{dataset}/ledger"),
    ("GET", "/datasets/{dataset}/ledger/verify"),
    ("GET", "/ledger/health"),
    ("GET", "/ledger/public-keys"),
    ("GET", "/datasets/{dataset}/policy"),
    ("PUT", "/datasets/{dataset}/policy"),
    ("POST", "/datasets/{dataset}/budget/grants"),
    ("GET", "/datasets/{dataset}/budget/quotas"),
    ("GET", "/datasets/{dataset}/budget/quotas/team/blue/ledger"),
    ("PUT", "/datasets/{dataset}/budget/quotas/team/blue"),
    ("POST", "/datasets/{dataset}/budget/adjustments"),
    ("GET", "/proposals"),
    ("GET", "/proposals/{job}"),
    ("POST", "/proposals/{job}/approve"),
    ("POST", "/proposals/{job}/reject"),
    ("POST", "/proposals/{job}/withdraw"),
    ("POST", "/jobs/{job}/approve"),
    ("POST", "/jobs/{job}/reject"),
    ("GET", "/methods"),
    ("GET", "/keys"),
    ("POST", "/keys"),
    ("GET", "/keys/key_1"),
    ("DELETE", "/keys/key_1"),
    ("GET", "/me"),
    ("POST", "/plans"),
    ("POST", "/jobs"),
    ("GET", "/jobs"),
    ("GET", "/jobs/{job}"),
    ("POST", "/jobs/{job}/cancel"),
    ("POST", "/jobs/{job}/samples"),
    ("GET", "/jobs/{job}/report"),
    ("GET", "/jobs/{job}/report.html"),
    ("GET", "/jobs/{job}/report.md"),
    ("GET", "/jobs/{job}/card.md"),
    ("GET", "/jobs/{job}/metadata/dcat"),
    ("GET", "/jobs/{job}/evidence"),
    ("GET", "/jobs/{job}/artifacts"),
    ("GET", "/jobs/{job}/artifacts/nodes.parquet"),
    ("GET", "/jobs/{job}/events"),
    ("POST", "/streams"),
    ("GET", "/streams"),
    ("GET", "/streams/{stream}"),
    ("POST", "/streams/{stream}/close"),
    ("POST", "/streams/{stream}/snapshots?step=3"),
    ("GET", "/streams/{stream}/snapshots"),
    ("GET", "/streams/{stream}/snapshots/0"),
    ("GET", "/streams/{stream}/report"),
    ("GET", "/streams/{stream}/report.html"),
    ("GET", "/streams/{stream}/report.md"),
    ("GET", "/streams/{stream}/download"),
    ("POST", "/audits"),
    ("GET", "/audits"),
    ("GET", "/audits/{job}"),
    ("POST", "/webhooks"),
    ("GET", "/webhooks"),
    ("GET", "/webhooks/{job}"),
    ("DELETE", "/webhooks/{job}"),
    ("POST", "/webhooks/{job}/enable"),
    ("POST", "/webhooks/{job}/rotate"),
    ("POST", "/webhooks/{job}/test"),
    ("GET", "/webhooks/{job}/deliveries"),
    ("POST", "/webhooks/{job}/deliveries/whd_1/retry"),
]


def test_the_list_of_routes_is_complete(http: TestClient):
    paths = http.get("/openapi.json").json()["paths"]
    served = {
        (method.upper(), path) for path, item in paths.items() for method in item if path.startswith("/v1/")
    }
    assert len(served) == len(EVERY_ROUTE)


@pytest.mark.parametrize("prefix", ["", "/v1"])
@pytest.mark.parametrize(("method", "path"), EVERY_ROUTE)
def test_every_route_needs_a_key(http: TestClient, prefix: str, method: str, path: str):
    for headers in ({}, {"Authorization": "Bearer gv_" + "x" * 43}, {"Authorization": "Basic Zm9v"}):
        answer = http.request(
            method, prefix + path.format(dataset="ds_1", job="job_1", stream="st_1"), headers=headers
        )
        assert answer.status_code == 401
        assert answer.json()["type"] == "/problems/unauthenticated"
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_key_opens_nothing(http: TestClient, tenant: Tenant):
    with tenant.services.db.transaction() as session:
        key, token = identity.create_key(session, tenant=tenant.name, name="k", roles=[Role.REQUESTER])
        key_id = key.id
    headers = {"Authorization": f"Bearer {token}"}
    assert http.get("/methods", headers=headers).status_code == 200
    with tenant.services.db.transaction() as session:
        identity.revoke_key(session, tenant.name, key_id)
    time.sleep(tenant.services.settings.key_cache_seconds)  # no longer, here or in any other process
    assert http.get("/methods", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("role", "method", "path", "body"),
    [
        (Role.REQUESTER, "POST", "/datasets", REGISTER),
        (Role.REQUESTER, "PUT", "/datasets/ds_1/content", None),
        (Role.REQUESTER, "PUT", "/datasets/ds_1/schema", SCHEMA),
        *(
            (role, method, "/datasets/ds_1/sensitive-links", None)
            for role in (Role.REQUESTER, Role.AUDITOR, Role.OPERATOR)
            for method in ("PUT", "GET", "DELETE")
        ),
        (Role.REQUESTER, "DELETE", "/datasets/ds_1", None),
        (Role.REQUESTER, "GET", "/datasets/ds_1/ledger", None),
        (Role.REQUESTER, "GET", "/datasets/ds_1/ledger/verify", None),
        (Role.OPERATOR, "GET", "/datasets/ds_1/ledger/verify", None),
        (Role.REQUESTER, "GET", "/ledger/health", None),
        (Role.REQUESTER, "POST", "/datasets/ds_1/budget/unblock", {"reason": "r"}),
        (Role.AUDITOR, "POST", "/datasets/ds_1/budget/unblock", {"reason": "r"}),
        (Role.REQUESTER, "PUT", "/datasets/ds_1/policy", {"policy": {}, "reason": "r"}),
        (Role.AUDITOR, "PUT", "/datasets/ds_1/policy", {"policy": {}, "reason": "r"}),
        (Role.OPERATOR, "GET", "/datasets/ds_1/policy", None),
        (Role.REQUESTER, "POST", "/datasets/ds_1/budget/grants", {"epsilon": "1", "reason": "r"}),
        (Role.AUDITOR, "POST", "/datasets/ds_1/budget/grants", {"epsilon": "1", "reason": "r"}),
        (Role.REQUESTER, "PUT", "/datasets/ds_1/budget/quotas/team/a", {"epsilon": "1", "reason": "r"}),
        (Role.OPERATOR, "GET", "/datasets/ds_1/budget/quotas", None),
        (Role.REQUESTER, "GET", "/datasets/ds_1/budget/quotas/team/a/ledger", None),
        (Role.REQUESTER, "POST", "/datasets/ds_1/budget/adjustments", {"epsilon": "1", "reason": "r"}),
        (Role.AUDITOR, "POST", "/datasets/ds_1/budget/adjustments", {"epsilon": "1", "reason": "r"}),
        (Role.REQUESTER, "GET", "/proposals", None),
        (Role.REQUESTER, "GET", "/proposals/prop_1", None),
        (Role.REQUESTER, "POST", "/proposals/prop_1/approve", {"reason": "r"}),
        (Role.AUDITOR, "POST", "/proposals/prop_1/approve", {"reason": "r"}),
        (Role.AUDITOR, "POST", "/proposals/prop_1/reject", {"reason": "r"}),
        (Role.AUDITOR, "POST", "/proposals/prop_1/withdraw", None),
        (Role.REQUESTER, "POST", "/jobs/job_1/approve", {"reason": "r"}),
        (Role.OPERATOR, "POST", "/jobs/job_1/reject", {"reason": "r"}),
        (Role.AUDITOR, "POST", "/jobs", JOB),
        (Role.AUDITOR, "POST", "/jobs?dry_run=true", JOB),
        (Role.AUDITOR, "POST", "/plans", {"dataset_id": "ds_none", "epsilons": ["1"]}),
        (Role.AUDITOR, "GET", "/jobs", None),
        (Role.AUDITOR, "GET", "/jobs/job_1/report", None),
        (Role.OPERATOR, "GET", "/jobs/job_1/evidence", None),
        (Role.REQUESTER, "GET", "/jobs/job_1/evidence?edition=ledger", None),
        (Role.AUDITOR, "POST", "/jobs/job_1/samples", {}),
        (Role.OPERATOR, "POST", "/jobs/job_1/samples", {}),
        (Role.REQUESTER, "POST", "/streams/st_1/snapshots?step=0", None),
        (Role.AUDITOR, "POST", "/streams/st_1/snapshots?step=0", None),
        (Role.AUDITOR, "POST", "/streams", STREAM),
        (Role.AUDITOR, "POST", "/streams?dry_run=true", STREAM),
        (Role.AUDITOR, "POST", "/streams/st_1/close", None),
        (Role.AUDITOR, "GET", "/streams/st_1/download", None),
        (Role.OPERATOR, "GET", "/streams", None),
        (Role.OPERATOR, "GET", "/streams/st_1/report", None),
        (Role.OPERATOR, "GET", "/datasets", None),
        (Role.OPERATOR, "GET", "/datasets/ds_1/budget", None),
    ],
)
def test_a_key_without_the_role_is_refused(
    tenant: Tenant, role: Role, method: str, path: str, body: dict[str, object] | None
):
    answer = tenant.call(method, path, role, json=body, headers={"Idempotency-Key": "k"})
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")
    assert role.value not in answer.json()["required_roles"]


@pytest.mark.parametrize(("method", "path"), [route for route in EVERY_ROUTE if "{" in route[1]])
def test_another_tenants_objects_do_not_exist(
    house: Tenant,
    stranger: Tenant,
    ready_dataset: str,
    published_job: str,
    published_stream: str,
    method: str,
    path: str,
):
    bodies = {
        "schema": SCHEMA,
        "reading": {"delimiter": ";"},
        "unblock": {"reason": "r"},
        "uploads": {"size_bytes": 5},
        "complete": {"etags": ["x"]},
        "policy": {"policy": {}, "reason": "r"},
        "grants": {"epsilon": "1", "reason": "r"},
        "blue": {"epsilon": "1", "reason": "r"},
        "adjustments": {"epsilon": "1", "reason": "r"},
        "approve": {"reason": "r"},
        "reject": {"reason": "r"},
    }
    body = bodies.get(path.rsplit("/", 1)[-1])
    address = path.format(dataset=ready_dataset, job=published_job, stream=published_stream)
    key = {"Idempotency-Key": "elsewhere"}
    theirs = stranger.call(method, address, json=body, headers=key)
    nowhere = stranger.call(
        method, path.format(dataset="ds_none", job="job_none", stream="st_none"), json=body, headers=key
    )
    assert (theirs.status_code, nowhere.status_code) == (404, 404)
    assert theirs.json()["title"] == nowhere.json()["title"]
    assert theirs.json()["detail"] == nowhere.json()["detail"]


def test_another_tenants_dataset_takes_no_job(stranger: Tenant, ready_dataset: str):
    assert stranger.submit(ready_dataset).json()["type"] == "/problems/not-found"


def test_another_tenants_dataset_takes_no_stream(stranger: Tenant, ready_dataset: str):
    body = {"dataset_id": ready_dataset, "epsilon": "1"}
    answer = stranger.call("POST", "/streams", json=body, headers={"Idempotency-Key": "k"})
    assert answer.json()["type"] == "/problems/not-found"


def test_lists_end_at_the_wall(stranger: Tenant, published_job: str, published_stream: str):
    assert stranger.call("GET", "/jobs").json()["items"] == []
    assert stranger.call("GET", "/streams").json()["items"] == []
    assert stranger.call("GET", "/datasets").json()["items"] == []
