"""Evidence packs over HTTP: who is given which edition, and that each holds without the service."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from core.checks import evidence_keys as keys
from core.identity import service as identity
from core.identity.models import Role
from core.jobs import repository
from core.outbox.models import Topic
from core.settings import Settings
from core.storage.store import open_store
from core.workflows.common.context import Services
from core.workflows.ledger import evidence_keys
from graphveil.evidence.archive import unpacked
from graphveil.evidence.signatures import key_id
from graphveil.evidence.verify import verify
from graphveil.local.composition import recompute
from tests.integration.api.conftest import Tenant
from tests.support.console import Steward
from tests.support.shell import Command

AUDITOR, CURATOR, REQUESTER = Role.AUDITOR, Role.CURATOR, Role.REQUESTER
EXACT_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+")


def trusted(tenant: Tenant) -> tuple[str, ...]:
    """The service's public keys, as anybody with a key is told them."""
    return tuple(
        each["public_key"] for each in tenant.call("GET", "/ledger/public-keys", AUDITOR).json()["items"]
    )


def pack(tenant: Tenant, job_id: str, *roles: Role, edition: str | None = None) -> bytes:
    query = "" if edition is None else f"?edition={edition}"
    answer = tenant.call("GET", f"/jobs/{job_id}/evidence{query}", *roles)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    found: bytes = answer.content
    return found


def held(tenant: Tenant, raw: bytes) -> dict[str, Any]:
    """The files of a pack that holds under the service's keys; JSON as Python has it."""
    found = verify(raw, trusted=trusted(tenant), recompute=recompute)
    assert found.holds, found.refused
    assert not any(each.startswith("The arithmetic") for each in found.open)
    files = unpacked(raw)
    return {
        name: json.loads(data) if name.endswith(".json") else data.decode() for name, data in files.items()
    }


def published(tenant: Tenant, dataset_id: str, epsilon: str = "0.5", **asked: Any) -> str:
    answer = tenant.submit(dataset_id, epsilon, **asked)
    assert answer.status_code == 202, answer.text
    job_id: str = answer.json()["id"]
    tenant.work(Topic.RUN, job_id)
    return job_id


@pytest.mark.parametrize("roles", [(REQUESTER,), (CURATOR,), (AUDITOR,)])
def test_each_reader_gets_the_most_that_it_may_see(
    house: Tenant, published_job: str, roles: tuple[Role, ...]
):
    files = held(house, pack(house, published_job, *roles))
    assert files["manifest.json"]["edition"] == ("public" if roles == (REQUESTER,) else "ledger")
    assert ("ledger.json" in files) == (roles != (REQUESTER,))
    assert files["report.json"]["provenance"]["job_id"] == published_job
    if roles != (REQUESTER,):
        smaller = held(house, pack(house, published_job, *roles, edition="public"))
        assert smaller["manifest.json"]["edition"] == "public"


def test_the_public_edition_holds_nothing_that_requesters_may_not_see(house: Tenant, published_job: str):
    raw = pack(house, published_job, REQUESTER)
    files = unpacked(raw)
    assert pack(house, published_job, CURATOR, edition="public") == raw  # nor more for whoever may see more
    with house.services.db.transaction() as session:
        job = repository.existing(session, published_job)
        artifacts = repository.artifacts(session, published_job)
        started, finished = job.started_at, job.finished_at
    secret = [each for each in artifacts if each.role in ("private", "curator")]
    assert secret
    assert started is not None
    assert finished is not None
    for name, data in files.items():
        for each in secret:
            assert each.sha256.encode() not in data, name
            assert each.name.encode() not in data, name
        for moment in (started, finished):
            assert moment.isoformat()[:19].encode() not in data, name
    assert not EXACT_TIME.search(files["charge.json"])
    report = house.call("GET", f"/jobs/{published_job}/report", CURATOR).json()
    assert report["curator"]["status"] == "done"
    for name in ("comparison", "attacks", "trained_on_original"):
        assert not any(f'"{name}"'.encode() in data for data in files.values()), name
    governance = json.loads(files["governance.json"])
    assert governance["grants"] is None
    assert governance["policy_proposal"] is None


def test_no_edition_compares_with_the_original(house: Tenant, published_job: str):
    files = unpacked(pack(house, published_job, CURATOR, edition="ledger"))
    for name in ("comparison", "attacks", "trained_on_original"):
        assert not any(f'"{name}"'.encode() in data for data in files.values()), name
    assert b"Not for publication" not in files["report.html"]


def test_the_same_pack_is_the_same_bytes(house: Tenant, published_job: str):
    first = house.call("GET", f"/jobs/{published_job}/evidence")
    assert house.call("GET", f"/jobs/{published_job}/evidence").content == first.content
    held_already = {"If-None-Match": first.headers["ETag"]}
    again = house.call("GET", f"/jobs/{published_job}/evidence", headers=held_already)
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["ETag"] == f'"{hashlib.sha256(first.content).hexdigest()}"'
    assert f"{published_job}.evidence.zip" in first.headers["Content-Disposition"]


def test_the_chain_goes_on_to_the_head(tenant: Tenant):
    """Jobs of others after this one; each byte that is changed on the way is named."""
    dataset_id = tenant.ready()
    job_id = published(tenant, dataset_id)
    for _ in range(2):
        published(tenant, dataset_id, "0.25")
    raw = pack(tenant, job_id)
    files = held(tenant, raw)
    entries = files["ledger.json"]["entries"]
    assert [each["kind"] for each in entries] == ["reserve", "charge"] * 3
    assert files["charge.json"]["head"]["hash"] == entries[-1]["hash"]
    assert files["charge.json"]["budget"]["charged"]["epsilon"] == "1"
    account = tenant.call("GET", f"/datasets/{dataset_id}/budget").json()
    assert account["head"] == entries[-1]["hash"]
    for name, data in unpacked(raw).items():
        changed = bytearray(raw)
        changed[raw.index(data) + len(data) // 2] ^= 1
        found = verify(bytes(changed), trusted=trusted(tenant))
        assert any(name in str(each) for each in found.refused), name


def test_who_approved_is_answered_first(tenant: Tenant):
    def person(name: str, path: str, body: dict[str, Any]) -> Any:
        with tenant.services.db.transaction() as session:
            _, token = identity.create_key(
                session, tenant=tenant.name, name=name, roles=[CURATOR, REQUESTER], person=name
            )
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": secrets.token_hex(8)}
        return tenant.call("POST", path, json=body, headers=headers)

    dataset_id = tenant.ready(policy={"approval_above_epsilon": "0.25"})
    asked = person("ada", "/jobs", {"dataset_id": dataset_id, "epsilon": "0.5"}).json()
    assert asked["state"] == "awaiting_approval"
    why = {"reason": "agreed in the board"}
    assert person("bo", f"/jobs/{asked['id']}/approve", why).status_code == 200
    tenant.work(Topic.RUN, asked["id"])
    files = held(tenant, pack(tenant, asked["id"]))
    told = files["governance.json"]
    assert (told["asked"]["person"], told["approval"]["person"]) == ("ada", "bo")
    assert told["policy"]["rules"]["approval_above_epsilon"] == "0.25"
    page = files["index.html"]
    at = [
        page.index(f"<h2>{each}")
        for each in ("Who approved", "What was spent", "What was read", "What is pro")
    ]
    assert at == sorted(at)
    assert at[0] == page.index("<h2")  # nothing stands before them but each in a line
    lines = re.findall(r'<dt><a href="#(\w+)">.*?</a></dt><dd class="words">(.*?)</dd>', page[: at[0]])
    assert [place for place, _ in lines] == ["approved", "spent", "read", "promised"]
    for (_, line), told in zip(
        lines,
        (
            ("bo", "ada"),
            ("Epsilon 0.5.", "remains"),
            ("of the private graph", "degrees"),
            ("ε = 0.5 per", "at most"),
        ),
        strict=True,
    ):
        assert all(each in line for each in told), line
    named = [re.findall(r'href="([^"#]+)"', page[place : page.index("</h2>", place)]) for place in at]
    assert named == [
        ["governance.json"], ["charge.json"], ["transcript.json", "plan.json"], ["promise.md", "report.html"],
    ]  # fmt: skip
    assert {name for each in named for name in each} <= files.keys()
    first = page[at[0] : at[1]]
    assert "ada" in first
    assert "agreed in the board" in first
    assert "Epsilon 0.5." in page[at[1] : at[2]]
    assert "ε = 0.5 per edge" in page[at[3] :]
    assert "A second person approved the job: bo" in files["assessment.md"]
    assert "[for the organisation]" in files["assessment.md"]


def test_audits_of_the_method_are_in_it(tenant: Tenant):
    dataset_id = tenant.ready()
    job_id = published(tenant, dataset_id, method="edgerand")
    assert held(tenant, pack(tenant, job_id))["audits.json"]["items"] == []
    body = {"method": "edgerand", "unit": "edge", "epsilon": "1", "runs": 200}
    before = datetime.now(UTC).date()
    asked = tenant.call("POST", "/audits", json=body, headers={"Idempotency-Key": "a"})
    assert asked.status_code == 202, asked.text
    tenant.work(Topic.AUDIT, asked.json()["id"])
    files = held(tenant, pack(tenant, job_id))
    (audit,) = files["audits.json"]["items"]
    assert audit["result"]["lower_bound"]
    assert audit["result"]["control"]["lower_bound"]
    assert audit["id"] in files["index.html"]
    # Exact times would tell what else the service did then: the day is told, and no moment.
    assert before.isoformat() <= audit["finished_on"] <= datetime.now(UTC).date().isoformat()
    assert date.fromisoformat(audit["finished_on"])
    assert not re.search(r"\d{2}:\d{2}:\d{2}", json.dumps(audit))


@pytest.mark.parametrize(
    "declared",
    [
        {"filter": "renyi", "delta": "0.00001"},
        {
            "unit": "node",
            "delta": "0.001",
            "graph_schema": {
                "node_types": [{"name": "person", "count": 60, "protected": True, "degree_bound": 10}],
                "edge_types": [{"name": "mail", "source": "person", "target": "person"}],
            },
        },
    ],
    ids=["renyi", "node"],
)
def test_what_is_not_a_sum_is_recomputed_by_the_engine(tenant: Tenant, declared: dict[str, Any]):
    dataset_id = tenant.ready("8", **declared)
    job_id = published(tenant, dataset_id, "2", delta=declared["delta"])
    raw = pack(tenant, job_id)
    held(tenant, raw)
    alone = verify(raw, trusted=trusted(tenant))
    assert alone.holds
    kind = json.loads(unpacked(raw)["report.json"])["guarantee"]["kind"]
    unseen = any("the engine converts this plan" in each for each in alone.open)
    assert unseen == (kind == "approximate" or "filter" in declared)


def test_a_further_sample_was_charged_nothing(house: Tenant, published_job: str):
    headers = {"Idempotency-Key": secrets.token_hex(8)}
    asked = house.call("POST", f"/jobs/{published_job}/samples", json={}, headers=headers)
    assert asked.status_code == 202, asked.text
    job_id = asked.json()["id"]
    house.work(Topic.RUN, job_id)
    files = held(house, pack(house, job_id))
    assert not any(files["charge.json"]["amounts"].values())
    assert f"the model that job {published_job} has paid for" in files["index.html"]


def test_a_release_without_a_guarantee_says_so(tenant: Tenant):
    dataset_id = tenant.ready(policy={"kinds": ["pure", "approximate", "none"]}, public=True)
    job_id = published(tenant, dataset_id, method="random_rewire", suite="quick")
    files = held(tenant, pack(tenant, job_id))
    assert "No privacy guarantee" in files["index.html"]
    assert "nothing bounds singling out" in files["assessment.md"]
    assert {each["kind"] for each in files["ledger.json"]["entries"]} >= {"reserve", "charge", "expose"}


def test_a_snapshot_of_a_stream_has_its_own(house: Tenant, published_stream: str):
    snapshots = house.call("GET", f"/streams/{published_stream}/snapshots").json()["items"]
    files = held(house, pack(house, snapshots[0]["job_id"]))
    assert files["charge.json"]["stream_id"] == published_stream


def test_a_job_without_a_release_has_none(tenant: Tenant):
    dataset_id = tenant.ready()
    waiting = tenant.submit(dataset_id).json()["id"]
    answer = tenant.call("GET", f"/jobs/{waiting}/evidence")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/job-not-finished")
    tenant.call("POST", f"/jobs/{waiting}/cancel")
    answer = tenant.call("GET", f"/jobs/{waiting}/evidence")
    assert answer.json()["type"] == "/problems/job-failed"


def test_the_files_of_the_release_are_compared(house: Tenant, published_job: str, tmp_path: Path):
    for each in house.call("GET", f"/jobs/{published_job}/artifacts", REQUESTER).json()["items"]:
        path = f"/jobs/{published_job}/artifacts/{each['name']}"
        (tmp_path / each["name"]).write_bytes(house.call("GET", path, REQUESTER).content)
    raw = pack(house, published_job)
    assert verify(raw, trusted=trusted(house), release=tmp_path).holds
    with (tmp_path / "edges.parquet").open("ab") as file:
        file.write(b"x")
    assert not verify(raw, trusted=trusted(house), release=tmp_path).holds


def test_the_command_downloads_and_verifies(
    address: str, house: Tenant, published_job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    command = Command(address, house.token(CURATOR, REQUESTER))
    command("evidence", published_job)
    path = tmp_path / f"{published_job}.evidence.zip"
    with zipfile.ZipFile(path) as opened:
        assert "index.html" in opened.namelist()
    (key,) = trusted(house)
    assert key_id(key) in command("public-keys").stdout
    assert "The pack holds." in command("verify-evidence", str(path), "--key", key).stdout
    told = command.json("verify-evidence", str(path), "--key", key)
    assert isinstance(told, dict)
    assert told["holds"]
    command("evidence", published_job, "--edition", "public", "--out", str(path))
    with zipfile.ZipFile(path) as opened:
        assert "ledger.json" not in opened.namelist()


def test_the_console_gives_the_same(house: Tenant, published_job: str, at_console: Callable[..., Steward]):
    steward = at_console(house)
    page = steward.get(f"/console/jobs/{published_job}").text
    assert f"/console/jobs/{published_job}/evidence.zip?edition=ledger" in page
    answer = steward.get(f"/console/jobs/{published_job}/evidence.zip?edition=public")
    assert answer.content == pack(house, published_job, REQUESTER)
    requester = at_console(house, REQUESTER).get(f"/console/jobs/{published_job}").text
    assert "edition=public" in requester
    assert "edition=ledger" not in requester


def test_the_console_has_all_that_may_be_handed_on_in_one_zip(
    house: Tenant, published_job: str, at_console: Callable[..., Steward], tmp_path: Path
):
    """A curator's zip has no file for curators alone; every member is the file that was charged."""
    path = tmp_path / "release.zip"
    path.write_bytes(at_console(house).get(f"/console/jobs/{published_job}/release.zip").content)
    listed = house.call("GET", f"/jobs/{published_job}/artifacts").json()["items"]
    released = {each["name"]: each["sha256"] for each in listed if each["role"] != "curator"}
    assert len(released) < len(listed)
    with zipfile.ZipFile(path) as opened:
        assert {name: hashlib.sha256(opened.read(name)).hexdigest() for name in opened.namelist()} == released
    assert at_console(house).get("/console/jobs/job_none/release.zip").status_code == 404


# the keys


def with_settings(services: Services, **changed: Any) -> Services:
    told = {name: getattr(Settings(**{name: value}), name) for name, value in changed.items()}
    return Services(services.db, services.store, services.settings.model_copy(update=told))


@pytest.fixture
def apart(api_services: Services, tmp_path: Path) -> Services:
    """Services over an object store in which nothing was certified yet; reports are not read from it."""
    return Services(api_services.db, open_store(tmp_path.as_uri(), None, None), api_services.settings)


def test_the_api_signs_on_the_verifiers_word_without_its_key(
    api_services: Services, house: Tenant, published_job: str
):
    seed = api_services.settings.head_signing_key.get_secret_value()
    public = keys.public_key_of(seed)
    api = with_settings(
        api_services,
        head_signing_key="",
        head_public_keys=public,
        evidence_signing_key=keys.seed_of(seed),
    )
    headers = {"Authorization": f"Bearer {house.token(CURATOR)}"}
    with TestClient(create_app(api)) as http:
        early = http.get(f"/jobs/{published_job}/evidence", headers=headers)
        assert (early.status_code, early.json()["type"]) == (409, "/problems/conflict")
        assert http.get("/ledger/public-keys", headers=headers).json()["evidence"] is None
        written = evidence_keys.certify_if_due(api_services)
        assert written is not None
        assert evidence_keys.certify_if_due(api_services) is None  # not due again
        answer = http.get(f"/jobs/{published_job}/evidence", headers=headers)
        assert answer.status_code == 200, answer.text
        assert verify(answer.content, trusted=(public,)).holds
        told = http.get("/ledger/public-keys", headers=headers).json()
        assert told["evidence"]["issuer_id"] == key_id(public)
    api_services.store.delete_prefix(evidence_keys.FOLDER)


def test_certificates_end_are_renewed_and_follow_the_key(apart: Services):
    seed = apart.settings.head_signing_key.get_secret_value()
    public = keys.public_key_of(seed)
    api = with_settings(
        apart, head_signing_key="", head_public_keys=public, evidence_signing_key=keys.seed_of(seed)
    )
    assert evidence_keys.certify_if_due(apart) is not None
    with apart.db.transaction() as session:
        today = evidence_keys.today(session)
    assert evidence_keys.standing(api, today)[1].issuer == public
    for days in (-1, keys.VALID_DAYS + 1):
        with pytest.raises(evidence_keys.Conflict, match="no certificate that stands"):
            evidence_keys.standing(api, today + timedelta(days=days))
    # Another key of the heads: its word is for a key of its own, and the former is believed no more.
    other = with_settings(apart, head_signing_key="cd" * 32)
    assert evidence_keys.certify_if_due(other) is not None
    replaced = with_settings(api, head_public_keys=keys.public_key_of("cd" * 32))
    with pytest.raises(evidence_keys.Conflict):
        evidence_keys.standing(replaced, today)


def test_without_a_key_nothing_is_signed_and_it_says_so(
    api_services: Services, house: Tenant, published_job: str
):
    bare = with_settings(api_services, head_signing_key="")
    headers = {"Authorization": f"Bearer {house.token(CURATOR)}"}
    with TestClient(create_app(bare)) as http:
        answer = http.get(f"/jobs/{published_job}/evidence", headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (409, "/problems/conflict")
        assert "GRAPHVEIL_EVIDENCE_SIGNING_KEY" in str(answer.json())
        assert http.get("/ledger/public-keys", headers=headers).json() == {"items": [], "evidence": None}
    assert evidence_keys.certify_if_due(bare) is None


def test_a_long_chain_is_left_out_and_not_cut(
    house: Tenant, published_job: str, monkeypatch: pytest.MonkeyPatch
):
    from core.workflows.releases import evidence

    monkeypatch.setattr(evidence, "MAX_ENTRIES", 1)
    answer = house.call("GET", f"/jobs/{published_job}/evidence?edition=ledger")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/conflict")
    assert "edition=public" in str(answer.json())
    held(house, pack(house, published_job, edition="public"))
