"""Live streams over HTTP: opened, fed in order, published by a real worker, read, taken home."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import secrets
import zipfile
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import TIMED, Tenant, week

EMPTY = ""


def ask(tenant: Tenant, dataset_id: str, *, key: str | None = None, query: str = "", **request: Any) -> Any:
    body = {"dataset_id": dataset_id, "epsilon": "1", "method": "psgraph", **request}
    headers = {"Idempotency-Key": key or secrets.token_hex(8)}
    return tenant.call("POST", f"/streams{query}", json=body, headers=headers)


def publish(tenant: Tenant, stream_id: str, step: int, content: str | bytes, **query: Any) -> dict[str, Any]:
    """The step once the worker has done with it."""
    sent = tenant.push(stream_id, content, step=step, **query)
    assert sent.status_code == 202, sent.text
    tenant.work(Topic.RUN, sent.json()["job_id"])
    return tenant.call("GET", f"/streams/{stream_id}/snapshots/{step}").json()


def problem(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].removeprefix("/problems/")


@pytest.fixture
def stream(house: Tenant, stream_dataset: str) -> str:
    """An open stream of the test's own."""
    return house.stream(stream_dataset)["id"]


def test_a_stream_is_planned_before_it_is_opened(tenant: Tenant):
    dataset_id = tenant.streamable("1.5")
    planned = ask(tenant, dataset_id, query="?dry_run=true")
    assert planned.status_code == 200, planned.text
    plan = planned.json()
    assert (plan["method"], plan["unit"], plan["window"]) == ("psgraph", "w-event", 2)
    assert (plan["epsilon"], plan["step_epsilon"], plan["window_epsilon"]) == ("1", "0.5", "1")
    assert (plan["start"], plan["width"], plan["edge_types"]) == (0, 7, ["contact"])
    assert plan["window_fits"] is True
    told = {line["query"]: line for line in plan["precision"]}
    assert told["edge_count"]["snapshots"] == 1
    known = {answer["question"]: answer["value"] for answer in plan["expected"]}
    assert known["edges_within_95"] == told["edge_count"]["within"]
    guessed = ask(tenant, dataset_id, query="?dry_run=true", assume={"edges": 20}).json()["expected"]
    assert {"edges_relative_95"} <= {answer["question"] for answer in guessed} - set(known)
    assert plan["budget_after"]["remaining"]["epsilon"] == "0.5"
    dear = ask(tenant, dataset_id, query="?dry_run=true", epsilon="2").json()
    assert dear["window_fits"] is False
    assert tenant.call("GET", "/streams").json() == {"items": [], "next_cursor": None}


def test_a_stream_is_opened_once_for_a_key(house: Tenant, stream_dataset: str):
    dataset_id, key = stream_dataset, secrets.token_hex(8)
    opened = ask(house, dataset_id, key=key, label="contacts")
    assert opened.status_code == 201, opened.text
    stream = opened.json()
    assert opened.headers["Location"] == f"/streams/{stream['id']}"
    assert "Idempotency-Replayed" not in opened.headers
    assert (stream["state"], stream["first_step"], stream["next_step"]) == ("open", 0, 0)
    assert (stream["epsilon"], stream["step_epsilon"], stream["label"]) == ("1", "0.5", "contacts")
    assert (stream["missing_steps"], stream["suite"]) == ("refuse", "quick")

    again = ask(house, dataset_id, key=key, label="contacts")
    assert (again.status_code, again.json()["id"]) == (201, stream["id"])
    assert again.headers["Idempotency-Replayed"] == "true"
    assert problem(ask(house, dataset_id, key=key, label="other")) == (422, "idempotency-key-reused")
    keyless = house.call("POST", "/streams", json={"dataset_id": dataset_id, "epsilon": "1"})
    assert problem(keyless) == (400, "idempotency-key-missing")

    shown = house.call("GET", f"/v1{opened.headers['Location']}")
    assert shown.json() == stream
    held = house.call("GET", f"/streams/{stream['id']}", headers={"If-None-Match": shown.headers["ETag"]})
    assert held.status_code == 304
    newest = house.call("GET", f"/streams?dataset_id={dataset_id}&state=open&limit=1").json()["items"]
    assert newest == [stream]
    assert house.call("GET", f"/streams?dataset_id={dataset_id}&state=closed").json()["items"] == []
    assert problem(house.call("GET", "/streams?state=shut")) == (422, "invalid-input")


def test_the_service_chooses_a_method_and_says_why(house: Tenant, stream_dataset: str):
    stream = house.stream(stream_dataset, method="auto")
    assert stream["method"] != "auto"
    assert stream["chosen_because"]


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"window": 3}, "window"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"edge_types": ["mail"]}, "edge_types.0"),
        ({"missing_steps": "guess"}, "missing_steps"),
        ({"first_step": 100_000}, "first_step"),
        ({"colour": "red"}, "colour"),
        ({"parameters": {"speed": 11}}, "parameters.speed"),
    ],
)
def test_what_cannot_be_opened_names_its_field(
    house: Tenant, stream_dataset: str, request_: dict[str, Any], field: str
):
    answer = ask(house, stream_dataset, **request_)
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["field"] == field


def test_a_dataset_under_another_unit_has_no_streams(house: Tenant, ready_dataset: str):
    assert problem(ask(house, ready_dataset)) == (422, "not-accepted")


def test_datasets_that_begin_without_an_edge_share_no_budget(tenant: Tenant):
    one, other = tenant.streamable("1"), tenant.streamable("2", window=3)
    accounts = [tenant.call("GET", f"/datasets/{dataset}").json() for dataset in (one, other)]
    assert [found["state"] for found in accounts] == ["ready", "ready"]
    assert accounts[0]["account_id"] != accounts[1]["account_id"]


def test_lists_go_on_where_they_stopped(tenant: Tenant):
    dataset_id = tenant.streamable()
    opened = [tenant.stream(dataset_id)["id"] for _ in range(3)]
    first = tenant.call("GET", "/streams?limit=2").json()
    rest = tenant.call("GET", f"/streams?limit=2&cursor={first['next_cursor']}").json()
    assert [one["id"] for one in first["items"] + rest["items"]] == opened[::-1]
    assert rest["next_cursor"] is None


def test_steps_come_in_order_and_repeats_are_recognised(house: Tenant, stream: str):
    sent = house.push(stream, week(0), step=0)
    assert sent.status_code == 202, sent.text
    snapshot = sent.json()
    assert sent.headers["Location"] == f"/streams/{stream}/snapshots/0"
    assert sent.headers["Retry-After"] == "1"
    assert (snapshot["step"], snapshot["starts_at"], snapshot["ends_at"]) == (0, 0, 7)
    assert (snapshot["state"], snapshot["epsilon"], snapshot["number"]) == ("queued", "0.5", 0)
    assert (snapshot["artifacts"], snapshot["report"]) == ([], None)

    again = house.push(stream, week(0), step=0)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (200, "true")
    assert again.json() == snapshot
    for other in (house.push(stream, week(1), step=0), house.push(stream, week(0), step=0, header="true")):
        assert problem(other) == (409, "snapshot-conflict")
        assert not other.json()["retryable"]

    early = house.push(stream, week(2), step=2)
    assert problem(early) == (409, "snapshot-early")
    assert (early.json()["step"], early.json()["next_step"], early.json()["retryable"]) == (2, 1, True)
    by_time = house.push(stream, week(1), time=13)
    assert (by_time.status_code, by_time.json()["step"]) == (202, 1)
    assert house.call("GET", f"/streams/{stream}").json()["next_step"] == 2
    assert (
        house.call("GET", f"/streams/{stream}/snapshots").json()["items"][0]["job_id"] == snapshot["job_id"]
    )


def test_a_step_before_the_first_is_late(house: Tenant, stream_dataset: str):
    stream = house.stream(stream_dataset, first_step=5)["id"]
    late = house.push(stream, week(4), step=4)
    assert problem(late) == (409, "snapshot-late")
    assert late.json()["next_step"] == 5
    assert house.call("GET", f"/streams/{stream}/snapshots").json() == {"items": [], "next_cursor": None}


def test_steps_that_are_left_out_are_published_as_empty_where_that_was_agreed(
    house: Tenant, stream_dataset: str
):
    stream = house.stream(stream_dataset, missing_steps="empty")["id"]
    sent = house.push(stream, week(3), step=3)
    assert sent.status_code == 202, sent.text
    found = house.call("GET", f"/streams/{stream}/snapshots").json()["items"]
    assert [one["step"] for one in found] == [0, 1, 2, 3]
    assert [one["size_bytes"] for one in found] == [0, 0, 0, len(week(3))]
    page = house.call("GET", f"/streams/{stream}/snapshots?after=0&limit=2").json()
    assert [one["step"] for one in page["items"]] == [1, 2]
    rest = f"/streams/{stream}/snapshots?after=0&limit=2&cursor={page['next_cursor']}"
    assert [one["step"] for one in house.call("GET", rest).json()["items"]] == [3]


@pytest.mark.parametrize(
    ("query", "field"),
    [({}, "step"), ({"step": 0, "time": 0}, "step"), ({"step": -1}, "step"), ({"time": -1}, "time")],
)
def test_a_snapshot_says_of_which_step_it_is(house: Tenant, stream: str, query: dict[str, int], field: str):
    answer = house.push(stream, week(0), **query)
    assert problem(answer) == (422, "invalid-input")
    assert answer.json()["errors"][0]["field"] == field


def test_a_body_streams_past_the_limit_of_json_and_ends_at_that_of_uploads(house: Tenant, stream: str):
    rows = b"source,target\n" + b"".join(b"%d,%d\n" % (i % 60, (i + 1) % 60) for i in range(40_000))
    assert len(rows) > house.services.settings.max_request_bytes
    assert house.push(stream, rows, step=0).status_code == 202
    large = b" " * (house.services.settings.max_upload_bytes + 1)
    assert problem(house.push(stream, large, step=1)) == (413, "payload-too-large")
    assert house.call("GET", f"/streams/{stream}").json()["next_step"] == 1


def test_formats_and_their_options(house: Tenant, stream: str):
    assert problem(house.push(stream, week(0), step=0, format="pdf")) == (422, "unknown-format")
    packed = publish(house, stream, 0, gzip.compress(week(0).encode()))
    assert packed["state"] == "published"
    other = publish(house, stream, 1, week(1).replace(",", ";"), delimiter=";")
    assert other["state"] == "published"
    assert (other["format"], other["reason"]) == ("csv", None)


def test_a_refused_snapshot_is_mended_and_sent_anew(house: Tenant, stream: str):
    refused = publish(house, stream, 0, "source,target,time\n0,1,3\n0,999,3\n1,2,8\n")
    assert (refused["state"], refused["number"]) == ("refused", 0)
    assert refused["reason"]
    assert {finding["line"] for finding in refused["findings"]} == {3, 4}
    path = f"/streams/{stream}/snapshots/0"
    assert refused["epsilon"] == "0"
    # To all but curators it looks like one that was lost: what was wrong with it was paid for by nobody.
    for role in (Role.REQUESTER, Role.AUDITOR):
        seen = house.call("GET", path, role).json()
        assert (seen["state"], seen["reason"], seen["findings"]) == ("failed", "returned", None)
    job = house.call("GET", f"/jobs/{refused['job_id']}", Role.REQUESTER).json()
    assert (job["state"], job["reason"], job["run_time"]) == ("failed", "returned", None)
    assert house.call("GET", f"/jobs/{refused['job_id']}").json()["reason"] == "invalid_snapshot"
    told = house.call("GET", f"/jobs/{refused['job_id']}/report", Role.REQUESTER).json()
    assert (told["type"], told["reason"]) == ("/problems/job-failed", "returned")
    for role, counted in ((Role.REQUESTER, "failed"), (Role.CURATOR, "refused")):
        report = house.call("GET", f"/streams/{stream}/report", role).json()
        assert report["counts"] == {counted: 1}
        assert report["rows"][0]["state"] == counted
    mended = publish(house, stream, 0, "source,target,time\n0,1,3\n")
    assert (mended["state"], mended["number"], mended["epsilon"]) == ("published", 1, "0.5")


def test_a_window_that_is_full_takes_no_snapshot(tenant: Tenant):
    dataset_id = tenant.streamable("1")
    one, two = (tenant.stream(dataset_id)["id"] for _ in range(2))
    for step in (0, 1):
        assert tenant.push(one, week(step), step=step).status_code == 202
    refused = tenant.push(two, week(0), step=0)
    assert problem(refused) == (409, "budget-exceeded")
    assert (refused.json()["requested"], refused.json()["remaining"]) == ("0.5", "0")
    assert tenant.call("GET", f"/streams/{two}").json()["next_step"] == 0
    assert tenant.call("GET", f"/streams/{two}/snapshots").json()["items"] == []


def test_a_closed_stream_publishes_what_it_has_and_takes_no_more(house: Tenant, stream: str):
    waiting = house.push(stream, week(0), step=0).json()
    closed = house.call("POST", f"/streams/{stream}/close")
    assert (closed.status_code, closed.json()["state"]) == (200, "closed")
    assert closed.json()["closed_at"]
    assert house.call("POST", f"/streams/{stream}/close").json() == closed.json()
    assert problem(house.push(stream, week(1), step=1)) == (409, "stream-closed")
    house.work(Topic.RUN, waiting["job_id"])
    assert house.call("GET", f"/streams/{stream}/snapshots/0").json()["state"] == "published"


def test_a_published_step_has_its_release_and_its_report(house: Tenant, published_stream: str):
    path = f"/streams/{published_stream}/snapshots/1"
    shown = house.call("GET", path)
    snapshot = shown.json()
    assert snapshot["state"] == "published"
    assert "Retry-After" not in shown.headers
    assert "edges.parquet" in snapshot["artifacts"]
    assert not [name for name in snapshot["artifacts"] if name.startswith("private")]
    assert house.call("GET", path, headers={"If-None-Match": shown.headers["ETag"]}).status_code == 304
    report = house.call("GET", snapshot["report"]).json()
    assert report["public"]["guarantee"]["epsilon"] == "1"
    job = house.call("GET", f"/jobs/{snapshot['job_id']}").json()
    assert (job["stream_id"], job["step"]) == (published_stream, 1)
    versioned = house.call("GET", f"/v1{path}").json()
    assert versioned["report"] == f"/v1{snapshot['report']}"
    requesters, auditors = (house.call("GET", path, role).json() for role in (Role.REQUESTER, Role.AUDITOR))
    for other in (requesters, auditors):
        assert other["epsilon"] == "0.5"
        hidden = ("findings", "format", "size_bytes", "finished_at", "evaluation")
        assert [other[name] for name in hidden] == [None] * len(hidden)
    assert problem(house.call("GET", f"/streams/{published_stream}/snapshots/9")) == (404, "not-found")


def test_the_report_tells_what_windows_hold_and_curators_how_close_it_is(
    house: Tenant, published_stream: str
):
    path = f"/streams/{published_stream}/report"
    answer = house.call("GET", path)
    assert answer.status_code == 200, answer.text
    report = answer.json()
    assert [row["epsilon"] for row in report["rows"]] == ["0.5", "0.5", "0.5"]
    assert [row["window_epsilon"] for row in report["rows"]] == ["0.5", "1", "1"]
    assert (report["counts"]["published"], report["capacity"], report["next_step"]) == (3, "2", 3)
    window = report["worst_window"]
    assert (window["charged"], window["reserved"]) == ("1", "0")
    assert "2" in report["statement"]
    assert report["not_covered"]
    figures = report["rows"][0]["statistics"]
    released = house.call("GET", f"/jobs/{report['rows'][0]['job_id']}/artifacts/edges.parquet")
    assert figures["edges"] == pq.read_table(io.BytesIO(released.content)).num_rows
    assert set(report["rows"][0]["comparison"]) <= set(report["metrics"])
    assert [row["evaluation"] for row in report["rows"]] == ["done", "pending", "pending"]
    assert [bool(row["comparison"]) for row in report["rows"]] == [True, False, False]
    for role in (Role.REQUESTER, Role.AUDITOR):
        public = house.call("GET", path, role).json()
        assert [row["comparison"] for row in public["rows"]] == [None] * 3
        assert [row["statistics"] for row in public["rows"]] == [row["statistics"] for row in report["rows"]]
    assert house.call("GET", path, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    page = house.call("GET", f"{path}?after=0&limit=1").json()
    rest = house.call("GET", f"{path}?after=0&limit=1&cursor={page['next_cursor']}").json()
    assert [[row["step"] for row in one["rows"]] for one in (page, rest)] == [[1], [2]]


def test_the_report_is_markdown_where_that_is_preferred(house: Tenant, published_stream: str):
    path = f"/streams/{published_stream}/report"
    preferred = house.call("GET", path, headers={"Accept": "text/markdown"})
    served = house.call("GET", f"{path}.md")
    assert preferred.content == served.content
    assert served.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert preferred.headers["Vary"] == house.call("GET", path).headers["Vary"] == "Accept"
    assert served.text.startswith("# Stream report: ")
    assert served.text.splitlines()[0].endswith(", by psgraph")
    assert "**Curator edition" in served.text
    assert "Against the originals" in served.text
    public = house.call("GET", f"{path}.md", Role.REQUESTER).text
    assert "**Public edition" in public
    assert "Against the originals" not in public
    assert "Synthetic snapshots" in public
    held = house.call("GET", f"{path}.md", headers={"If-None-Match": served.headers["ETag"]})
    assert (held.status_code, held.content) == (304, b"")


def test_the_report_is_a_page_where_that_is_preferred(house: Tenant, published_stream: str):
    path = f"/streams/{published_stream}/report"
    preferred = house.call("GET", path, headers={"Accept": "text/html"})
    served = house.call("GET", f"{path}.html")
    assert preferred.content == served.content
    assert served.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in served.headers["Content-Security-Policy"]
    assert preferred.headers["Vary"] == "Accept"
    report = house.call("GET", path).json()
    assert f"<h1>{report['dataset_name']}</h1>" in served.text
    assert "not for publication" in served.text
    assert "Against the originals" in served.text
    public = house.call("GET", f"{path}.html", Role.REQUESTER).text
    assert "Public edition" in public
    assert "Synthetic snapshots" in public
    for words in ("not for publication", "Against the originals", "Not for publication"):
        assert words not in public
    held = house.call("GET", f"{path}.html", headers={"If-None-Match": served.headers["ETag"]})
    assert (held.status_code, held.content) == (304, b"")


def test_all_steps_come_home_in_one_file(house: Tenant, published_stream: str, tmp_path):
    answer = house.call("GET", f"/streams/{published_stream}/download", Role.REQUESTER)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/zip"
    assert f'filename="{published_stream}.zip"' in answer.headers["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())
        archive.extractall(tmp_path)
    index = json.loads((tmp_path / "index.json").read_text())
    assert [listed["step"] for listed in index["steps"]] == [0, 1, 2]
    for listed in index["steps"]:
        content = (tmp_path / "edges" / f"step-{listed['step']:06d}.parquet").read_bytes()
        assert hashlib.sha256(content).hexdigest() == listed["sha256"]["edges.parquet"]
        artifact = house.call("GET", f"/jobs/{listed['job_id']}/artifacts/edges.parquet")
        assert (artifact.content, listed["epsilon"]) == (content, "0.5")
    assert {"nodes.parquet", "schema.json", "README.txt"} <= {path.name for path in tmp_path.iterdir()}
    edges = pads.dataset(str(tmp_path / "edges"), filesystem=pafs.LocalFileSystem()).to_table()
    assert pa.compute.unique(edges["step"]).to_pylist() == [
        step for step in (0, 1, 2) if step in set(edges["step"].to_pylist())
    ]

    part = house.call("GET", f"/streams/{published_stream}/download?first=1&last=1")
    with zipfile.ZipFile(io.BytesIO(part.content)) as archive:
        steps = [name for name in archive.namelist() if name.startswith("edges/")]
    assert steps == ["edges/step-000001.parquet"]
    assert house.call("GET", f"/streams/{published_stream}/download?first=2&last=1").status_code == 422


def test_a_stream_without_a_published_step_has_nothing_to_download(house: Tenant, stream: str):
    assert house.call("GET", f"/streams/{stream}/download").status_code == 409
    report = house.call("GET", f"/streams/{stream}/report")
    assert (report.status_code, report.json()["rows"]) == (200, [])
    assert "none yet" in house.call("GET", f"/streams/{stream}/report.md").text
    assert "No step yet." in house.call("GET", f"/streams/{stream}/report.html").text


@pytest.mark.parametrize("method", ["auto", "keyframe", "dcsbm"])
def test_a_dataset_in_parts_has_no_streams(tenant: Tenant, method: str) -> None:
    dataset_id = tenant.register("4", unit="w-event", window=2, graph_schema=TIMED, in_parts=True)["id"]
    rows = "source,target,time\n0,1,0\n2,3,8\n"
    for part in (1, 2):
        received = tenant.upload(dataset_id, rows, f"part=edges-{part}-of-2&format=csv")
    tenant.work(Topic.INGEST, received.json()["id"])
    body = {"dataset_id": dataset_id, "epsilon": "1", "method": method}
    answer = tenant.call("POST", "/streams", json=body, headers={"Idempotency-Key": "a"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "dataset_id")
    assert "without in_parts" in answer.text
    budget = tenant.call("GET", f"/datasets/{dataset_id}/budget").json()
    assert budget["remaining"]["epsilon"] == "4"
