"""Sensitive links over HTTP: their curators name, replace, count and withdraw them; nobody else learns."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from core.datasets.models import SensitiveList
from core.errors import DatasetNotReady, IngestRejected, LeaseLost
from core.graphs.ingest.sensitive_links import write_checked
from core.graphs.uploads.files import UploadedFile
from core.graphs.views.sensitive import SensitiveLinks, write_sensitive
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.models import Artifact, ArtifactRole
from core.outbox.models import Topic
from core.storage.store import ObjectStore
from core.workflows.common.context import Services
from core.workflows.datasets import link_checks as checks
from core.workflows.datasets.sensitive_links import receive_list
from core.workflows.datasets.upload import discard
from core.workflows.operations import leased, recover
from graphveil.models import datasets as views
from tests.integration.api.conftest import EDGES, Tenant
from worker.process import WorkerProcess

NONE_ALLOWED = {"kinds": ["pure", "approximate", "none"]}
LIST = "source,target\n0,1\n1,8\n2,15\n"  # links of the graph: i - 7i + 1
OTHER = "source,target\n3,22\n"


def address(dataset_id: str) -> str:
    return f"/datasets/{dataset_id}/sensitive-links"


def put(tenant: Tenant, dataset_id: str, content: str = LIST, query: str = "format=csv") -> Any:
    return tenant.call("PUT", f"{address(dataset_id)}?{query}", content=content)


def told(tenant: Tenant, dataset_id: str) -> dict[str, Any]:
    return tenant.call("GET", address(dataset_id)).json()


def named(tenant: Tenant, dataset_id: str, content: str = LIST) -> dict[str, Any]:
    """The list was uploaded and checked: what a worker does, with its child's part done here."""
    answer = put(tenant, dataset_id, content)
    assert answer.status_code == 202, answer.text
    work = checks.begin_check(tenant.services, answer.json()["upload"]["id"], "worker-1")
    assert work is not None
    folder = tenant.services.settings.work_folder / secrets.token_hex(8)
    folder.mkdir(mode=0o700)
    checks.lay_out(tenant.services, work, folder)
    file = UploadedFile(folder / checks.UPLOAD, work.format, work.options)
    graph, out = folder / checks.GRAPH, folder / checks.OUT
    try:
        counts = write_checked(file, graph, out, work.limits, lambda *_: None, work.list_id)
    except IngestRejected as error:
        checks.reject_check(tenant.services, work, error.members["findings"], error.message)
    else:
        checks.finish_check(tenant.services, work, folder, counts)
    return told(tenant, dataset_id)


def taken_up(tenant: Tenant, dataset_id: str, content: str = LIST) -> dict[str, Any]:
    """The same by a real worker."""
    answer = put(tenant, dataset_id, content)
    tenant.work(Topic.LINKS, answer.json()["upload"]["id"])
    return told(tenant, dataset_id)


def released(tenant: Tenant, dataset_id: str, **asked: Any) -> dict[str, Any]:
    answer = tenant.submit(dataset_id, method="random_rewire", suite="quick", **asked)
    assert answer.status_code == 202, answer.text
    tenant.work(Topic.RUN, answer.json()["id"])
    return tenant.call("GET", f"/jobs/{answer.json()['id']}").json()


def objects(tenant: Tenant, dataset_id: str) -> list[str]:
    return [stored.key for stored in tenant.services.store.list(f"datasets/{dataset_id}/sensitive")]


@pytest.fixture(scope="module")
def keeper(http: TestClient, api_services: Services, worker_process: WorkerProcess) -> Tenant:
    """A tenant of the module's own: its releases expose its account."""
    return Tenant(http, api_services, worker_process)


@pytest.fixture(scope="module")
def kept(keeper: Tenant) -> str:
    """A ready dataset that the module's tests share; each leaves it without a list."""
    return keeper.ready(policy=NONE_ALLOWED)


@pytest.fixture
def dataset_id(keeper: Tenant, kept: str) -> Iterator[str]:
    yield kept
    assert keeper.call("DELETE", address(kept)).status_code == 204


@pytest.fixture
def own(keeper: Tenant) -> str:
    """A ready dataset of the test's own."""
    return keeper.ready(policy=NONE_ALLOWED)


def test_a_list_is_checked_counted_replaced_and_withdrawn(keeper: Tenant, dataset_id: str):
    assert told(keeper, dataset_id) == {"dataset_id": dataset_id, "in_use": None, "upload": None}
    answer = put(keeper, dataset_id)
    assert answer.status_code == 202
    assert answer.json()["in_use"] is None
    assert answer.json()["upload"]["state"] == "queued"
    keeper.work(Topic.LINKS, answer.json()["upload"]["id"])
    first = told(keeper, dataset_id)
    assert first["upload"] is None
    assert (first["in_use"]["version"], first["in_use"]["links"]) == (1, {"mail": 3})
    second = named(keeper, dataset_id, OTHER)["in_use"]
    assert second["count"] == 1
    assert second["id"] != first["in_use"]["id"]
    assert len(objects(keeper, dataset_id)) == 1  # nothing is left of the list before, nor of the uploads
    for _ in range(2):
        assert keeper.call("DELETE", address(dataset_id)).status_code == 204
        assert told(keeper, dataset_id) == {"dataset_id": dataset_id, "in_use": None, "upload": None}
    assert objects(keeper, dataset_id) == []


def test_a_wrong_list_is_refused_with_its_lines_and_the_one_before_stays(keeper: Tenant, dataset_id: str):
    before = named(keeper, dataset_id)["in_use"]
    after = taken_up(keeper, dataset_id, "source,target\n0,1\n0,31\n")
    assert after["in_use"] == before
    assert after["upload"]["state"] == "rejected"
    (finding,) = after["upload"]["findings"]
    assert (finding["file"], finding["line"], finding["column"]) == ("sensitive links", 3, 2)
    assert len(objects(keeper, dataset_id)) == 1
    mended = named(keeper, dataset_id, OTHER)
    assert (mended["upload"], mended["in_use"]["count"]) == (None, 1)


def test_a_list_that_is_replaced_before_it_was_checked_is_gone(keeper: Tenant, dataset_id: str):
    first = put(keeper, dataset_id).json()["upload"]["id"]
    second = put(keeper, dataset_id, OTHER).json()["upload"]["id"]
    with pytest.raises(AssertionError):
        keeper.work(Topic.LINKS, first)
    keeper.work(Topic.LINKS, second)
    assert told(keeper, dataset_id)["in_use"]["count"] == 1
    assert len(objects(keeper, dataset_id)) == 1


def test_what_is_stored_can_not_be_read_and_is_erased_with_the_dataset(keeper: Tenant, own: str):
    marked = "source,target\n" + "0,1\n" * 40
    put(keeper, own, marked)
    (key,) = objects(keeper, own)
    assert b"0,1\n0,1" not in b"".join(keeper.services.store.get(key))
    named(keeper, own)
    (key,) = objects(keeper, own)
    sealed = b"".join(keeper.services.store.get(key))
    assert b"PAR1" not in sealed
    assert keeper.call("DELETE", f"/datasets/{own}").status_code == 204
    assert objects(keeper, own) == []
    with keeper.services.db.transaction() as session:
        assert session.query(SensitiveList).filter_by(dataset_id=own).count() == 0


@pytest.mark.parametrize(
    ("query", "content", "status", "slug"),
    [
        ("format=csv", "x" * (3 * 2**20), 413, "payload-too-large"),
        ("format=graphml", LIST, 422, "invalid-input"),
    ],
)
def test_an_upload_that_cannot_be_taken_leaves_nothing(
    keeper: Tenant,
    dataset_id: str,
    monkeypatch: pytest.MonkeyPatch,
    query: str,
    content: str,
    status: int,
    slug: str,
):
    monkeypatch.setattr(
        type(keeper.services.settings), "__setattr__", object.__setattr__
    )  # settings are frozen
    monkeypatch.setattr(keeper.services.settings, "max_sensitive_links_bytes", 2**20)
    answer = put(keeper, dataset_id, content, query)
    assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{slug}")
    assert objects(keeper, dataset_id) == []
    assert told(keeper, dataset_id)["upload"] is None


def test_a_dataset_without_a_ready_version_takes_no_list(keeper: Tenant):
    dataset_id = keeper.register()["id"]
    assert put(keeper, dataset_id).json()["type"] == "/problems/dataset-not-ready"
    assert told(keeper, dataset_id)["in_use"] is None


def while_it_arrives(tenant: Tenant, dataset_id: str, step: Callable[[], Any]) -> views.SensitiveLinks:
    """A list is received, and ``step`` comes between two of its pieces."""

    def chunks() -> Iterator[bytes]:
        yield LIST.encode()
        step()
        yield b"3,22\n"

    curator = Principal(tenant.name, "key_1", "k", frozenset({Role.CURATOR}))
    return receive_list(
        tenant.services, curator, dataset_id, format="csv", options={}, chunks=chunks(), length=None
    )


def test_nothing_is_kept_of_a_list_whose_dataset_is_archived_while_it_arrives(keeper: Tenant, own: str):
    with pytest.raises(DatasetNotReady):
        while_it_arrives(keeper, own, lambda: keeper.call("DELETE", f"/datasets/{own}").raise_for_status())
    assert objects(keeper, own) == []


def test_a_list_is_checked_against_the_version_that_is_current_once_it_has_arrived(keeper: Tenant, own: str):
    def renewed() -> None:
        keeper.work(Topic.INGEST, keeper.upload(own, EDGES + "3,22\n0,30\n").json()["id"])

    found = while_it_arrives(keeper, own, renewed).upload
    assert found is not None
    assert found.version == 2
    keeper.work(Topic.LINKS, found.id)
    assert told(keeper, own)["in_use"]["count"] == 4


@pytest.mark.parametrize("again", [True, False], ids=["replaced", "withdrawn"])
def test_a_check_whose_list_is_gone_changes_nothing_and_leaves_nothing(
    keeper: Tenant, dataset_id: str, again: bool
):
    work = checks.begin_check(keeper.services, put(keeper, dataset_id).json()["upload"]["id"], "worker-1")
    assert work is not None
    folder = keeper.services.settings.work_folder / secrets.token_hex(8)
    (folder / checks.OUT).mkdir(parents=True, mode=0o700)
    checks.lay_out(keeper.services, work, folder)
    write_sensitive(SensitiveLinks({}, work.list_id), folder / checks.OUT)
    if again:
        put(keeper, dataset_id, OTHER)
    else:
        keeper.call("DELETE", address(dataset_id))
    for step in (
        lambda: leased.heartbeat(keeper.services, Topic.LINKS, work.list_id, work.attempt),
        lambda: checks.finish_check(keeper.services, work, folder, {"mail": 3}),
        lambda: checks.reject_check(keeper.services, work, [], "wrong"),
        lambda: checks.fail_check(keeper.services, work),
    ):
        with pytest.raises(LeaseLost):
            step()
    assert told(keeper, dataset_id)["in_use"] is None
    assert len(objects(keeper, dataset_id)) == again


def test_a_dataset_whose_relations_all_carry_time_takes_no_list(keeper: Tenant):
    dataset_id = keeper.streamable()
    answer = put(keeper, dataset_id, "source,target\n")
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/not-accepted")
    assert objects(keeper, dataset_id) == []


def test_a_worker_that_died_is_followed_by_another(keeper: Tenant, dataset_id: str):
    list_id = put(keeper, dataset_id).json()["upload"]["id"]
    with keeper.services.db.transaction() as session:
        row = session.get_one(SensitiveList, list_id)
        row.state, row.attempt, row.leased_by = "checking", 1, "gone"
        row.lease_expires_at = row.created_at
    assert recover.DUTIES["recover_lost_links"](keeper.services) >= 1
    keeper.work(Topic.LINKS, list_id)
    assert told(keeper, dataset_id)["in_use"]["count"] == 3


def test_a_check_that_always_loses_its_worker_is_given_up(keeper: Tenant, dataset_id: str):
    list_id = put(keeper, dataset_id).json()["upload"]["id"]
    with keeper.services.db.transaction() as session:
        row = session.get_one(SensitiveList, list_id)
        row.state, row.attempt = "checking", keeper.services.settings.max_attempts
        row.leased_by, row.lease_expires_at = "gone", row.created_at
    assert recover.DUTIES["recover_lost_links"](keeper.services) >= 1
    assert told(keeper, dataset_id)["upload"]["state"] == "rejected"
    assert objects(keeper, dataset_id) == []


def test_a_damaged_object_is_no_verdict_on_the_list(keeper: Tenant, dataset_id: str):
    list_id = put(keeper, dataset_id).json()["upload"]["id"]
    discard(keeper.services, objects(keeper, dataset_id))
    keeper.work(Topic.LINKS, list_id)
    assert told(keeper, dataset_id)["upload"]["state"] == "queued"


def test_a_method_that_hides_links_waits_for_a_list_of_the_current_version(keeper: Tenant, own: str):
    never = keeper.submit(own, method="random_rewire").json()
    assert (never["type"], never["dataset_id"]) == ("/problems/links-not-named", own)
    named(keeper, own)
    assert keeper.submit(own, method="random_rewire").status_code == 202
    received = keeper.upload(own, EDGES + "0,30\n")  # a second version begins without a list
    keeper.work(Topic.INGEST, received.json()["id"])
    later = keeper.submit(own, method="random_rewire").json()
    assert {**later, "request_id": ""} == {**never, "request_id": ""}  # nothing tells that there was one
    assert named(keeper, own, "source,target\n0,30\n")["in_use"]["version"] == 2
    assert keeper.submit(own, method="random_rewire").status_code == 202


def test_an_empty_list_is_an_answer_too(keeper: Tenant, dataset_id: str):
    found = named(keeper, dataset_id, "source,target\n")
    assert (found["in_use"]["count"], found["in_use"]["links"]) == (0, {})
    assert released(keeper, dataset_id)["state"] == "published"


def test_a_request_without_a_list_is_refused(keeper: Tenant, dataset_id: str):
    refused = put(keeper, dataset_id, "")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "body"), refused.json()


def test_a_public_dataset_needs_none(tenant: Tenant):
    dataset_id = tenant.ready(policy=NONE_ALLOWED, public=True)
    assert released(tenant, dataset_id)["state"] == "published"


def test_a_job_that_waits_hides_the_newest_list(keeper: Tenant, dataset_id: str):
    named(keeper, dataset_id)
    job_id = keeper.submit(dataset_id, method="random_rewire", suite="quick").json()["id"]
    newest = named(keeper, dataset_id, OTHER)["in_use"]["id"]
    keeper.work(Topic.RUN, job_id)
    assert hidden(keeper, dataset_id, job_id) == (newest, {"mail": [(3, 22)]})
    named(keeper, dataset_id)  # the release keeps the list that it hid
    assert hidden(keeper, dataset_id, job_id) == (newest, {"mail": [(3, 22)]})


def while_fetched(
    tenant: Tenant, job_id: str, monkeypatch: pytest.MonkeyPatch, step: Callable[[], Any]
) -> Any:
    """The job after a worker took it up, where ``step`` came between its look at the list and the bytes."""
    read = ObjectStore.get

    def get(store: ObjectStore, key: str) -> Iterator[bytes]:
        if "/list-" in key:
            monkeypatch.setattr(ObjectStore, "get", read)
            step()
        return read(store, key)

    monkeypatch.setattr(ObjectStore, "get", get)
    tenant.work(Topic.RUN, job_id)
    return tenant.call("GET", f"/jobs/{job_id}").json()


def test_a_list_that_is_replaced_while_a_worker_fetches_it_costs_no_attempt(
    keeper: Tenant, dataset_id: str, monkeypatch: pytest.MonkeyPatch
):
    named(keeper, dataset_id)
    job_id = keeper.submit(dataset_id, method="random_rewire", suite="quick").json()["id"]
    job = while_fetched(keeper, job_id, monkeypatch, lambda: named(keeper, dataset_id, OTHER))
    assert (job["state"], job["attempt"]) == ("published", 1)
    assert hidden(keeper, dataset_id, job_id)[1] == {"mail": [(3, 22)]}


@pytest.mark.parametrize(("public", "state"), [(False, "failed"), (True, "published")])
def test_a_list_that_is_withdrawn_while_a_worker_fetches_it_is_as_if_it_had_gone_before(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, public: bool, state: str
):
    dataset_id = tenant.ready(policy=NONE_ALLOWED, public=public)
    named(tenant, dataset_id)
    job_id = tenant.submit(dataset_id, method="random_rewire", suite="quick").json()["id"]
    job = while_fetched(
        tenant, job_id, monkeypatch, lambda: tenant.call("DELETE", address(dataset_id)).raise_for_status()
    )
    assert (job["state"], job["reason"]) == (state, None if public else "links_not_named")


def test_a_job_that_waits_for_links_that_were_withdrawn_fails_and_costs_nothing(tenant: Tenant):
    dataset_id = tenant.ready(policy=NONE_ALLOWED)
    named(tenant, dataset_id)
    job_id = tenant.submit(dataset_id, method="random_rewire").json()["id"]
    tenant.call("DELETE", address(dataset_id))
    tenant.work(Topic.RUN, job_id)
    job = tenant.call("GET", f"/jobs/{job_id}").json()
    assert (job["state"], job["reason"]) == ("failed", "links_not_named")
    assert tenant.call("GET", f"/datasets/{dataset_id}/budget").json()["exposed"] is False


def test_curators_read_how_well_the_links_are_hidden_and_nobody_else_does(keeper: Tenant, dataset_id: str):
    found = named(keeper, dataset_id, "source,target\n" + "".join(f"{i},{7 * i + 1}\n" for i in range(1, 8)))
    job = released(keeper, dataset_id)
    made = keeper.call("POST", f"/jobs/{job['id']}/samples", json={}, headers={"Idempotency-Key": "more"})
    assert made.status_code == 202, made.text
    keeper.work(Topic.RUN, made.json()["id"])
    for job_id in (job["id"], made.json()["id"]):  # a further sample of the model hides the same links
        keeper.work(Topic.EVALUATE, job_id)
        report = keeper.call("GET", f"/jobs/{job_id}/report", Role.CURATOR).json()
        part = report["curator"]["attacks"]["sensitive"]
        assert (part["list_id"], part["hidden"]) == (found["in_use"]["id"], {"mail": 7})
        figures = [attack["figure"] for attack in part["attacks"]]
        assert figures == sorted(figures, reverse=True)
        assert part["figure"] == figures[0]
        assert part["attacks"][0]["positives"] == 7
        for form in ("report.html", "report.md"):
            assert "hidden links" in keeper.call("GET", f"/jobs/{job_id}/{form}", Role.CURATOR).text
            assert "hidden links" not in keeper.call("GET", f"/jobs/{job_id}/{form}", Role.REQUESTER).text
        public = keeper.call("GET", f"/jobs/{job_id}/report", Role.REQUESTER).json()
        assert "curator" not in public
        assert "list_id" not in json.dumps(public)


def test_nobody_but_curators_sees_anything_of_it(keeper: Tenant, dataset_id: str):
    found = named(keeper, dataset_id)["in_use"]
    job = released(keeper, dataset_id)
    seen = [
        keeper.call("GET", path, role).text
        for role in (Role.REQUESTER, Role.AUDITOR)
        for path in (
            "/datasets",
            f"/datasets/{dataset_id}",
            f"/datasets/{dataset_id}/budget",
            f"/datasets/{dataset_id}/ledger",
            f"/jobs/{job['id']}",
            f"/jobs/{job['id']}/report",
            f"/jobs/{job['id']}/report.html",
            f"/jobs/{job['id']}/artifacts",
        )
    ]
    assert all(found["id"] not in text and "sl_" not in text for text in seen)
    artifacts = json.loads(keeper.call("GET", f"/jobs/{job['id']}/artifacts", Role.REQUESTER).text)
    assert not [each for each in artifacts["items"] if "sensitive" in each["name"]]
    for role in (Role.REQUESTER, Role.CURATOR):
        path = f"/jobs/{job['id']}/artifacts/private/model/sensitive.parquet"
        assert keeper.call("GET", path, role).status_code == 404


def hidden(tenant: Tenant, dataset_id: str, job_id: str) -> tuple[str | None, dict[str, list[Any]]]:
    """The list that the release kept for its curators' comparison: its id, and the links by relation."""
    from core.datasets import vault
    from core.graphs.views.sensitive import stored_links
    from core.workflows.releases.stored_files import fetch_files

    services = tenant.services
    with services.db.transaction() as session:
        key = vault.content_key(session, dataset_id, services.settings.master_key)
        files = [
            file
            for file in session.query(Artifact).filter_by(job_id=job_id)
            if file.name == "private/model/sensitive.parquet"
        ]
        assert [(file.role, file.encrypted) for file in files] == [(ArtifactRole.PRIVATE, True)]
    folder = services.settings.work_folder / secrets.token_hex(8)
    fetch_files(services, files, key, folder)
    links = stored_links(folder / "private" / "model")
    assert links is not None
    return links.list_id, {
        name: list(zip(source.tolist(), target.tolist(), strict=True))
        for name, (source, target) in links.pairs.items()
    }
