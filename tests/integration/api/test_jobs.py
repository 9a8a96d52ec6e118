"""Jobs over HTTP: planned, submitted once, watched, cancelled, published."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from core.db.session import Database
from core.identity.models import Role
from core.jobs.models import Job
from core.outbox.models import Topic
from core.storage.store import ObjectStore
from tests.integration.api.conftest import Tenant


def budget(tenant: Tenant, dataset_id: str) -> dict[str, str]:
    shown = tenant.call("GET", f"/datasets/{dataset_id}/budget").json()
    return {name: shown[name]["epsilon"] for name in ("charged", "reserved", "remaining")}


def test_a_dry_run_shows_the_price_and_spends_nothing(house: Tenant, ready_dataset: str):
    before = budget(house, ready_dataset)
    body = {"dataset_id": ready_dataset, "epsilon": "0.3"}
    answer = house.call("POST", "/jobs?dry_run=true", json=body)
    plan = answer.json()
    assert answer.status_code == 200
    assert plan["cost"]["kind"] == "pure"
    assert plan["cost"]["delta"] == "0"
    assert 0 < float(plan["cost"]["epsilon"]) <= 0.3
    assert plan["amounts"]["epsilon"] == round(float(plan["cost"]["epsilon"]) * 1e9)
    assert plan["budget_after"]["reserved"]["nano_epsilon"] >= plan["amounts"]["epsilon"]
    assert budget(house, ready_dataset) == before


@pytest.mark.parametrize("query", ["", "?dry_run=true"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", "NaN"),
        ("epsilon", "Infinity"),
        ("parameters", '{"x": NaN}'),
        ("parameters", '{"x": "\\ud800"}'),
        ("parameters", '{"\\ud800": 1}'),
        ("\\ud800", "1"),
    ],
)
def test_values_that_json_parsers_let_pass_and_no_store_takes_are_refused(
    field: str, value: str, query: str, house: Tenant, ready_dataset: str
):
    body = f'{{"dataset_id": "{ready_dataset}", "{field}": {value}}}'
    if field != "epsilon":
        body = body.replace("{", '{"epsilon": "1", ', 1)
    headers = {"Content-Type": "application/json", "Idempotency-Key": "odd"}
    answer = house.call("POST", f"/jobs{query}", content=body, headers=headers)
    assert answer.status_code == 422, answer.text
    assert answer.json()["type"] == "/problems/invalid-input"


def test_the_store_is_read_while_no_connection_to_the_database_is_held(
    house: Tenant, published_job: str, monkeypatch: pytest.MonkeyPatch
):
    pool, held = house.services.db.engine.pool, []
    get = ObjectStore.get

    def watched(store: ObjectStore, key: str) -> Iterator[bytes]:
        held.append(pool.checkedout())
        return get(store, key)

    monkeypatch.setattr(ObjectStore, "get", watched)
    for path in ("report", "artifacts/edges.parquet", "artifacts/curator.json"):
        assert house.call("GET", f"/jobs/{published_job}/{path}").status_code == 200
    assert held == [0, 0, 0, 0]  # a curator's report is two files


def test_who_holds_the_file_already_makes_nobody_open_it(
    house: Tenant, published_job: str, monkeypatch: pytest.MonkeyPatch
):
    path = f"/jobs/{published_job}/artifacts/edges.parquet"
    etag = house.call("GET", path).headers["ETag"]

    def refuse(store: ObjectStore, key: str) -> Iterator[bytes]:
        raise AssertionError("the store was asked")

    monkeypatch.setattr(ObjectStore, "get", refuse)
    assert house.call("GET", path, headers={"If-None-Match": etag}).status_code == 304


def test_a_job_is_queued_and_its_budget_reserved_before_the_answer(
    house: Tenant, ready_dataset: str, database_of: Database
):
    answer = house.submit(ready_dataset, "0.25", label="spring")
    job = answer.json()
    assert answer.status_code == 202
    assert (job["state"], job["epsilon"], job["label"]) == ("queued", "0.25", "spring")
    assert answer.headers["Location"] == f"/jobs/{job['id']}"
    assert int(answer.headers["Retry-After"]) >= 1
    with database_of.transaction() as session:  # another connection sees the committed row
        assert session.get(Job, job["id"]) is not None
    assert house.call("GET", answer.headers["Location"]).json() == job
    house.call("POST", f"/jobs/{job['id']}/cancel")


def test_a_repeat_with_the_same_key_is_answered_with_the_same_job(house: Tenant, ready_dataset: str):
    first = house.submit(ready_dataset, "0.5", key="once")
    reserved = budget(house, ready_dataset)
    again = house.submit(ready_dataset, "0.5", key="once")
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.json()["id"] == first.json()["id"]
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert budget(house, ready_dataset) == reserved
    other = house.submit(ready_dataset, "0.6", key="once").json()
    assert (other["type"], other["job_id"]) == ("/problems/idempotency-key-reused", first.json()["id"])
    house.call("POST", f"/jobs/{first.json()['id']}/cancel")


def test_a_job_needs_a_key(house: Tenant, ready_dataset: str):
    answer = house.call("POST", "/jobs", json={"dataset_id": ready_dataset, "epsilon": "1"})
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/idempotency-key-missing")


@pytest.mark.parametrize(
    ("request_", "slug", "field"),
    [
        ({"method": "magic"}, "unknown-method", "method"),
        ({"formats": ["xls"]}, "unknown-format", "format"),
        ({"edge_types": ["phone"]}, "not-accepted", "edge_types.0"),
        ({"method": "psgraph", "parameters": {"speed": 11}}, "invalid-input", "parameters.speed"),
        ({"parameters": {"speed": 11}}, "invalid-input", "parameters"),
        ({"comparison": True}, "not-accepted", "comparison"),
        ({"epsilon": "0"}, "invalid-input", "epsilon"),
        ({"seed": 7}, "invalid-input", "seed"),
        ({"dataset": "x"}, "invalid-input", "dataset"),
    ],
)
def test_what_a_job_cannot_be_is_refused_by_name(
    house: Tenant, ready_dataset: str, request_: dict[str, object], slug: str, field: str
):
    problem = house.submit(ready_dataset, **{"epsilon": "1", **request_}).json()
    assert problem["type"] == f"/problems/{slug}"
    assert problem["errors"][0]["field"].startswith(field)


def test_text_that_cannot_be_stored_is_the_callers_to_mend(house: Tenant, ready_dataset: str):
    for answer in (
        house.submit(ready_dataset, label="a\x00b"),
        house.submit("ds_\x00"),
        house.call("GET", "/jobs/job_%00"),
    ):
        assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-input")


def test_a_dataset_that_is_not_ready_takes_no_job(tenant: Tenant):
    problem = tenant.submit(tenant.register()["id"]).json()
    assert (problem["type"], problem["state"]) == ("/problems/dataset-not-ready", "registered")
    assert problem["retryable"] is True


def test_a_refusal_says_what_remains(house: Tenant, ready_dataset: str):
    answer = house.submit(ready_dataset, "1000")
    problem = answer.json()
    shown = house.call("GET", f"/datasets/{ready_dataset}/budget").json()
    assert (answer.status_code, problem["type"]) == (409, "/problems/budget-exceeded")
    assert problem["account_id"] == shown["account_id"]
    assert problem["remaining"] == shown["remaining"]["epsilon"]
    assert problem["reserved"] == shown["reserved"]["epsilon"]
    assert (problem["requested"], problem["capacity"]) == ("1000", "900")
    assert (problem["actionable_by"], problem["retryable"]) == ("curator", False)


def test_a_cancelled_job_has_no_report_and_its_budget_is_free(house: Tenant, ready_dataset: str):
    before = budget(house, ready_dataset)
    job_id = house.submit(ready_dataset, "2").json()["id"]
    pending = house.call("GET", f"/jobs/{job_id}/report")
    assert (pending.status_code, pending.json()) == (202, {"job_id": job_id, "state": "queued"})
    assert int(pending.headers["Retry-After"]) >= 1
    early = house.call("GET", f"/jobs/{job_id}/artifacts")
    assert (early.status_code, early.json()["type"]) == (409, "/problems/job-not-finished")
    for _ in range(2):  # safe to repeat
        cancelled = house.call("POST", f"/jobs/{job_id}/cancel")
        assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")
    report = house.call("GET", f"/jobs/{job_id}/report")
    assert (report.status_code, report.json()["type"]) == (409, "/problems/job-failed")
    assert (report.json()["state"], report.json()["reason"]) == ("cancelled", "cancelled_by_caller")
    assert budget(house, ready_dataset) == before


def test_a_poll_with_the_etag_is_answered_304(house: Tenant, ready_dataset: str):
    job_id = house.submit(ready_dataset, "1").json()["id"]
    first = house.call("GET", f"/jobs/{job_id}")
    held = {"If-None-Match": first.headers["ETag"]}
    unchanged = house.call("GET", f"/jobs/{job_id}", headers=held)
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert "Retry-After" in unchanged.headers
    house.call("POST", f"/jobs/{job_id}/cancel")
    changed = house.call("GET", f"/jobs/{job_id}", headers=held)
    assert changed.status_code == 200
    assert "Retry-After" not in changed.headers


def test_the_longer_a_job_takes_the_longer_is_the_pause(house: Tenant, ready_dataset: str):
    job_id = house.submit(ready_dataset, "1").json()["id"]
    polls = [(200, f"/jobs/{job_id}"), (202, f"/jobs/{job_id}/report"), (409, f"/jobs/{job_id}/artifacts")]
    for age, pause in ((0, "1"), (62, "10"), (7_200, "30")):
        with house.services.db.transaction() as session:
            aged = text("UPDATE jobs SET created_at = now() - make_interval(secs => :age) WHERE id = :id")
            session.execute(aged, {"age": age, "id": job_id})
        for status, path in polls:
            answer = house.call("GET", path)
            assert (answer.status_code, answer.headers["Retry-After"]) == (status, pause)
    house.call("POST", f"/jobs/{job_id}/cancel")


def test_jobs_are_listed_by_state_and_page(house: Tenant, ready_dataset: str):
    ids = [house.submit(ready_dataset, "0.1").json()["id"] for _ in range(3)]
    path = f"/jobs?state=queued&dataset_id={ready_dataset}&limit=2"
    first = house.call("GET", path).json()
    second = house.call("GET", f"{path}&cursor={first['next_cursor']}").json()
    listed = [job["id"] for job in first["items"] + second["items"]]
    assert listed[:3] == ids[::-1]
    assert house.call("GET", "/jobs?state=sleeping").json()["errors"][0]["field"] == "state"
    assert house.call("GET", "/jobs?cursor=tomorrow").json()["errors"][0]["field"] == "cursor"
    for job_id in ids:
        house.call("POST", f"/jobs/{job_id}/cancel")


def test_a_published_job_cannot_be_cancelled(house: Tenant, published_job: str):
    problem = house.call("POST", f"/jobs/{published_job}/cancel").json()
    assert (problem["type"], problem["state"]) == ("/problems/invalid-transition", "published")


def test_requesters_see_coarse_times_and_curators_exact_ones(house: Tenant, published_job: str):
    exact = house.call("GET", f"/jobs/{published_job}", Role.CURATOR).json()
    coarse = house.call("GET", f"/jobs/{published_job}", Role.REQUESTER).json()
    assert exact["finished_at"] is not None
    assert (coarse["started_at"], coarse["finished_at"], coarse["attempt"]) == (None, None, None)
    assert coarse["run_time"] == exact["run_time"] == "under 1 minute"


def test_the_stages_of_a_job_are_listed(house: Tenant, published_job: str):
    steps = house.call("GET", f"/jobs/{published_job}/events").json()["items"]
    assert steps
    assert [step["sequence"] for step in steps] == sorted(step["sequence"] for step in steps)
    rest = house.call("GET", f"/jobs/{published_job}/events?after={steps[0]['sequence']}").json()["items"]
    assert rest == steps[1:]


def test_the_report_shows_each_caller_what_it_may_see(house: Tenant, published_job: str, ready_dataset: str):
    curators = house.call("GET", f"/jobs/{published_job}/report", Role.CURATOR)
    requesters = house.call("GET", f"/jobs/{published_job}/report", Role.REQUESTER)
    assert (curators.status_code, requesters.status_code) == (200, 200)
    assert curators.json()["curator"]["status"] == "done"
    assert "curator" not in requesters.json()
    public = requesters.json()["public"]
    assert public["guarantee"]["kind"] == "pure"
    assert public["guarantee"]["epsilon"] == "1"
    assert public["provenance"]["dataset_id"] == ready_dataset


def test_files_are_downloaded_whole_with_their_digest(house: Tenant, published_job: str):
    listed = house.call("GET", f"/jobs/{published_job}/artifacts", Role.REQUESTER).json()["items"]
    assert {"nodes.parquet", "edges.parquet", "graph.csv"} <= {a["name"] for a in listed}
    assert {a["role"] for a in listed} <= {"artifact", "report"}
    for artifact in listed:
        path = f"/v1/jobs/{published_job}/artifacts/{artifact['name']}"
        answer = house.call("GET", path, Role.REQUESTER)
        assert answer.status_code == 200
        assert hashlib.sha256(answer.content).hexdigest() == artifact["sha256"]
        assert int(answer.headers["Content-Length"]) == len(answer.content) == artifact["size_bytes"]
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{artifact["name"]}"'
        held = {"If-None-Match": answer.headers["ETag"]}
        assert house.call("GET", path, Role.REQUESTER, headers=held).status_code == 304


def test_private_files_are_nobodys(house: Tenant, published_job: str):
    for name in ("alignment.parquet", "private/alignment.parquet", "nothing.txt"):
        assert house.call("GET", f"/jobs/{published_job}/artifacts/{name}").status_code == 404


def test_a_job_that_runs_to_its_end_is_charged(tenant: Tenant):
    dataset_id = tenant.ready(epsilon="1")
    job_id = tenant.submit(dataset_id, "0.75").json()["id"]
    tenant.work(Topic.RUN, job_id)
    assert tenant.call("GET", f"/jobs/{job_id}").json()["state"] == "published"
    assert budget(tenant, dataset_id) == {"charged": "0.75", "reserved": "0", "remaining": "0.25"}
    digests = tenant.call("GET", f"/datasets/{dataset_id}/ledger").json()["items"][-1]["digests"]
    listed = tenant.call("GET", f"/jobs/{job_id}/artifacts").json()["items"]
    assert {a["name"]: a["sha256"] for a in listed}.items() <= digests.items()


def test_plans_are_laid_side_by_side(house: Tenant, ready_dataset: str):
    body = {"dataset_id": ready_dataset, "methods": [{"method": "dgg"}], "epsilons": ["0.1", 0.2]}
    menu = house.call("POST", "/plans", json=body)
    assert menu.status_code == 200, menu.text
    assert [item["cost"]["epsilon"] for item in menu.json()["items"]] == ["0.1", "0.2"]
    refused = house.call("POST", "/plans", json=body | {"epsilons": ["1"] * 51})
    assert (refused.status_code, refused.json()["type"]) == (422, "/problems/invalid-input")
    assert house.call("POST", "/plans", Role.AUDITOR, json=body).status_code == 403


def test_a_target_that_is_none_names_its_fields(house: Tenant, ready_dataset: str):
    asked = {"dataset_id": ready_dataset, "method": "dgg"}
    for target, field in (
        ({"edges_within_95": 0}, "target.edges_within_95"),
        ({"triangles": 3}, "target.triangles"),
        ({}, "target"),
    ):
        refused = house.call("POST", "/jobs?dry_run=true", json=asked | {"target": target})
        assert refused.status_code == 422
        assert [error["field"] for error in refused.json()["errors"]] == [field]
