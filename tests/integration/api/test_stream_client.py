"""Streams through the SDK and the ``graphveil stream`` commands, over a socket."""

from __future__ import annotations

import csv
import importlib.util
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from graphveil import Graphveil, ProblemError, WaitTimeout
from tests.integration.api.conftest import Tenant, week
from tests.support.patience import PATIENCE_SECONDS
from tests.support.shell import Command

ROOT = Path(__file__).resolve().parents[3]
ROLES = (Role.CURATOR, Role.REQUESTER)


@pytest.fixture
def sdk(address: str, tenant: Tenant) -> Iterator[Graphveil]:
    with Graphveil(address, tenant.token(*ROLES), sleep=lambda seconds: None) as connected:
        yield connected


@pytest.fixture
def dataset_id(tenant: Tenant) -> str:
    return tenant.streamable("2")


@pytest.fixture
def weeks(tmp_path: Path) -> Path:
    """A folder of three weeks, the last one without a byte."""
    folder = tmp_path / "weeks"
    folder.mkdir()
    for step, content in enumerate((week(0), week(1), "")):
        (folder / f"week-{step}.csv").write_text(content)
    return folder


@pytest.fixture
def command(address: str, tenant: Tenant) -> Command:
    return Command(address, tenant.token(*ROLES), "stream")


def test_a_stream_from_plan_to_archive_in_python(
    sdk: Graphveil, tenant: Tenant, dataset_id: str, weeks: Path, tmp_path: Path
):
    plan = sdk.streams.plan(dataset_id, epsilon="1", method="psgraph")
    assert (plan.step_epsilon, plan.window_epsilon, plan.window_fits) == ("0.5", "1", True)
    stream = sdk.streams.create(dataset_id, epsilon="1", method="psgraph", idempotency_key="mine")
    again = sdk.streams.create(dataset_id, epsilon="1", method="psgraph", idempotency_key="mine")
    assert again.id == stream.id
    assert [one.id for one in sdk.streams.list(dataset_id=dataset_id)] == [stream.id]

    sent: list[tuple[int, int]] = []
    first = sdk.streams.push(
        stream.id, weeks / "week-0.csv", step=0, on_progress=lambda *now: sent.append(now)
    )
    size = (weeks / "week-0.csv").stat().st_size
    assert sent == [(size, size)]
    assert sdk.streams.push(stream.id, week(0).encode(), step=0).job_id == first.job_id
    with pytest.raises(ProblemError) as early:
        sdk.streams.push(stream.id, b"", step=2)
    assert (early.value.slug, early.value.members["next_step"]) == ("snapshot-early", 1)
    sdk.streams.push(stream.id, weeks / "week-1.csv", time=7)
    sdk.streams.push(stream.id, b"", step=2)
    with pytest.raises(WaitTimeout):
        sdk.streams.wait(stream.id, 0, timeout_seconds=0)
    for snapshot in sdk.streams.snapshots(stream.id):
        tenant.work(Topic.RUN, snapshot.job_id)
        seen: list[str] = []
        ended = sdk.streams.wait(
            stream.id, snapshot.step, on_progress=lambda now, seen=seen: seen.append(now.state)
        )
        assert (ended.state, seen) == ("published", ["published"])
    assert sdk.report(first.job_id)["public"]["guarantee"]["epsilon"] == "1"
    assert [one.step for one in sdk.streams.snapshots(stream.id, after=0)] == [1, 2]

    report = sdk.streams.report(stream.id)
    assert [row.window_epsilon for row in report.rows] == ["0.5", "1", "1"]
    assert sdk.streams.report_markdown(stream.id).startswith("# Stream report")
    path = sdk.streams.download(stream.id, tmp_path / "home" / "stream.zip")
    with zipfile.ZipFile(path) as archive:
        assert "edges/step-000002.parquet" in archive.namelist()
    assert sdk.streams.close(stream.id).state == sdk.streams.get(stream.id).state == "closed"


def test_a_stream_from_plan_to_archive_in_a_shell(
    command: Command, tenant: Tenant, dataset_id: str, weeks: Path, tmp_path: Path
):
    arguments = (dataset_id, "--epsilon", "1", "--method", "psgraph")
    assert "at most epsilon 0.5 a step" in command("open", *arguments, "--dry-run").stdout
    stream = command.json("open", *arguments, "--label", "contacts", "--key", "mine")
    assert stream["id"] in command("show", "--dataset", dataset_id, "--state", "open").stdout

    sent = command.json("push", stream["id"], str(weeks), "--numbered")
    assert [one["step"] for one in sent] == [0, 1, 2]
    for one in sent:
        tenant.work(Topic.RUN, one["job_id"])
    again = command("push", stream["id"], str(weeks), "--numbered", "--wait")
    assert again.stdout.count("published") == 3

    shown = command("show", stream["id"]).stdout
    assert "waits for step 3, which begins at time 21" in shown
    assert "contacts" in shown
    report = command("report", stream["id"]).stdout
    assert "fullest window" in report
    file = tmp_path / "report.md"
    command("report", stream["id"], "--markdown", "--out", str(file))
    assert file.read_text().startswith("# Stream report")
    command("report", stream["id"], "--html", "--out", str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    path = tmp_path / "home.zip"
    assert str(path) in command("download", stream["id"], "--to", str(path)).stdout.replace("\n", "")
    assert zipfile.is_zipfile(path)
    assert "closed" in command("close", stream["id"]).stdout
    refused = command("push", stream["id"], "--empty", code=3)
    assert "stream-closed" in refused.stderr


def test_push_goes_on_where_the_stream_is(command: Command, tenant: Tenant, dataset_id: str, weeks: Path):
    stream_id = command.json("open", dataset_id, "--epsilon", "1", "--first-step", "4")["id"]
    files = [str(weeks / "week-1.csv"), str(weeks / "week-0.csv")]
    assert [one["step"] for one in command.json("push", stream_id, *files)] == [4, 5]
    assert [one["step"] for one in command.json("push", stream_id, "--empty")] == [6]
    early = command("push", stream_id, files[0], "--step", "9", code=3)
    assert "step 9 (week-1.csv) was not taken" in early.stderr
    assert "snapshot-early" in early.stderr


def test_a_refused_snapshot_is_explained(command: Command, tenant: Tenant, dataset_id: str, tmp_path: Path):
    stream_id = command.json("open", dataset_id, "--epsilon", "1")["id"]
    file = tmp_path / "bad.csv"
    file.write_text("source,target\n0,1\n5,999\n")
    [sent] = command.json("push", stream_id, str(file))
    tenant.work(Topic.RUN, sent["job_id"])
    refused = command("push", stream_id, str(file), "--step", "0", "--wait", code=1)
    assert "refused" in refused.stdout
    assert "999" in refused.stderr or ":3" in refused.stderr
    file.write_text("source,target\n0,1\n")
    [mended] = command.json("push", stream_id, str(file), "--step", "0")
    assert mended["number"] == 1


def test_waiting_sees_the_worker_publish(
    address: str, tenant: Tenant, dataset_id: str, weeks: Path, command: Command
):
    stream_id = command.json("open", dataset_id, "--epsilon", "1", "--method", "psgraph")["id"]
    [sent] = command.json("push", stream_id, str(weeks / "week-0.csv"))
    worker = threading.Timer(0.5, tenant.work, (Topic.RUN, sent["job_id"]))
    worker.start()
    patient = ("--wait", "--timeout", f"{PATIENCE_SECONDS:.0f}")
    found = command("push", stream_id, str(weeks / "week-0.csv"), "--step", "0", *patient)
    worker.join()
    assert "published" in found.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("push", "st_1"),
        ("push", "st_1", "--numbered", "--empty"),
        ("push", "st_1", str(ROOT / "README.md"), "--numbered", "--step", "1"),
        ("report", "st_1", "--out", "report.md"),
        ("report", "st_1", "--html", "--markdown"),
    ],
)
def test_a_wrong_command_line_is_refused_before_any_call(command: Command, arguments: tuple[str, ...]):
    command(*arguments, code=2)


def test_a_format_that_no_name_tells_is_asked_for(command: Command, dataset_id: str, tmp_path: Path):
    stream_id = command.json("open", dataset_id, "--epsilon", "1")["id"]
    file = tmp_path / "rows"
    file.write_text(week(0))
    assert "say which" in command("push", stream_id, str(file), code=2).stderr
    assert command.json("push", stream_id, str(file), "--format", "csv")[0]["step"] == 0


@pytest.mark.parametrize("delays", [False, True])
def test_the_example_splits_into_weeks_without_losing_a_row(tmp_path: Path, delays: bool):
    example = ROOT / "examples" / "us-flights"
    spec = importlib.util.spec_from_file_location("split_weeks", example / "split_weeks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.split(tmp_path, delays=delays)
    sent = 5 if delays else 4
    grid = json.loads((example / "schema.json").read_text())["time"]
    header, *rows = csv.reader((tmp_path / "known.csv").open())
    assert header == ["source", "target", "type", "time", "delay"]  # the upload must have what edges carry
    rows = [row[:sent] for row in rows]
    for step in range(grid["count"]):
        columns, *flights = csv.reader((tmp_path / "weeks" / f"week-{step:02}.csv").open())
        assert columns == header[:sent]  # a stream without values refuses their columns
        assert {int(row[3]) // grid["width"] for row in flights} == {step}
        rows += flights
    assert sorted(rows) == sorted(row[:sent] for row in list(csv.reader((example / "edges.csv").open()))[1:])
