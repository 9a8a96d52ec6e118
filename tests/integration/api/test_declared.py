"""`method: declared` over HTTP: marked wherever it is shown, refused where something would be read."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from graphveil.evidence.archive import unpacked
from graphveil.evidence.verify import verify
from graphveil.local.composition import recompute
from tests.integration.api.conftest import TIMED, Tenant
from tests.support.console import Steward

SignedIn = Callable[..., Steward]
MARK = "Made from declarations; nothing was read."
CURATOR, REQUESTER = Role.CURATOR, Role.REQUESTER


def ask(tenant: Tenant, dataset_id: str, *roles: Role, **request: Any) -> Any:
    body = {"dataset_id": dataset_id, "method": "declared", **request}
    headers = {"Idempotency-Key": secrets.token_hex(8)}
    return tenant.call("POST", "/jobs", *roles, json=body, headers=headers)


@pytest.fixture(scope="module")
def job(house: Tenant, ready_dataset: str) -> str:
    """A published job from declarations, of a requester."""
    answer = ask(house, ready_dataset, REQUESTER, formats=["csv"], parameters={"nodes": {"person": 90}})
    assert answer.status_code == 202, answer.text
    found = answer.json()
    assert (found["kind"], found["epsilon"], found["method"]) == ("unread", "0", "declared")
    house.work(Topic.RUN, found["id"])
    assert house.call("GET", f"/jobs/{found['id']}").json()["state"] == "published"
    return str(found["id"])


def test_it_needs_no_epsilon_and_leaves_the_budget_alone(house: Tenant, ready_dataset: str, job: str):
    before = house.call("GET", f"/datasets/{ready_dataset}/budget").json()
    planned = house.call(
        "POST", "/jobs?dry_run=true", json={"dataset_id": ready_dataset, "method": "declared"}
    ).json()
    assert planned["cost"] == {"kind": "unread", "epsilon": "0", "delta": "0"}
    assert planned["warnings"] == [MARK]
    assert ask(house, ready_dataset, label="more").status_code == 202
    after = house.call("GET", f"/datasets/{ready_dataset}/budget").json()
    for name in ("charged", "reserved", "remaining"):
        assert after[name] == before[name]


@pytest.mark.parametrize("role", [CURATOR, REQUESTER])
def test_its_report_says_so_and_has_no_comparison(house: Tenant, job: str, role: Role):
    report = house.call("GET", f"/jobs/{job}/report", role).json()
    assert "curator" not in report
    public = report["public"]
    assert public["guarantee"]["kind"] == "unread"
    assert public["guarantee"]["statement"].startswith(MARK)
    assert (public["guarantee"]["epsilon"], public["transcript"]["operations"]) == ("0", 0)
    assert public["charge"]["charged_epsilon"] == "0"
    assert public["caveats"][0]["code"] == "from_declarations"
    assert public["statistics"]["nodes"] == {"person": 90}
    for accept in ("text/html", "text/markdown"):
        page = house.call("GET", f"/jobs/{job}/report", role, headers={"Accept": accept}).text
        assert MARK in page
        assert "No privacy guarantee" not in page
        for wrong in (
            "differential privacy",
            "known to the dataset's curators",
            "promise weakens",
            "audit its",
        ):
            assert wrong not in page


def test_its_comparison_is_refused_as_a_file(house: Tenant, job: str):
    assert house.call("GET", f"/jobs/{job}/artifacts/curator.json", CURATOR).status_code == 404
    names = {each["name"] for each in house.call("GET", f"/jobs/{job}/artifacts").json()["items"]}
    assert names == {
        "declarations.json",
        "edges.parquet",
        "graph.csv",
        "nodes.csv",
        "nodes.parquet",
        "public.json",
        "schema.json",
    }


@pytest.mark.parametrize("edition", ["public", "ledger"])
def test_its_evidence_holds_and_says_so(house: Tenant, job: str, edition: str):
    answer = house.call("GET", f"/jobs/{job}/evidence?edition={edition}", CURATOR)
    assert answer.status_code == 200, answer.text
    keys = house.call("GET", "/ledger/public-keys", CURATOR).json()["items"]
    found = verify(answer.content, trusted=[each["public_key"] for each in keys], recompute=recompute)
    assert found.holds, found.refused
    assert not [each for each in found.open if each.startswith("The arithmetic")]
    files = unpacked(answer.content)
    assert json.loads(files["transcript.json"]) == []
    page = files["index.html"].decode()
    assert MARK in page
    assert "Nothing was read and nothing was charged" in page


def test_catalogues_and_cards_name_no_budget_spent(house: Tenant, job: str):
    for form in ("openlineage", "croissant", "dcat", "deployment"):
        answer = house.call("GET", f"/jobs/{job}/metadata/{form}", CURATOR)
        assert answer.status_code == 200, (form, answer.text)
        assert MARK in answer.text


def test_what_would_read_is_refused_with_the_reason(house: Tenant, ready_dataset: str, job: str):
    asked: list[tuple[str, Any]] = [
        ("/audits", {"method": "declared", "epsilon": "1", "unit": "edge"}),
        ("/plans", {"dataset_id": ready_dataset, "methods": [{"method": "declared"}], "epsilons": ["1"]}),
        (f"/jobs/{job}/samples", {}),
        ("/jobs", {"dataset_id": ready_dataset, "method": "declared", "epsilon": "1"}),
        ("/jobs", {"dataset_id": ready_dataset, "method": {"mail": "declared"}, "epsilon": "1"}),
    ]
    for path, body in asked:
        answer = house.call("POST", path, json=body, headers={"Idempotency-Key": secrets.token_hex(8)})
        said = answer.text
        if path == "/plans":
            assert "reads nothing" in answer.json()["items"][0]["refused"]["detail"]
        else:
            assert answer.status_code == 422, (path, said)
            assert "reads nothing" in said or "no fitted model" in said
            assert answer.json()["errors"][0]["field"]


def test_a_live_stream_of_it_is_refused(house: Tenant):
    calls = house.register(unit="w-event", window=3, graph_schema=TIMED)
    body = {"dataset_id": calls["id"], "method": "declared", "epsilon": "1"}
    answer = house.call("POST", "/streams", json=body, headers={"Idempotency-Key": "stream"})
    assert answer.status_code in (409, 422)
    assert "not" in answer.text


def test_methods_list_it_with_the_schema_of_its_parameters(house: Tenant):
    found = {each["name"]: each for each in house.call("GET", "/methods").json()["items"]}["declared"]
    assert found["kinds"] == ["unread"]
    assert set(found["parameters"]["properties"]) == {"nodes", "relations"}


def test_the_console_shows_what_it_is(at_console: SignedIn, house: Tenant, job: str, ready_dataset: str):
    steward = at_console(house, REQUESTER)
    page = steward.get(f"/console/jobs/{job}").text
    assert "made from declarations, nothing was read" in page
    assert page.count(MARK) >= 2
    assert "/samples" not in page
    address = f"/console/datasets/{ready_dataset}/release"
    assert "a graph from declarations" in steward.get(address).text
    form = {
        "dataset_id": ready_dataset,
        "method": "declared",
        "idempotency_key": secrets.token_hex(8),
        "mean_degree": "6",
        "degrees": "power_law",
    }
    answer = steward.post("/console/jobs", **form)
    made = answer.headers["location"].removeprefix("/console/jobs/").partition("?")[0]
    shown = house.call("GET", f"/jobs/{made}").json()
    assert (shown["kind"], shown["epsilon"]) == ("unread", "0")
    relation = shown["parameters"]["relations"]["*"]
    assert (relation["mean_degree"], relation["degrees"]) == (6, "power_law")
    wrong = {**form, "mean_degree": "many", "idempotency_key": secrets.token_hex(8)}
    refused = steward.post("/console/jobs", **wrong)
    assert refused.status_code == 422
    assert "no number of edges" in refused.text


def test_a_policy_that_refuses_it_hides_it_in_the_console(at_console: SignedIn, tenant: Tenant):
    dataset = tenant.ready(policy={"methods": ["dcsbm"]})
    page = at_console(tenant).get(f"/console/datasets/{dataset}/release").text
    assert "a graph from declarations" not in page
    answer = ask(tenant, dataset)
    assert (answer.status_code, answer.json()["rule"]) == (422, "methods")
