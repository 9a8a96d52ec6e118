"""Policies, proposals and approvals over HTTP: what one curator may do alone, and what takes a second."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import text

from core.db.session import Database
from core.identity import service as identity
from core.identity.models import Role
from core.ledger import service as ledger
from core.outbox.models import Topic
from core.workflows.operations.recover import expire_reservations
from tests.integration.api.conftest import Tenant, week

Call = Callable[..., Any]
WHY = {"reason": "agreed in the data board"}


def person(tenant: Tenant, name: str, *roles: Role, team: str | None = None) -> Call:
    """Calls as a key of that person; a curator by default."""
    with tenant.services.db.transaction() as session:
        _, token = identity.create_key(
            session,
            tenant=tenant.name,
            name=secrets.token_hex(4),
            roles=roles or (Role.CURATOR,),
            person=name,
            team=team,
        )

    def call(method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}"} | options.pop("headers", {})
        return tenant.call(method, path, headers=headers, **options)

    return call


@pytest.fixture
def ada(tenant: Tenant) -> Call:
    return person(tenant, "ada")


@pytest.fixture
def bo(tenant: Tenant) -> Call:
    return person(tenant, "bo")


def change(call: Call, dataset_id: str, tag: str = "*", **rules: Any) -> Any:
    body = {"policy": rules, "reason": "decision 7"}
    return call("PUT", f"/datasets/{dataset_id}/policy", json=body, headers={"If-Match": tag})


def submit(call: Call, dataset_id: str, epsilon: str = "0.5", **request: Any) -> Any:
    body = {"dataset_id": dataset_id, "epsilon": epsilon, "method": "edgerand", "repeat": True, **request}
    return call("POST", "/jobs", json=body, headers={"Idempotency-Key": secrets.token_hex(8)})


def slug(answer: Any) -> str:
    return str(answer.json()["type"]).removeprefix("/problems/")


def test_a_stricter_policy_stands_at_once_and_a_looser_one_takes_a_second_person(
    tenant: Tenant, ada: Call, bo: Call
) -> None:
    dataset_id = tenant.register()["id"]
    path = f"/datasets/{dataset_id}/policy"
    first = ada("GET", path)
    assert first.json()["version"] == 1
    assert first.json()["policy"]["kinds"] == ["pure", "approximate"]

    tighter = change(ada, dataset_id, first.headers["ETag"], max_epsilon_per_job="1")
    assert tighter.status_code == 200
    assert (tighter.json()["version"], tighter.json()["reason"]) == (2, "decision 7")
    assert ada("GET", path, headers={"If-None-Match": tighter.headers["ETag"]}).status_code == 304

    looser = change(ada, dataset_id, tighter.headers["ETag"], max_epsilon_per_job="1.5")
    assert looser.status_code == 202
    proposal = looser.json()
    assert looser.headers["Location"] == f"/proposals/{proposal['id']}"
    assert proposal["payload"]["allows_more"] == ["max_epsilon_per_job"]
    assert ada("GET", path).json()["policy"]["max_epsilon_per_job"] == "1"

    approve = f"/proposals/{proposal['id']}/approve"
    assert slug(ada("POST", approve, json=WHY)) == "second-person-needed"
    assert slug(person(tenant, "ADA")("POST", approve, json=WHY)) == "second-person-needed"
    approved = bo("POST", approve, json=WHY)
    assert approved.status_code == 200, approved.text
    assert (approved.json()["state"], approved.json()["decided_person"]) == ("approved", "bo")
    stands = ada("GET", path).json()
    assert (stands["version"], stands["policy"]["max_epsilon_per_job"]) == (3, "1.5")
    assert stands["proposal_id"] == proposal["id"]
    assert bo("POST", approve, json=WHY).json() == approved.json()
    assert ada("GET", path).json()["version"] == 3
    earlier = ada("GET", path, params={"version": 2}).json()
    assert (earlier["current"], earlier["policy"]["max_epsilon_per_job"]) == (False, "1")


def test_a_change_names_what_it_changes(tenant: Tenant, ada: Call) -> None:
    dataset_id = tenant.register()["id"]
    path = f"/datasets/{dataset_id}/policy"
    tag = ada("GET", path).headers["ETag"]
    blind = ada("PUT", path, json={"policy": {}, "reason": "r"})
    assert (blind.status_code, slug(blind)) == (428, "if-match-missing")
    assert change(ada, dataset_id, tag, methods=["edgerand"]).status_code == 200
    stale = change(ada, dataset_id, tag, methods=["edgerand"], project_required=True)
    assert (stale.status_code, slug(stale), stale.json()["version"]) == (412, "stale-etag", 2)
    weak = change(ada, dataset_id, "W/" + ada("GET", path).headers["ETag"], methods=["edgerand"])
    assert weak.status_code == 412
    same = change(ada, dataset_id, methods=["edgerand"])
    assert (same.status_code, same.json()["version"]) == (200, 2)


def test_policies_that_say_nothing_clear_are_refused(tenant: Tenant, ada: Call) -> None:
    dataset_id = tenant.register()["id"]
    for rules in ({"max_epsilon_per_job": 0}, {"kinds": []}, {"methods": ["none-such"]}, {"unit": "edge"}):
        assert change(ada, dataset_id, **rules).status_code == 422, rules
    assert ada("GET", f"/datasets/{dataset_id}/policy").json()["version"] == 1


def test_a_proposal_against_an_older_policy_cannot_be_approved(tenant: Tenant, ada: Call, bo: Call) -> None:
    dataset_id = tenant.register(policy={"max_epsilon_per_job": "1"})["id"]
    proposal = change(ada, dataset_id, max_epsilon_per_job="2").json()
    assert change(bo, dataset_id, max_epsilon_per_job="0.5").status_code == 200
    refused = bo("POST", f"/proposals/{proposal['id']}/approve", json=WHY)
    assert (refused.status_code, slug(refused)) == (409, "conflict")
    assert bo("GET", f"/proposals/{proposal['id']}").json()["state"] == "open"
    assert bo("GET", f"/datasets/{dataset_id}/policy").json()["policy"]["max_epsilon_per_job"] == "0.5"


def test_a_looser_policy_for_the_same_population_is_no_way_around(tenant: Tenant) -> None:
    strict = tenant.register(protection_domain="town", policy={"approval_above_epsilon": "0.1"})
    body = {"name": "again", "unit": "edge", "epsilon": "2", "protection_domain": "town"}
    refused = tenant.call("POST", "/datasets", json=body)
    assert (refused.status_code, slug(refused), refused.json()["field"]) == (409, "conflict", "policy")
    same = tenant.call("POST", "/datasets", json=body | {"policy": {"approval_above_epsilon": "0.1"}})
    assert same.status_code == 201
    assert same.json()["account_id"] == strict["account_id"]


def test_archiving_a_dataset_does_not_loosen_its_policy(tenant: Tenant, ada: Call, bo: Call) -> None:
    rules = {"approval_above_epsilon": "0.1"}
    strict = tenant.register(protection_domain="city", policy=rules)
    assert ada("DELETE", f"/datasets/{strict['id']}").status_code == 204
    body = {"name": "anew", "unit": "edge", "epsilon": "2", "protection_domain": "city"}
    refused = ada("POST", "/datasets", json=body)
    assert (refused.status_code, slug(refused), refused.json()["field"]) == (409, "conflict", "policy")
    again = ada("POST", "/datasets", json=body | {"policy": rules})
    assert again.status_code == 201
    asked = change(ada, again.json()["id"])
    assert asked.status_code == 202
    assert bo("POST", f"/proposals/{asked.json()['id']}/approve", json=WHY).status_code == 200


def test_a_grant_raises_the_capacity_once_two_persons_have_agreed(
    tenant: Tenant, ada: Call, bo: Call, database_of: Database
) -> None:
    dataset = tenant.register(epsilon="2")
    budget = f"/datasets/{dataset['id']}/budget"
    asked = {"epsilon": "0.5", "reason": "second year"}
    made = ada("POST", f"{budget}/grants", json=asked)
    assert made.status_code == 201, made.text
    proposal_id = made.json()["id"]
    assert ada("POST", f"{budget}/grants", json=asked).json()["id"] == proposal_id
    assert ada("GET", budget).json()["capacity"]["epsilon"] == "2"
    assert slug(ada("POST", f"/proposals/{proposal_id}/approve", json=WHY)) == "second-person-needed"

    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(lambda _: bo("POST", f"/proposals/{proposal_id}/approve", json=WHY), range(8))
        )
    assert {answer.status_code for answer in answers} == {200}
    assert ada("GET", budget).json()["capacity"]["epsilon"] == "2.5"
    grants = [
        e for e in ada("GET", f"/datasets/{dataset['id']}/ledger").json()["items"] if e["kind"] == "grant"
    ]
    assert len(grants) == 2
    assert (grants[1]["amounts"]["epsilon"], grants[1]["reason"]) == (500_000_000, "second year")
    assert grants[1]["approver"] not in (None, grants[1]["actor"])
    with database_of.transaction() as session:
        assert ledger.verify(session, dataset["account_id"]).intact


def test_proposals_end_once(tenant: Tenant, ada: Call, bo: Call) -> None:
    dataset_id = tenant.register(epsilon="2")["id"]

    def propose(reason: str) -> str:
        body = {"epsilon": "1", "reason": reason}
        return str(ada("POST", f"/datasets/{dataset_id}/budget/grants", json=body).json()["id"])

    rejected, withdrawn, left = propose("a"), propose("b"), propose("c")
    assert (
        bo("POST", f"/proposals/{rejected}/reject", json={"reason": "too much"}).json()["state"] == "rejected"
    )
    again = bo("POST", f"/proposals/{rejected}/reject", json={"reason": "too much"})
    assert (again.status_code, again.json()["decision_reason"]) == (200, "too much")
    after = bo("POST", f"/proposals/{rejected}/approve", json=WHY)
    assert (after.status_code, slug(after), after.json()["asked"]) == (409, "invalid-transition", "approved")
    assert slug(bo("POST", f"/proposals/{withdrawn}/withdraw")) == "forbidden"
    assert ada("POST", f"/proposals/{withdrawn}/withdraw").json()["state"] == "withdrawn"
    assert slug(bo("POST", f"/proposals/{withdrawn}/approve", json=WHY)) == "invalid-transition"
    assert bo("GET", f"/datasets/{dataset_id}/budget").json()["capacity"]["epsilon"] == "2"

    listed = bo("GET", "/proposals", params={"dataset_id": dataset_id}).json()["items"]
    assert [item["id"] for item in listed] == [left, withdrawn, rejected]
    first = bo("GET", "/proposals", params={"dataset_id": dataset_id, "limit": 2}).json()
    rest = bo(
        "GET", "/proposals", params={"dataset_id": dataset_id, "limit": 2, "cursor": first["next_cursor"]}
    ).json()
    assert [item["id"] for item in first["items"] + rest["items"]] == [left, withdrawn, rejected]
    assert rest["next_cursor"] is None
    open_ones = bo("GET", "/proposals", params={"dataset_id": dataset_id, "state": "open"}).json()["items"]
    assert [item["id"] for item in open_ones] == [left]
    assert bo("GET", "/proposals", params={"state": "none"}).status_code == 422


def test_another_tenants_proposal_does_not_exist(tenant: Tenant, stranger: Tenant, ada: Call) -> None:
    dataset_id = tenant.register()["id"]
    body = {"epsilon": "1", "reason": "r"}
    proposal_id = ada("POST", f"/datasets/{dataset_id}/budget/grants", json=body).json()["id"]
    for method, end in (("GET", ""), ("POST", "/approve"), ("POST", "/reject"), ("POST", "/withdraw")):
        theirs = stranger.call(method, f"/proposals/{proposal_id}{end}", json=WHY)
        nowhere = stranger.call(method, f"/proposals/prop_none{end}", json=WHY)
        assert (theirs.status_code, theirs.json()["detail"]) == (404, nowhere.json()["detail"])
    assert stranger.call("GET", "/proposals").json()["items"] == []


def test_what_an_archived_dataset_or_a_final_account_cannot_be_granted(
    tenant: Tenant, ada: Call, bo: Call
) -> None:
    final = tenant.register(epsilon="4", delta="1e-6", filter="renyi")["id"]
    grant = {"epsilon": "1", "reason": "r"}
    assert slug(ada("POST", f"/datasets/{final}/budget/grants", json=grant)) == "conflict"
    for nothing in ({}, {"delta": "0"}, {"epsilon": "0"}, {"epsilon": "-1"}, {"epsilon": "nan"}):
        body = {"reason": "r"} | nothing
        assert ada("POST", f"/datasets/{final}/budget/grants", json=body).status_code == 422
    gone = tenant.register()["id"]
    waiting = ada("POST", f"/datasets/{gone}/budget/grants", json=grant).json()["id"]
    assert tenant.call("DELETE", f"/datasets/{gone}").status_code == 204
    assert slug(ada("POST", f"/datasets/{gone}/budget/grants", json=grant)) == "invalid-transition"
    assert slug(bo("POST", f"/proposals/{waiting}/approve", json=WHY)) == "invalid-transition"
    assert slug(change(ada, gone, project_required=True)) == "invalid-transition"


def test_a_job_above_the_threshold_waits_for_a_second_person(tenant: Tenant, ada: Call, bo: Call) -> None:
    dataset_id = tenant.ready(policy={"approval_above_epsilon": "0.5"})
    budget = f"/datasets/{dataset_id}/budget"
    below = submit(ada, dataset_id, "0.5")
    assert below.json()["state"] == "queued"
    waits = submit(ada, dataset_id, "0.75")
    assert (waits.status_code, waits.json()["state"]) == (202, "awaiting_approval")
    assert waits.json()["approval"] is None
    job_id = waits.json()["id"]
    assert ada("GET", budget).json()["reserved"]["epsilon"] == "1.25"
    with tenant.services.db.transaction() as session:
        rung = text("SELECT count(*) FROM outbox WHERE subject_id = :id")
        assert session.execute(rung, {"id": job_id}).scalar_one() == 0

    own = ada("POST", f"/jobs/{job_id}/approve", json=WHY)
    assert (own.status_code, slug(own)) == (403, "second-person-needed")
    approved = bo("POST", f"/jobs/{job_id}/approve", json=WHY)
    assert (approved.status_code, approved.json()["state"]) == (200, "queued")
    assert approved.json()["approval"]["decided_by"] == "bo"
    assert approved.json()["approval"]["reason"] == WHY["reason"]
    assert bo("POST", f"/jobs/{job_id}/approve", json=WHY).json() == approved.json()
    tenant.work(Topic.RUN, job_id)
    assert ada("GET", f"/jobs/{job_id}").json()["state"] == "published"
    assert ada("GET", budget).json()["charged"]["epsilon"] == "0.75"
    late = bo("POST", f"/jobs/{job_id}/reject", json=WHY)
    assert (late.status_code, slug(late)) == (409, "invalid-transition")
    assert slug(bo("POST", f"/jobs/{below.json()['id']}/approve", json=WHY)) == "invalid-transition"


def test_one_of_several_decisions_at_once_stands(
    tenant: Tenant, ada: Call, bo: Call, database_of: Database
) -> None:
    dataset = tenant.ready(policy={"approval_above_epsilon": "0.1"})
    job_id = submit(ada, dataset).json()["id"]
    grant = {"epsilon": "1", "reason": "r"}
    proposal_id = ada("POST", f"/datasets/{dataset}/budget/grants", json=grant).json()["id"]
    ends = [
        f"{subject}/{end}"
        for end in ("approve", "reject")
        for subject in (f"/jobs/{job_id}", f"/proposals/{proposal_id}")
    ] * 3
    with ThreadPoolExecutor(len(ends)) as pool:
        answers = dict(
            zip(range(len(ends)), pool.map(lambda end: bo("POST", end, json=WHY), ends), strict=True)
        )
    assert {answer.status_code for answer in answers.values()} == {200, 409}
    won = {ends[number] for number, answer in answers.items() if answer.status_code == 200}
    assert len(won) == 2
    state = ada("GET", f"/jobs/{job_id}").json()["state"]
    assert state == ("queued" if f"/jobs/{job_id}/approve" in won else "rejected")
    budget = ada("GET", f"/datasets/{dataset}/budget").json()
    assert budget["capacity"]["epsilon"] == ("3" if f"/proposals/{proposal_id}/approve" in won else "2")
    assert budget["reserved"]["epsilon"] == ("0.5" if state == "queued" else "0")
    with database_of.transaction() as session:
        assert ledger.verify(session, budget["account_id"]).intact


def test_rejecting_or_cancelling_a_waiting_job_returns_its_budget(
    tenant: Tenant, ada: Call, bo: Call
) -> None:
    dataset_id = tenant.ready(policy={"approval_above_epsilon": "0.1"})
    budget = f"/datasets/{dataset_id}/budget"
    rejected, cancelled = (submit(ada, dataset_id).json()["id"] for _ in range(2))
    answer = bo("POST", f"/jobs/{rejected}/reject", json={"reason": "ask for less"})
    assert (answer.json()["state"], answer.json()["reason"]) == ("rejected", "rejected_by_curator")
    assert answer.json()["approval"]["reason"] == "ask for less"
    assert bo("POST", f"/jobs/{rejected}/reject", json={"reason": "again"}).json() == answer.json()
    assert ada("POST", f"/jobs/{cancelled}/cancel").json()["state"] == "cancelled"
    after = ada("GET", budget).json()
    assert (after["reserved"]["epsilon"], after["charged"]["epsilon"]) == ("0", "0")
    assert after["blocked"] is False
    assert slug(bo("POST", f"/jobs/{cancelled}/approve", json=WHY)) == "invalid-transition"


def test_a_job_that_nobody_approves_in_time_has_failed(tenant: Tenant, ada: Call, bo: Call) -> None:
    dataset_id = tenant.ready(policy={"approval_above_epsilon": "0.1"})
    asked = [submit(ada, dataset_id).json() for _ in range(2)]
    late, kept = (job["id"] for job in asked)
    assert bo("POST", f"/jobs/{kept}/approve", json=WHY).status_code == 200
    account_id = ada("GET", f"/datasets/{dataset_id}").json()["account_id"]
    with tenant.services.db.transaction() as session:
        lifetimes = text(
            "SELECT extract(epoch FROM e.expires_at - e.created_at), h.expires_at FROM ledger_entries e "
            "JOIN budget_holds h USING (reservation_id) WHERE e.job_id = :id AND e.kind = 'reserve'"
        )
        lifetime, expires_at = session.execute(lifetimes, {"id": late}).one()
        assert abs(float(lifetime) - tenant.services.settings.approval_seconds) < 1
        assert expires_at is not None
        assert session.execute(lifetimes, {"id": kept}).one()[1] is None
    listed = {job["id"]: job["approval_until"] for job in ada("GET", "/jobs").json()["items"]}
    assert listed == {late: asked[0]["approval_until"], kept: None}
    assert datetime.fromisoformat(listed[late]) == expires_at
    assert ada("GET", f"/jobs/{late}").json()["approval_until"] == listed[late]
    with tenant.services.db.transaction() as session:
        past = text(
            "UPDATE budget_holds SET expires_at = now() - interval '1 s' WHERE account_id = :id "
            "AND expires_at IS NOT NULL"
        )
        session.execute(past, {"id": account_id})
    expire_reservations(tenant.services)
    ended = ada("GET", f"/jobs/{late}").json()
    assert (ended["state"], ended["reason"]) == ("failed", "reservation_expired")
    assert ended["approval_until"] is None
    assert ada("GET", f"/jobs/{kept}").json()["state"] == "queued"
    assert ada("GET", f"/datasets/{dataset_id}/budget").json()["reserved"]["epsilon"] == "0.5"
    assert slug(bo("POST", f"/jobs/{late}/approve", json=WHY)) == "invalid-transition"


def test_an_approval_meets_the_policy_of_its_own_day(tenant: Tenant, ada: Call, bo: Call) -> None:
    rules = {"approval_above_epsilon": "0.1"}
    dataset_id = tenant.ready(policy=rules)
    job = submit(ada, dataset_id).json()
    assert job["policy_version"] == 1
    assert change(bo, dataset_id, **rules, max_epsilon_per_job="0.4").status_code == 200
    refused = bo("POST", f"/jobs/{job['id']}/approve", json=WHY)
    assert (refused.status_code, slug(refused)) == (422, "policy-refused")
    assert ada("GET", f"/jobs/{job['id']}").json()["state"] == "awaiting_approval"
    smaller = submit(ada, dataset_id, "0.4").json()
    approved = bo("POST", f"/jobs/{smaller['id']}/approve", json=WHY).json()
    assert approved["policy_version"] == 2
    cheap = submit(ada, dataset_id, "0.3").json()
    rules |= {"max_epsilon_per_job": "0.4", "min_epsilon_per_job": "0.35"}
    assert change(bo, dataset_id, **rules).status_code == 200
    said = bo("POST", f"/jobs/{cheap['id']}/approve", json=WHY).json()
    assert (said["rule"], said["limit"]) == ("min_epsilon_per_job", "0.35")


def test_the_policy_is_checked_when_a_job_is_asked_for_and_planned(tenant: Tenant, ada: Call) -> None:
    rules = {"methods": ["edgerand"], "max_epsilon_per_job": "0.6", "approval_above_epsilon": "0.5"}
    dataset_id = tenant.ready(policy=rules)

    def ask(*, dry_run: bool = True, **request: Any) -> Any:
        body = {"dataset_id": dataset_id, "epsilon": "0.5", **request}
        key = {"Idempotency-Key": secrets.token_hex(8)}
        return ada("POST", "/jobs", params={"dry_run": dry_run}, json=body, headers=key)

    for dry_run in (False, True):
        refused = ask(dry_run=dry_run, method="dcsbm")
        assert (refused.status_code, slug(refused)) == (422, "policy-refused")
        said = refused.json()
        assert (said["field"], said["rule"], said["asked"]) == ("method", "methods", "dcsbm")
        dear = ask(dry_run=dry_run, method="edgerand", epsilon="0.61").json()
        assert (dear["rule"], dear["limit"], dear["asked"]) == ("max_epsilon_per_job", "0.6", "0.61")
        cheap = ask(dry_run=dry_run, method="edgerand", epsilon="0.009").json()
        assert (cheap["rule"], cheap["limit"], cheap["field"]) == ("min_epsilon_per_job", "0.01", "epsilon")
        assert "fails after it has opened the graph" in cheap["detail"]
    plan = ask(method="edgerand", epsilon="0.6").json()
    assert (plan["needs_approval"], plan["least_epsilon"]) == (True, "0.01")
    chosen = ask().json()
    assert (chosen["method"], chosen["needs_approval"]) == ("edgerand", False)
    assert "the dataset's policy does not allow it" in chosen["chosen_because"]


def test_a_stream_opens_and_goes_on_under_the_policy_of_the_day(tenant: Tenant, ada: Call) -> None:
    dataset_id = tenant.streamable()
    stream_id = tenant.stream(dataset_id, "1")["id"]
    assert tenant.push(stream_id, week(0), step=0).status_code == 202
    assert change(ada, dataset_id, approval_above_epsilon="0.5").status_code == 200
    refused = tenant.push(stream_id, week(1), step=1)
    assert (refused.status_code, slug(refused)) == (422, "policy-refused")
    body = {"dataset_id": dataset_id, "epsilon": "1", "method": "psgraph"}
    for query in ({}, {"dry_run": "true"}):
        key = {"Idempotency-Key": secrets.token_hex(8)}
        opened = ada("POST", "/streams", json=body, params=query, headers=key)
        assert (slug(opened), opened.json()["rule"]) == ("policy-refused", "approval_above_epsilon")
        assert "wait for nobody" in opened.json()["detail"]
    assert tenant.stream(dataset_id, "0.5")["state"] == "open"


def test_comparisons_are_for_the_curators_whom_the_policy_names(tenant: Tenant, ada: Call, bo: Call) -> None:
    dataset_id = tenant.ready(policy={"curator_report_readers": ["ada"]})
    job_id = submit(ada, dataset_id).json()["id"]
    tenant.work(Topic.RUN, job_id)
    tenant.work(Topic.EVALUATE, job_id)
    assert ada("GET", f"/jobs/{job_id}/report").json()["curator"]["status"] == "done"
    assert "curator" not in bo("GET", f"/jobs/{job_id}/report").json()
    assert {a["role"] for a in bo("GET", f"/jobs/{job_id}/artifacts").json()["items"]} == {
        "artifact",
        "report",
    }
    assert ada("GET", f"/jobs/{job_id}/artifacts/curator.json").status_code == 200
    assert bo("GET", f"/jobs/{job_id}/artifacts/curator.json").status_code == 404
