"""Audits over HTTP: asked for, run by a real worker in a real child, read; and lost, and refused."""

from __future__ import annotations

import dataclasses
import json
import secrets
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update
from typer.testing import CliRunner

from core.audits.models import Audit
from core.errors import InvalidInput, LeaseLost
from core.identity.models import Role
from core.outbox.models import OutboxMessage, Topic
from core.workflows.audits import requests as audits
from core.workflows.common.context import Services
from core.workflows.operations import leased, recover
from graphveil import Graphveil
from graphveil.cli import app as cli
from tests.integration.api.conftest import Tenant
from tests.support.patience import PATIENCE_SECONDS
from worker.process import WorkerProcess
from worker.work import take

LAPLACE = {"method": "laplace", "epsilon": "1", "runs": 400}


def ask(tenant: Tenant, *roles: Role, key: str | None = None, **request: Any) -> Any:
    headers = {"Idempotency-Key": key or secrets.token_hex(8)}
    return tenant.call("POST", "/audits", *roles, json=LAPLACE | request, headers=headers)


def age(services: Services, audit_id: str) -> None:
    """The lease ran out."""
    with services.db.transaction() as session:
        past = func.now() - func.make_interval(0, 0, 0, 0, 0, 0, 1)
        session.execute(update(Audit).where(Audit.id == audit_id).values(lease_expires_at=past))


def test_an_audit_is_asked_for_run_and_read(tenant: Tenant, stranger: Tenant, worker_process: WorkerProcess):
    key = secrets.token_hex(8)
    asked = ask(tenant, Role.AUDITOR, key=key)
    assert asked.status_code == 202, asked.text
    queued = asked.json()
    assert asked.headers["Location"] == f"/audits/{queued['id']}"
    assert "Retry-After" in asked.headers
    assert (queued["state"], queued["progress"], queued["result"]) == ("queued", None, None)
    assert queued["parameters"] == {"query": "edge_count"}
    assert (queued["runs"], queued["advised_runs"]) == (400, 4_000)  # before it starts: fewer may not do

    again = ask(tenant, Role.AUDITOR, key=key)
    assert (again.status_code, again.json()["id"]) == (202, queued["id"])
    assert again.headers["Idempotency-Replayed"] == "true"
    other = ask(tenant, Role.AUDITOR, key=key, epsilon="2")
    assert other.json()["type"] == "/problems/idempotency-key-reused"

    assert take(worker_process, Topic.AUDIT, queued["id"], lambda: False)  # in a child, as in production
    answer = tenant.call("GET", asked.headers["Location"], Role.REQUESTER)
    done = answer.json()
    assert (done["state"], done["reason"]) == ("done", None)
    assert done["progress"] == {"stage": "control", "done": 800, "total": 800}
    assert "Retry-After" not in answer.headers
    result = done["result"]
    assert (result["epsilon"], result["delta"], result["confidence"]) == ("1", "0", "0.999")
    assert result["verdict"] in ("passed", "inconclusive", "failed")
    assert result["passed"] is (float(result["lower_bound"]) <= 1.0)
    assert result["control"]["caught"] is (float(result["control"]["lower_bound"]) > 1.0)
    unchanged = tenant.call(
        "GET", f"/audits/{queued['id']}", headers={"If-None-Match": answer.headers["ETag"]}
    )
    assert unchanged.status_code == 304

    assert [item["id"] for item in tenant.call("GET", "/audits").json()["items"]] == [queued["id"]]
    assert stranger.call("GET", "/audits").json()["items"] == []
    assert stranger.call("GET", f"/audits/{queued['id']}").json()["type"] == "/problems/not-found"


CARRYING = {
    "structures": {
        "edge": {"method": "dcsbm"},
        "*": {"method": "anchored", "parameters": {"evidence": "none"}},
    },
    "attribute_share": 0.25,
    "node_attribute_share": 0.1,
}


def test_a_composition_is_audited_on_two_relations(tenant: Tenant):
    """On canaries whose edges carry a value and whose nodes a protected attribute."""
    asked = ask(tenant, method="composed", runs=100, parameters=CARRYING)
    assert asked.status_code == 202, asked.text
    told = asked.json()["parameters"]["structures"]
    assert {name: each["method"] for name, each in told.items()} == {"edge": "dcsbm", "beside": "anchored"}
    unknown = ask(tenant, method="composed", parameters={"structures": {"knows": {"method": "dcsbm"}}})
    assert (unknown.status_code, unknown.json()["type"]) == (422, "/problems/not-accepted")
    assert unknown.json()["errors"][0]["field"] == "parameters.structures"


@pytest.mark.audits
def test_an_audit_of_all_that_a_composition_carries_ends(tenant: Tenant, worker_process: WorkerProcess):
    asked = ask(tenant, method="composed", runs=100, parameters=CARRYING)
    assert take(worker_process, Topic.AUDIT, asked.json()["id"], lambda: False)
    done = tenant.call("GET", asked.headers["Location"]).json()
    assert (done["state"], done["reason"]) == ("done", None)
    assert done["result"]["verdict"] in ("passed", "inconclusive")


def test_a_list_comes_page_by_page(tenant: Tenant):
    ids = [ask(tenant).json()["id"] for _ in range(3)]
    first = tenant.call("GET", "/audits?limit=2").json()
    rest = tenant.call("GET", f"/audits?limit=2&cursor={first['next_cursor']}").json()
    assert [item["id"] for item in first["items"] + rest["items"]] == ids[::-1]
    assert rest["next_cursor"] is None
    bad = tenant.call("GET", "/audits?cursor=no")
    assert (bad.status_code, bad.json()["errors"][0]["field"]) == (422, "cursor")


@pytest.mark.parametrize(
    ("request_", "problem", "field"),
    [
        ({"method": "nothing"}, "unknown-method", "method"),
        ({"epsilon": "50"}, "invalid-input", "epsilon"),
        ({"epsilon": "many"}, "invalid-input", None),
        ({"runs": 99}, "invalid-input", "runs"),
        ({"runs": 10**8}, "invalid-input", "runs"),
        ({"unit": "person"}, "invalid-input", "unit"),
        ({"unit": "w-event"}, "invalid-input", "window"),
        ({"unit": "node"}, "not-accepted", "unit"),
        ({"parameters": {"query": "all"}}, "invalid-input", "parameters.query"),
        ({"method": "gaussian"}, "not-accepted", "delta"),
        ({"method": "dp_sgd", "delta": "0.01", "unit": "pair"}, "not-accepted", "unit"),
        ({"dataset_id": "ds_1"}, "invalid-input", "dataset_id"),
    ],
)
def test_a_refusal_names_the_field(tenant: Tenant, request_: dict[str, Any], problem: str, field: str | None):
    answer = ask(tenant, **request_)
    assert (answer.status_code, answer.json()["type"]) == (422, f"/problems/{problem}")
    if field is not None:
        assert answer.json()["errors"][0]["field"] == field


def test_a_key_is_needed(tenant: Tenant):
    answer = tenant.call("POST", "/audits", json=LAPLACE)
    assert answer.json()["type"] == "/problems/idempotency-key-missing"


def test_operators_may_not_ask(tenant: Tenant):
    for method, path in (("POST", "/audits"), ("GET", "/audits"), ("GET", "/audits/aud_1")):
        answer = tenant.call(
            method, path, Role.OPERATOR, json=LAPLACE, headers={"Idempotency-Key": "operator"}
        )
        assert answer.json()["type"] == "/problems/forbidden"


def test_unfinished_audits_are_limited(tenant: Tenant):
    limit = tenant.services.settings.max_open_audits
    made = [ask(tenant) for _ in range(limit)]
    assert {answer.status_code for answer in made} == {202}
    refused = ask(tenant)
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/conflict")


def test_a_lost_audit_waits_for_another_worker_and_fails_when_none_may_try(tenant: Tenant):
    services = tenant.services
    audit_id = ask(tenant).json()["id"]
    attempts = services.settings.max_attempts
    for attempt in range(1, attempts + 1):
        work = audits.begin_audit(services, audit_id, "w1")
        assert work is not None
        assert work.attempt == attempt
        assert audits.begin_audit(services, audit_id, "w2") is None
        audits.record_progress(services, work, stage="audit", done=attempt, total=800)
        age(services, audit_id)
        assert recover.recover_lost(services, Topic.AUDIT) >= 1
        for late in (
            lambda work=work: leased.heartbeat(services, Topic.AUDIT, work.audit_id, work.attempt),
            lambda work=work: audits.record_progress(services, work, stage="audit", done=9, total=9),
        ):
            with pytest.raises(LeaseLost):
                late()
    shown = tenant.call("GET", f"/audits/{audit_id}").json()
    assert (shown["state"], shown["reason"], shown["result"]) == ("failed", "worker_lost", None)
    with services.db.transaction() as session:
        rung = session.execute(
            select(func.count()).where(OutboxMessage.subject_id == audit_id, OutboxMessage.topic == "audit")
        ).scalar_one()
    assert rung == attempts


def test_what_the_child_tells_must_be_of_this_audit(tenant: Tenant, tmp_path: Any):
    services = tenant.services
    audit_id = ask(tenant).json()["id"]
    work = audits.begin_audit(services, audit_id, "w1")
    assert work is not None
    honest = {
        "method": "laplace", "parameters": {"query": "edge_count"}, "unit": "edge", "window": None,
        "nano_epsilon": 10**9, "delta_atto": 0, "runs": 400, "confidence": 0.999, "lower_bound": 0.5,
        "event": "e", "passed": True, "control": {"lower_bound": 1.5, "caught": True}, "verdict": "passed",
    }  # fmt: skip
    report = tmp_path / "audit.json"
    for changed in ({"nano_epsilon": 2 * 10**9}, {"runs": 500}, {"method": "gaussian"}, {"verdict": "fine"}):
        report.write_text(json.dumps(honest | changed))
        with pytest.raises(InvalidInput):
            audits.finish_audit(services, work, report)
    with pytest.raises(InvalidInput):
        audits.record_progress(services, work, stage="node 17", done=1, total=2)
    report.write_text(json.dumps(honest))
    audits.finish_audit(services, work, report)
    with pytest.raises(LeaseLost):
        audits.finish_audit(services, work, report)
    assert tenant.call("GET", f"/audits/{audit_id}").json()["result"]["verdict"] == "passed"


def test_an_audit_that_takes_too_long_has_failed(tenant: Tenant, worker_process: WorkerProcess):
    audit_id = ask(tenant, runs=200_000).json()["id"]
    services = worker_process.services
    hurried = services.settings.model_copy(update={"audit_wall_seconds": 0.5})
    process = dataclasses.replace(worker_process, services=Services(services.db, services.store, hurried))
    assert take(process, Topic.AUDIT, audit_id, lambda: False)
    shown = tenant.call("GET", f"/audits/{audit_id}").json()
    assert (shown["state"], shown["reason"]) == ("failed", "time_exceeded")


def test_the_command_asks_and_shows(address: str, tenant: Tenant):
    environment = {"GRAPHVEIL_URL": address, "GRAPHVEIL_TOKEN": tenant.token(Role.REQUESTER)}
    asked = CliRunner().invoke(
        cli.app,
        ["--json", "audit", "randomised_response", "--epsilon", "1", "--runs", "400", "--no-wait"],
        env=environment,
    )
    assert asked.exit_code == 0, asked.output
    audit_id = json.loads(asked.stdout)["id"]
    tenant.work(Topic.AUDIT, audit_id)
    with Graphveil(address, environment["GRAPHVEIL_TOKEN"]) as sdk:
        found = sdk.wait_audit(audit_id, timeout_seconds=PATIENCE_SECONDS)
        assert found.state == "done"
        assert found.result is not None
        assert [each.id for each in sdk.audits()] == [audit_id]
    listed = CliRunner().invoke(cli.app, ["audits"], env=environment | {"COLUMNS": "160"})
    assert listed.exit_code == 0, listed.output
    assert "randomised_response" in listed.stdout
    assert "done" in listed.stdout
    shown = CliRunner().invoke(cli.app, ["audits", audit_id], env=environment)
    assert shown.exit_code == 0, shown.output
    assert f"{found.result.verdict}: epsilon is at least" in " ".join(shown.stdout.split())
    as_json = CliRunner().invoke(cli.app, ["--json", "audits", audit_id], env=environment)
    assert json.loads(as_json.stdout) == found.model_dump(mode="json")


def test_the_document_shows_an_example(http: TestClient):
    operation = http.get("/openapi.json").json()["paths"]["/v1/audits"]["post"]
    assert operation["requestBody"]["content"]["application/json"]["examples"]
