"""Datasets over HTTP: declared, uploaded, shown, archived."""

from __future__ import annotations

from typing import Any

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import EDGES, SCHEMA, Tenant


def test_a_dataset_is_declared_and_shown(tenant: Tenant):
    answer = tenant.call(
        "POST", "/v1/datasets", json={"name": "a", "unit": "edge", "epsilon": "0.75", "graph_schema": SCHEMA}
    )
    assert answer.status_code == 201
    shown = answer.json()
    assert answer.headers["Location"] == f"/v1/datasets/{shown['id']}"
    assert (shown["state"], shown["unit"], shown["window"]) == ("registered", "edge", None)
    assert tenant.call("GET", answer.headers["Location"]).json() == shown
    assert [d["id"] for d in tenant.call("GET", "/datasets").json()["items"]] == [shown["id"]]


def test_amounts_are_exact_decimals(tenant: Tenant):
    dataset = tenant.register(epsilon="0.1", delta="1e-12")
    capacity = tenant.call("GET", f"/datasets/{dataset['id']}/budget").json()["capacity"]
    assert capacity == {
        "epsilon": "0.1",
        "delta": "0.000000000001",
        "nano_epsilon": 100_000_000,
        "delta_atto": 1_000_000,
    }


def test_what_cannot_be_used_is_named_field_by_field(tenant: Tenant):
    body = {
        "name": "x",
        "unit": "person",
        "epsilon": "1",
        "graph_schema": {"edge_types": []},
        "colour": "red",
    }
    answer = tenant.call("POST", "/datasets", json=body)
    problem = answer.json()
    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert problem["type"] == "/problems/invalid-input"
    fields = {error["field"]: error["how_to_mend"] for error in problem["errors"]}
    assert set(fields) == {"unit", "graph_schema.edge_types", "colour"}
    assert all(fields.values())
    assert "red" not in answer.text  # what was sent is not echoed


def test_a_bad_amount_names_its_field(tenant: Tenant):
    for epsilon in ("0", "-1", "nan", "inf", "1e9", True, None):
        body = {"name": "x", "unit": "edge", "epsilon": epsilon, "graph_schema": SCHEMA}
        problem = tenant.call("POST", "/datasets", json=body).json()
        assert problem["status"] == 422, epsilon
        assert problem["errors"][0]["field"].startswith("epsilon")


def test_a_name_is_taken_once(tenant: Tenant):
    name = tenant.register()["name"]
    body = {"name": name, "unit": "edge", "epsilon": "2", "graph_schema": SCHEMA}
    problem = tenant.call("POST", "/datasets", json=body).json()
    assert (problem["status"], problem["type"]) == (409, "/problems/conflict")


def test_an_upload_is_received_and_its_digest_is_the_curators_only(tenant: Tenant):
    dataset_id = tenant.register()["id"]
    received = tenant.upload(dataset_id)
    assert received.status_code == 200
    assert (received.json()["number"], received.json()["state"]) == (1, "queued")
    for role, seen in ((Role.CURATOR, True), (Role.REQUESTER, False), (Role.AUDITOR, False)):
        shown = tenant.call("GET", f"/datasets/{dataset_id}", role).json()
        # How far an upload is, and that it was sent at all, would tell when its content is refused.
        assert shown["state"] == ("validating" if seen else "registered")
        assert (shown["version"] is not None) is seen
        assert ("sha256" in str(shown)) is seen


def test_that_an_upload_was_rejected_is_the_curators_to_know(tenant: Tenant):
    """A pair that occurs twice breaks a declared fact: one edge more or less, and nobody has paid for it."""
    once = SCHEMA | {"edge_types": [SCHEMA["edge_types"][0] | {"directed": True, "functional": True}]}
    never, broken = (tenant.register(graph_schema=once)["id"] for _ in range(2))
    received = tenant.upload(broken, "source,target\n0,1\n0,2\n")
    tenant.work(Topic.INGEST, received.json()["id"])
    assert tenant.call("GET", f"/datasets/{broken}").json()["state"] == "rejected"
    for role in (Role.REQUESTER, Role.AUDITOR):
        seen = [tenant.call("GET", f"/datasets/{each}", role).json() for each in (never, broken)]
        assert [each["state"] for each in seen] == ["registered", "registered"]
        own = ("id", "name", "account_id", "protection_domain", "created_at")
        same = [{name: value for name, value in each.items() if name not in own} for each in seen]
        assert same[0] == same[1]
    asked = {"epsilon": "1", "method": "edgerand"}
    refused = [
        tenant.call("POST", "/jobs?dry_run=true", Role.REQUESTER, json={**asked, "dataset_id": each}).json()
        for each in (never, broken)
    ]
    assert [each["detail"] for each in refused] == [refused[0]["detail"]] * 2
    assert [each["state"] for each in refused] == ["registered", "registered"]


def test_an_upload_streams_without_a_declared_length(tenant: Tenant):
    dataset_id = tenant.register()["id"]
    pieces = (EDGES[i : i + 100].encode() for i in range(0, len(EDGES), 100))
    assert tenant.upload(dataset_id, pieces).status_code == 200
    part = tenant.call("GET", f"/datasets/{dataset_id}").json()["version"]["parts"][0]
    assert part["size_bytes"] == len(EDGES)


def test_an_upload_over_the_limit_is_refused(tenant: Tenant):
    dataset_id = tenant.register()["id"]
    limit = tenant.services.settings.max_upload_bytes
    declared = tenant.upload(dataset_id, b"x" * (limit + 1))
    streamed = tenant.upload(dataset_id, (b"x" * 2**18 for _ in range(limit // 2**18 + 1)))
    for answer in (declared, streamed):
        assert answer.status_code == 413
        assert answer.json()["limit_bytes"] == limit
    assert tenant.upload(dataset_id).status_code == 200


def test_an_unknown_format_or_part_is_refused(tenant: Tenant):
    dataset_id = tenant.register()["id"]
    assert (
        tenant.upload(dataset_id, query="part=edges&format=xls").json()["type"] == "/problems/unknown-format"
    )
    assert tenant.upload(dataset_id, query="part=faces&format=csv").json()["errors"][0]["field"] == "part"


def test_a_body_over_the_limit_of_json_routes_is_refused(tenant: Tenant):
    limit = tenant.services.settings.max_request_bytes
    declared = tenant.call("POST", "/datasets", content=b"x" * (limit + 1))
    streamed = tenant.call("POST", "/datasets", content=(b"x" * 2**14 for _ in range(limit // 2**14 + 1)))
    for answer in (declared, streamed):
        assert (answer.status_code, answer.json()["limit_bytes"]) == (413, limit)
        assert answer.headers["X-Request-ID"] == answer.json()["request_id"]


@pytest.mark.parametrize("claimed", ["9" * 5_000, b"\xb2"])
def test_an_upload_is_taken_whatever_its_length_claims(tenant: Tenant, claimed: str | bytes):
    dataset_id = tenant.register()["id"]
    path = f"/datasets/{dataset_id}/content?part=edges&format=csv"
    claims: dict[str, Any] = {"Content-Length": claimed}
    answer = tenant.call("PUT", path, content=b"source,target\n0,1\n", headers=claims)
    assert answer.status_code < 300, answer.json()


def test_a_schema_is_declared_later(tenant: Tenant):
    dataset_id = tenant.register(graph_schema=None)["id"]
    shown = tenant.call("PUT", f"/datasets/{dataset_id}/schema", json=SCHEMA)
    assert shown.status_code == 200
    assert shown.json()["graph_schema"]["edge_types"][0]["name"] == "mail"


def test_an_archived_dataset_keeps_its_ledger(tenant: Tenant):
    dataset_id = tenant.register()["id"]
    tenant.upload(dataset_id)
    gone = tenant.call("DELETE", f"/datasets/{dataset_id}")
    assert (gone.status_code, gone.content) == (204, b"")
    assert tenant.call("DELETE", f"/datasets/{dataset_id}").status_code == 204
    assert tenant.call("GET", f"/datasets/{dataset_id}").json()["state"] == "archived"
    assert tenant.call("GET", f"/datasets/{dataset_id}/ledger").json()["items"][0]["kind"] == "grant"
    assert tenant.upload(dataset_id).status_code == 409


def test_the_ledger_is_paged(house: Tenant, published_job: str, ready_dataset: str):
    path = f"/datasets/{ready_dataset}/ledger"
    everything = house.call("GET", path, Role.AUDITOR).json()["items"]
    assert everything[0]["kind"] == "grant"
    of_job = [entry["kind"] for entry in everything if entry["job_id"] == published_job]
    assert of_job == ["reserve", "charge"]
    first = house.call("GET", f"{path}?limit=1").json()
    second = house.call("GET", f"{path}?limit=1&cursor={first['next_cursor']}").json()
    assert first["items"] + second["items"] == everything[:2]
    assert everything[1]["previous_hash"] == everything[0]["hash"]
    assert house.call("GET", f"{path}?limit=0").status_code == 422


def test_datasets_are_paged(tenant: Tenant):
    ids = [tenant.register()["id"] for _ in range(3)]
    first = tenant.call("GET", "/datasets?limit=2").json()
    second = tenant.call("GET", f"/datasets?limit=2&cursor={first['next_cursor']}").json()
    assert [d["id"] for d in first["items"] + second["items"]] == ids[::-1]
    assert second["next_cursor"] is None


def test_a_dataset_says_when_to_ask_again_until_it_has_settled(tenant: Tenant):
    dataset_id = tenant.register(graph_schema=None)["id"]
    path = f"/datasets/{dataset_id}"
    assert "Retry-After" not in tenant.call("GET", path).headers
    version = tenant.upload(dataset_id).json()["id"]
    validating = tenant.call("GET", path)
    assert (validating.json()["state"], validating.headers["Retry-After"]) == ("validating", "2")
    tenant.work(Topic.INGEST, version)
    proposed = tenant.call("GET", path)
    assert (proposed.json()["state"], proposed.headers["Retry-After"]) == ("proposed", "60")
    # Whether an upload came to a proposal or was rejected follows from its content: curators alone see it.
    hidden = tenant.call("GET", path, Role.REQUESTER)
    assert (hidden.json()["state"], "Retry-After" in hidden.headers) == ("registered", False)
    refused = tenant.submit(dataset_id, "0.5")
    assert (refused.status_code, refused.headers["Retry-After"]) == (409, "60")
    assert (refused.json()["state"], refused.json()["retry_after"]) == ("proposed", 60)
    schema = tenant.call("GET", path).json()["proposed_schema"]
    assert tenant.call("PUT", f"{path}/schema", json=schema).json()["state"] == "validating"
    tenant.work(Topic.INGEST, version)
    ready = tenant.call("GET", path)
    assert (ready.json()["state"], "Retry-After" in ready.headers) == ("ready", False)


@pytest.mark.parametrize(("count", "kept"), [(None, ["node_list"]), (50, [])])
def test_a_schema_that_is_sent_is_asked_nothing_about_and_answered_what_of_it_was_read_off(
    tenant: Tenant, count: int | None, kept: list[str]
):
    """Whoever sends one may have written it; what it shares with the proposal is marked on releases."""
    path = f"/datasets/{tenant.register(graph_schema=None)['id']}"
    version = tenant.upload(path.rpartition("/")[2]).json()["id"]
    tenant.work(Topic.INGEST, version)
    schema = tenant.call("GET", path).json()["proposed_schema"]
    schema["node_types"][0]["count"] = count
    answer = tenant.call("PUT", f"{path}/schema", json=schema)
    assert answer.status_code == 200
    assert [each["part"] for each in answer.json()["version"]["read_off"]] == kept
    tenant.work(Topic.INGEST, version)
    ready = tenant.call("GET", path).json()
    assert [each["part"] for each in ready["version"]["read_off"]] == kept


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ("format=csv&sep=;", "options.sep", "delimiter"),
        ("format=csv&delimiter=ab", "options.delimiter", "delimiter"),
        ("format=parquet&header=true", "options.header", "extra_columns"),
        ("part=nodes&format=npz", "format", "csv, parquet or tsv"),
    ],
)
def test_an_option_that_the_format_does_not_have_is_refused_at_upload(
    tenant: Tenant, query: str, field: str, says: str
):
    dataset_id = tenant.register()["id"]
    answer = tenant.upload(dataset_id, query=query)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["field"] == field
    assert says in error["message"]
    assert tenant.call("GET", f"/datasets/{dataset_id}").json()["state"] == "registered"


def test_fields_go_by_the_names_that_callers_know(tenant: Tenant):
    body = {"name": "x", "unit": "edge", "epsilon": [1], "graph_schema": SCHEMA}
    errors = tenant.call("POST", "/datasets", json=body).json()["errors"]
    assert [error["field"] for error in errors] == ["epsilon"]
    assert "string" in errors[0]["how_to_mend"]
