"""Quotas, adjustments and statements of an earlier moment over HTTP."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any

import pytest

from core.db.session import Database
from core.identity.models import Role
from core.ledger import service as ledger
from tests.integration.api.conftest import Tenant, week
from tests.integration.api.test_governance import WHY, Call, person, slug, submit


def quota(call: Call, dataset_id: str, scope: str, name: str, epsilon: str, **more: Any) -> Any:
    body = {"epsilon": epsilon, "reason": "its share"} | more
    return call("PUT", f"/datasets/{dataset_id}/budget/quotas/{scope}/{name}", json=body)


def test_a_job_draws_on_the_account_and_its_quotas_together_or_on_none(
    tenant: Tenant, database_of: Database
) -> None:
    ada, blue = person(tenant, "ada"), person(tenant, "cy", Role.REQUESTER, team="blue")
    dataset_id = tenant.ready(epsilon="5")
    assert quota(ada, dataset_id, "team", "blue", "1").status_code == 201
    assert quota(ada, dataset_id, "project", "spring", "0.75").status_code == 201
    repeated = quota(ada, dataset_id, "project", "spring", "0.75")
    assert (repeated.status_code, repeated.json()["scope_name"]) == (200, "spring")
    assert slug(quota(ada, dataset_id, "project", "spring", "0.8")) == "conflict"

    planned = blue(
        "POST",
        "/jobs",
        params={"dry_run": "true"},
        json={"dataset_id": dataset_id, "epsilon": "0.5", "method": "edgerand", "project": "spring"},
    ).json()
    after = {q["scope_name"]: q["reserved"]["epsilon"] for q in planned["quotas_after"]}
    assert after == {"blue": "0.5", "spring": "0.5"}

    taken = submit(blue, dataset_id, project="spring")
    assert (taken.json()["team"], taken.json()["project"]) == ("blue", "spring")
    refused = submit(blue, dataset_id, "0.4", project="spring")
    assert (refused.status_code, slug(refused)) == (409, "budget-exceeded")
    assert refused.json()["quota"] == {"scope": "project", "name": "spring"}
    assert submit(blue, dataset_id, "0.4").status_code == 202
    listed = ada("GET", f"/datasets/{dataset_id}/budget/quotas").json()["items"]
    assert [(q["scope"], q["scope_name"], q["reserved"]["epsilon"]) for q in listed] == [
        ("project", "spring", "0.5"),
        ("team", "blue", "0.9"),
    ]
    whole = ada("GET", f"/datasets/{dataset_id}/budget").json()
    assert (whole["reserved"]["epsilon"], whole["scope"]) == ("0.9", "domain")
    blue("POST", f"/jobs/{taken.json()['id']}/cancel")
    listed = ada("GET", f"/datasets/{dataset_id}/budget/quotas").json()["items"]
    assert [q["reserved"]["epsilon"] for q in listed] == ["0", "0.4"]
    with database_of.transaction() as session:
        for account in (whole["account_id"], *(q["account_id"] for q in listed)):
            assert ledger.verify(session, account).intact


def test_a_policy_can_ask_for_a_quota_so_that_none_is_evaded(tenant: Tenant) -> None:
    ada, red = person(tenant, "ada"), person(tenant, "cy", Role.REQUESTER, team="red")
    dataset_id = tenant.ready(policy={"project_required": True, "team_required": True})
    quota(ada, dataset_id, "project", "spring", "1")
    refusals = [
        submit(ada, dataset_id, project="spring"),
        submit(red, dataset_id),
        submit(red, dataset_id, project="autumn"),
        submit(red, dataset_id, project="spring"),
    ]
    assert [answer.json().get("rule") for answer in refusals] == [
        "team_required",
        "project_required",
        "project_required",
        "team_required",
    ]
    quota(ada, dataset_id, "team", "red", "1")
    assert submit(red, dataset_id, project="spring").status_code == 202


def test_a_quota_is_raised_by_two_persons(tenant: Tenant) -> None:
    ada, bo = person(tenant, "ada"), person(tenant, "bo")
    dataset_id = tenant.register(epsilon="5")["id"]
    quota(ada, dataset_id, "team", "blue", "1")
    body = {"epsilon": "0.5", "reason": "r", "quota": {"scope": "team", "name": "blue"}}
    proposal = ada("POST", f"/datasets/{dataset_id}/budget/grants", json=body).json()
    assert bo("POST", f"/proposals/{proposal['id']}/approve", json=WHY).status_code == 200
    (raised,) = ada("GET", f"/datasets/{dataset_id}/budget/quotas").json()["items"]
    assert raised["capacity"]["epsilon"] == "1.5"
    assert ada("GET", f"/datasets/{dataset_id}/budget").json()["capacity"]["epsilon"] == "5"
    unknown = body | {"quota": {"scope": "team", "name": "red"}}
    assert ada("POST", f"/datasets/{dataset_id}/budget/grants", json=unknown).status_code == 404


def test_a_stream_draws_on_its_quota(tenant: Tenant) -> None:
    dataset_id = tenant.streamable(epsilon="2")
    ada = person(tenant, "ada")
    quota(ada, dataset_id, "project", "spring", "0.25")
    stream_id = tenant.stream(dataset_id, "1", project="spring")["id"]
    refused = tenant.push(stream_id, week(0), step=0)
    assert (refused.status_code, slug(refused)) == (409, "budget-exceeded")
    assert refused.json()["quota"]["name"] == "spring"
    assert ada("GET", f"/datasets/{dataset_id}/budget").json()["reserved"]["epsilon"] == "0"


@pytest.mark.parametrize(
    ("scope", "name"), [("person", "ada"), ("team", "Blue"), ("team", "-a"), ("team", "a b")]
)
def test_only_teams_and_projects_have_quotas(tenant: Tenant, scope: str, name: str) -> None:
    dataset_id = tenant.register()["id"]
    assert quota(person(tenant, "ada"), dataset_id, scope, name, "1").status_code == 422


ADJUSTED: list[tuple[dict[str, Any], dict[str, int]]] = [
    ({"epsilon": "4"}, {"epsilon": 500_000_000}),
    ({"epsilon": "4", "unit": "w-event", "window": 3}, {"untimed": 500_000_000}),
]


@pytest.mark.parametrize(("terms", "amounts"), ADJUSTED)
def test_spend_from_outside_counts_for_good(
    tenant: Tenant, terms: dict[str, Any], amounts: dict[str, int], database_of: Database
) -> None:
    ada = person(tenant, "ada")
    schema = {"graph_schema": None} if "window" in terms else {}
    dataset = tenant.register(**(terms | schema))
    path = f"/datasets/{dataset['id']}/budget"
    head = ada("GET", path).json()["head"]
    body = {"epsilon": "0.5", "reason": "published by hand", "head": head}
    counted = ada("POST", f"{path}/adjustments", json=body)
    assert counted.status_code == 200, counted.text
    assert (counted.json()["charged"]["epsilon"], counted.json()["remaining"]["epsilon"]) == ("0.5", "3.5")
    entry = ada("GET", f"/datasets/{dataset['id']}/ledger").json()["items"][-1]
    assert (entry["kind"], entry["amounts"], entry["reason"]) == ("adjust", amounts, "published by hand")
    repeated = ada("POST", f"{path}/adjustments", json=body)
    assert (repeated.status_code, slug(repeated)) == (412, "stale-etag")
    beyond = ada("POST", f"{path}/adjustments", json={"epsilon": "3.500000001", "reason": "r"})
    assert (beyond.status_code, slug(beyond)) == (409, "budget-exceeded")
    assert ada("GET", path).json()["charged"]["epsilon"] == "0.5"
    with database_of.transaction() as session:
        assert ledger.verify(session, dataset["account_id"]).intact


def test_an_adjustment_under_the_renyi_filter_counts_at_every_order(tenant: Tenant) -> None:
    ada = person(tenant, "ada")
    dataset = tenant.register(epsilon="4", delta="1e-6", filter="renyi")
    path = f"/datasets/{dataset['id']}/budget"
    counted = ada("POST", f"{path}/adjustments", json={"epsilon": "0.5", "reason": "r"})
    assert counted.status_code == 200, counted.text
    amounts = ada("GET", f"/datasets/{dataset['id']}/ledger").json()["items"][-1]["amounts"]
    # min(eps, alpha eps^2 / 2) in nano, rounded up: 2 * 0.25 / 2 = 0.25; from order 4 on eps itself
    assert 250_000_000 <= amounts["rdp/2"] <= 250_000_010
    assert 500_000_000 <= amounts["rdp/512"] <= 500_000_010
    mixed = ada("POST", f"{path}/adjustments", json={"epsilon": "0.5", "delta": "1e-9", "reason": "r"})
    assert (mixed.status_code, mixed.json()["errors"][0]["field"]) == (422, "delta")


def test_amounts_that_are_none_are_refused_everywhere(tenant: Tenant) -> None:
    ada = person(tenant, "ada")
    dataset_id = tenant.register(epsilon="4")["id"]
    path = f"/datasets/{dataset_id}/budget"
    head = ada("GET", path).json()["head"]
    for wrong in ("nan", "inf", "-1", "0", "", "1e400", True, None, [1]):
        for call in (
            ada("POST", f"{path}/adjustments", json={"epsilon": wrong, "reason": "r"}),
            ada("PUT", f"{path}/quotas/team/a", json={"epsilon": wrong, "reason": "r"}),
            ada("POST", f"{path}/grants", json={"epsilon": wrong, "reason": "r"}),
        ):
            assert call.status_code == 422, (wrong, call.text)
    for silent in ("", " ", "\u00a0", "a\x00b", "x" * 257):
        body = {"epsilon": "1", "reason": silent}
        assert ada("POST", f"{path}/adjustments", json=body).status_code == 422
    assert ada("GET", path).json()["head"] == head


def test_a_statement_tells_an_earlier_moment(tenant: Tenant) -> None:
    ada, bo = person(tenant, "ada"), person(tenant, "bo")
    dataset_id = tenant.register(epsilon="4")["id"]
    path = f"/datasets/{dataset_id}/budget"

    def now() -> str:
        with tenant.services.db.transaction() as session:
            moment = session.connection().exec_driver_sql("SELECT clock_timestamp()").scalar_one()
        return str(moment.astimezone(UTC).isoformat())

    opened = now()
    ada("POST", f"{path}/adjustments", json={"epsilon": "1", "reason": "r"})
    spent = now()
    grant = ada("POST", f"{path}/grants", json={"epsilon": "1", "reason": "r"}).json()["id"]
    assert bo("POST", f"/proposals/{grant}/approve", json=WHY).status_code == 200
    seen = [ada("GET", path, params={"as_of": moment}).json() for moment in (opened, spent)]
    figures = [
        (one["capacity"]["epsilon"], one["charged"]["epsilon"], one["remaining"]["epsilon"]) for one in seen
    ]
    assert figures == [("4", "0", "4"), ("4", "1", "3")]
    assert datetime.fromisoformat(seen[0]["as_of"]) == datetime.fromisoformat(opened)
    present = ada("GET", path).json()
    assert (present["capacity"]["epsilon"], present["as_of"]) == ("5", None)
    for wrong in (
        "2001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59Z",
        "2026-01-01T00:00:00",
        secrets.token_hex(4),
    ):
        assert ada("GET", path, params={"as_of": wrong}).status_code == 422, wrong


def test_an_earlier_moment_is_not_told_to_requesters(tenant: Tenant) -> None:
    """By halving the time between two moments they would learn exactly how long a job has run."""
    path = f"/datasets/{tenant.register()['id']}/budget"
    asked = {"as_of": datetime.now(UTC).isoformat()}
    assert person(tenant, "cy", Role.REQUESTER)("GET", path).status_code == 200
    refused = person(tenant, "cy", Role.REQUESTER)("GET", path, params=asked)
    assert (refused.status_code, slug(refused)) == (403, "forbidden")
    for role in (Role.CURATOR, Role.AUDITOR):
        assert person(tenant, "ada", role)("GET", path, params=asked).status_code == 200


def test_the_entries_of_a_quota_are_listed_as_those_of_its_account(tenant: Tenant) -> None:
    ada, blue = person(tenant, "ada"), person(tenant, "cy", Role.REQUESTER, team="blue")
    dataset_id = tenant.ready(epsilon="5")
    opened = quota(ada, dataset_id, "team", "blue", "1").json()
    job_id = submit(blue, dataset_id).json()["id"]
    blue("POST", f"/jobs/{job_id}/cancel")
    path = f"/datasets/{dataset_id}/budget/quotas/team/blue/ledger"
    entries = ada("GET", path).json()["items"]
    assert [(entry["kind"], entry["job_id"]) for entry in entries] == [
        ("grant", None),
        ("reserve", job_id),
        ("release", job_id),
    ]
    assert [entry["previous_hash"] for entry in entries[1:]] == [entry["hash"] for entry in entries[:2]]
    assert entries[0]["hash"] == opened["head"]

    first = ada("GET", path, params={"limit": 2}).json()
    rest = ada("GET", path, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert (first["items"] + rest["items"], rest["next_cursor"]) == (entries, None)
    assert ada("GET", path, params={"after": 2}).json()["items"] == entries[2:]
    assert slug(blue("GET", path)) == "forbidden"
    for missing in ("team/red", "project/blue"):
        assert slug(ada("GET", f"/datasets/{dataset_id}/budget/quotas/{missing}/ledger")) == "not-found"
