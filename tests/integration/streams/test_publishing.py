"""A stream through the worker's own code: every tick is charged, carried on, compared and downloadable."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sqlalchemy import select

from core.datasets import vault
from core.errors import JobNotFinished, NotFound
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs import repository as jobs
from core.jobs.models import JobReason
from core.ledger import service as ledger
from core.outbox.models import OutboxMessage, Topic
from core.privacy.accounting.plan import SET_ASIDE, SINCE_BEFORE
from core.storage.sealed import MAGIC, seal
from core.workflows.common.context import Services
from core.workflows.releases import queries as release_queries
from core.workflows.releases.publish import begin_job, fail_job, seal_context
from core.workflows.releases.tick_work import _fetch_previous, _snapshot
from core.workflows.streams.queries import combined, list_snapshots
from core.workflows.streams.report import stream_report
from tests.support.inline import taken
from tests.support.releases import stored_keys, violations
from tests.support.streams import (
    WINDOW,
    ledger_spent,
    open_stream,
    publish,
    seen,
    send,
    stream_dataset,
    work_off,
)

BAD = b"source,target\n0,99\n"


@pytest.fixture
def requester() -> Principal:
    return Principal(tenant="acme", key_id="key_reader", name="reader", roles=frozenset({Role.REQUESTER}))


def test_a_stream_from_its_opening_to_its_download(
    services: Services, principal: Principal, requester: Principal, tmp_path: Path
) -> None:
    dataset = stream_dataset(services, principal)
    stream = open_stream(services, principal, dataset.id)
    assert (stream.window, stream.step_epsilon, stream.next_step) == (WINDOW, "1", 0)
    with pytest.raises(JobNotFinished):
        combined(services, requester, stream.id)
    for step in range(3):
        view, repeated = send(services, principal, stream, step, b"" if step == 1 else None)
        assert (view.state, repeated, view.starts_at, view.ends_at) == (
            "queued",
            False,
            100 + 10 * step,
            110 + 10 * step,
        )
        take_it = publish if step else work_off  # the first by processes, the others without
        assert take_it(services, view.job_id)
        view = seen(services, principal, stream, step)
        assert (view.state, view.epsilon, view.findings) == ("published", "1", None)
        assert ledger_spent(services, view.job_id) == 10**9
        measured = {"measurements.json", "measurements.parquet", "measurement_groups.parquet"}
        tables = {"nodes.parquet", "edges.parquet", "schema.json", "public.json"}
        assert set(view.artifacts) - measured == tables
        assert stored_keys(services, "uploads") == []

    # every file, the state too, is named by the charge; private ones are sealed
    job_ids = [seen(services, principal, stream, step).job_id for step in range(3)]
    for job_id in job_ids:
        with services.db.transaction() as session:
            files = {file.name: file for file in jobs.artifacts(session, job_id)}
            entry = ledger.terminal_of(session, jobs.by_id(session, job_id).reservation_id)
        states = [name for name in files if name.startswith("private/state/")]
        assert states
        assert {name: file.sha256 for name, file in files.items()} == dict(entry.digests)
        for name in (*states, "private/alignment.parquet"):
            assert files[name].encrypted
            assert next(iter(services.store.get(files[name].object_key))).startswith(MAGIC)
            with pytest.raises(NotFound):
                release_queries.open_artifact(services, principal, job_id, name)

    # a tick follows from those before it: its report promises what the stream does, and names its own charge
    public = release_queries.get_report(services, requester, job_ids[2])["public"]
    assert (public["guarantee"]["unit"], public["guarantee"]["epsilon"]) == ("w-event", "3")
    assert (public["provenance"]["stream_id"], public["provenance"]["step"]) == (stream.id, 2)
    assert "one_snapshot_of_a_stream" in {notice["code"] for notice in public["caveats"]}
    assert public["charge"]["charged_epsilon"] == "1"

    assert publish(services, job_ids[2], Topic.EVALUATE)
    report = stream_report(services, principal, stream.id)
    assert [row.epsilon for row in report.rows] == ["1"] * 3
    assert [row.window_epsilon for row in report.rows] == ["1", "2", "3"]
    assert (report.worst_window.charged, report.capacity) == ("3", "3")
    assert report.counts == {"published": 3}
    assert all(row.statistics is not None for row in report.rows)
    assert [row.comparison is None for row in report.rows] == [True, True, False]
    compared = report.rows[2].comparison
    assert compared is not None
    assert compared["density_error"] is not None
    assert compared["degree_total_variation"] is not None
    assert "top_eigenvector_overlap" in compared
    assert "edge_overlap" not in compared  # the suite quick does not measure it: no column of dashes
    assert set(compared) <= set(report.metrics)
    assert all(row.comparison is None for row in stream_report(services, requester, stream.id).rows)
    assert "w = 3" in report.statement

    content = b"".join(combined(services, requester, stream.id))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path)
        assert {line.compress_type for line in archive.infolist()} == {zipfile.ZIP_STORED}
    index = json.loads((tmp_path / "index.json").read_text())
    assert [(line["step"], line["job_id"], line["epsilon"]) for line in index["steps"]] == [
        (step, job_id, "1") for step, job_id in enumerate(job_ids)
    ]
    grid = json.loads((tmp_path / "schema.json").read_text())["time"]
    assert (grid["start"], grid["width"], grid["count"]) == (100, 10, 3)
    assert len(list((tmp_path / "edges").iterdir())) == 3
    table = ds.dataset(tmp_path / "edges").to_table()
    assert table.num_rows == sum(row.statistics["edges"] for row in report.rows)
    assert set(table["step"].to_pylist()) <= {0, 1, 2}  # a noisy count may be zero
    names = set(pq.read_table(tmp_path / "nodes.parquet")["id"].to_pylist())
    assert set(table["source"].to_pylist()) <= names
    with zipfile.ZipFile(io.BytesIO(b"".join(combined(services, requester, stream.id, 1, 2)))) as archive:
        assert "edges/step-000001.parquet" in archive.namelist()
        assert "edges/step-000000.parquet" not in archive.namelist()
    assert violations(services) == []


def read_at(services: Services, job_id: str) -> set[str]:
    """What the job's transcript says was read, or set aside, by purpose."""
    with services.db.transaction() as session:
        return {entry["purpose"] for entry in jobs.published_reads(session, job_id)}


def test_two_steps_are_read_together_where_the_first_was_published(
    services: Services, principal: Principal
) -> None:
    """By the clock of a window of 3 at steps 1 and 4; without the step before, half bought nothing."""
    dataset = stream_dataset(services, principal)
    whole = open_stream(services, principal, dataset.id, "s1", method="keyframe", epsilon="1.5")
    late = open_stream(services, principal, dataset.id, "s2", method="keyframe", epsilon="1.5", first_step=1)
    read: dict[tuple[str, int], set[str]] = {}
    for stream, steps in ((whole, range(5)), (late, range(1, 5))):
        for step in steps:
            view, _ = send(services, principal, stream, step)
            assert publish(services, view.job_id)
            assert seen(services, principal, stream, step).state == "published"
            read[stream.id, step] = read_at(services, view.job_id)
    for stream, kept in ((whole, {1, 4}), (late, {4})):
        assert {at for (own, at), found in read.items() if own == stream.id and SINCE_BEFORE in found} == kept
    asked = {at for (own, at), found in read.items() if own == whole.id and SET_ASIDE in found}
    assert asked == {0, 3}
    report = stream_report(services, principal, whole.id)
    assert all(float(row.window_epsilon) <= 3 for row in report.rows)  # both streams
    assert violations(services) == []


def test_nodes_keep_their_names_over_a_stream(services: Services, principal: Principal) -> None:
    dataset = stream_dataset(services, principal)
    streams = [open_stream(services, principal, dataset.id, f"s{n}", epsilon="1.5") for n in range(2)]
    orders: dict[int, list[str]] = {0: [], 1: []}
    for step in range(2):
        for number, stream in enumerate(streams):
            view, _ = send(services, principal, stream, step)
            assert publish(services, view.job_id)
            orders[number].append(alignment(services, view.job_id))
    assert orders[0][0] == orders[0][1]
    assert orders[1][0] == orders[1][1]
    assert orders[0][0] != orders[1][0]  # another stream, other names


def test_while_nothing_is_published_a_stream_s_ticks_run_one_at_a_time(
    services: Services, principal: Principal
) -> None:
    """Each would draw names of its own."""
    dataset = stream_dataset(services, principal)
    stream = open_stream(services, principal, dataset.id)
    bad, _ = send(services, principal, stream, 0, BAD)
    second, _ = send(services, principal, stream, 1)
    assert publish(services, bad.job_id)
    running = begin_job(services, second.job_id, "tests")
    assert running is not None
    mended, _ = send(services, principal, stream, 0)
    assert begin_job(services, mended.job_id, "others") is None
    fail_job(services, running, JobReason.GENERATOR_FAILED)
    assert rung(services)[-1] == mended.job_id
    assert begin_job(services, mended.job_id, "others") is not None


def alignment(services: Services, job_id: str) -> str:
    """The digest of the names that the job gave the nodes."""
    with services.db.transaction() as session:
        found = jobs.artifact(session, job_id, "private/alignment.parquet")
    assert found is not None
    return found.sha256


def test_a_tick_waits_for_the_one_before_it_and_rings_the_next(
    services: Services, principal: Principal
) -> None:
    dataset = stream_dataset(services, principal)
    stream = open_stream(services, principal, dataset.id)
    first, _ = send(services, principal, stream, 0)
    second, _ = send(services, principal, stream, 1)
    # The second's own message too: the first may be ending, in a transaction that does not see the second.
    assert sorted(rung(services)) == sorted([first.job_id, first.job_id, second.job_id])
    assert not publish(services, second.job_id)
    assert publish(services, first.job_id)
    assert rung(services)[-1] == second.job_id
    assert publish(services, second.job_id)


def test_a_step_sent_late_keeps_the_names_and_builds_on_what_came_before_it(
    services: Services, principal: Principal
) -> None:
    dataset = stream_dataset(services, principal)
    stream = open_stream(services, principal, dataset.id)
    views = [send(services, principal, stream, step, BAD if step in (0, 2) else None)[0] for step in range(3)]
    for view in views:
        assert publish(services, view.job_id)
    views += [send(services, principal, stream, step)[0] for step in (0, 2, 3)]
    for view in views[3:]:
        assert publish(services, view.job_id)
    assert [view.state for view in list_snapshots(services, principal, stream.id).items] == ["published"] * 4
    jobs_of = [seen(services, principal, stream, step).job_id for step in range(4)]
    assert len({alignment(services, job_id) for job_id in jobs_of}) == 1
    built_on = [fetched_state(services, job_id, dataset.id) / "state" / "state.json" for job_id in jobs_of]
    assert not built_on[0].exists()  # step 1 is later: of it only the names
    # Step 1 found nothing before it when it ran; steps 2 and 3 found the step right before them.
    assert [json.loads(path.read_text())["step"] for path in built_on[2:]] == [1, 2]
    content = b"".join(combined(services, principal, stream.id))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert [line["step"] for line in json.loads(archive.read("index.json"))["steps"]] == [0, 1, 2, 3]


def fail_the_release(kind: str) -> None:
    if kind == "release":
        raise MemoryError


def test_a_failed_tick_is_charged_and_the_next_goes_on_from_the_last_published_state(
    services: Services, principal: Principal
) -> None:
    dataset = stream_dataset(services, principal)
    stream = open_stream(services, principal, dataset.id)
    views = []
    for step in range(3):
        view, _ = send(services, principal, stream, step)
        views.append(view)
        assert taken(services.settings, Topic.RUN, view.job_id, fail_the_release if step == 1 else None)
    failed = seen(services, principal, stream, 1)
    assert (failed.state, failed.reason, failed.epsilon) == ("failed", "memory_exceeded", "1")
    assert ledger_spent(services, failed.job_id) == 10**9
    assert seen(services, principal, stream, 2).state == "published"
    third = fetched_state(services, views[2].job_id, dataset.id)
    assert json.loads((third / "state" / "state.json").read_text())["step"] == 0
    page = list_snapshots(services, principal, stream.id, limit=2)
    rest = list_snapshots(services, principal, stream.id, limit=2, cursor=page.next_cursor)
    assert [[view.step for view in one.items] for one in (page, rest)] == [[0, 1], [2]]
    assert violations(services) == []


def fetched_state(services: Services, job_id: str, dataset_id: str) -> Path:
    """What the job finds of the snapshots before it."""
    row, key = _snapshot(services, job_id, dataset_id)
    folder = services.settings.work_folder / f"look-{row.step}"
    _fetch_previous(services, row, key, folder)
    return folder


def rung(services: Services) -> list[str]:
    """Which jobs the doorbell was rung for, in order."""
    with services.db.transaction() as session:
        query = select(OutboxMessage.subject_id).where(OutboxMessage.topic == Topic.RUN)
        return list(session.scalars(query.order_by(OutboxMessage.id)))


def test_a_state_that_its_charge_does_not_name_is_not_used(services: Services, principal: Principal) -> None:
    dataset = stream_dataset(services, principal)
    stream = open_stream(services, principal, dataset.id)
    first, _ = send(services, principal, stream, 0)
    second, _ = send(services, principal, stream, 1)
    assert publish(services, first.job_id)
    name = "private/state/state.json"
    with services.db.transaction() as session:
        key = vault.content_key(session, dataset.id, services.settings.master_key)
        file = jobs.artifact(session, first.job_id, name)
        assert file is not None
    forged = seal([b"{}"], key, context=seal_context(first.job_id, name))
    services.store.put(file.object_key, forged)
    assert publish(services, second.job_id)
    view = seen(services, principal, stream, 1)
    assert (view.state, view.epsilon) == ("queued", "1")  # given back: the storage is at fault
    assert ledger_spent(services, second.job_id) == 10**9


def test_a_method_without_a_state_publishes_a_stream_too(services: Services, principal: Principal) -> None:
    dataset = stream_dataset(services, principal)
    stream = open_stream(services, principal, dataset.id, method="auto")
    assert stream.chosen_because
    plain = open_stream(services, principal, dataset.id, "s2", method="edgerand", epsilon="0.3", first_step=9)
    for step, each in ((0, stream), (1, stream), (9, plain), (10, plain)):
        view, _ = send(services, principal, each, step)
        assert publish(services, view.job_id)
        assert seen(services, principal, each, step).state == "published"
    report = release_queries.get_report(services, principal, seen(services, principal, stream, 0).job_id)
    assert report["public"]["provenance"]["chosen_because"] == stream.chosen_because
    with services.db.transaction() as session:
        names = [file.name for file in jobs.artifacts(session, seen(services, principal, plain, 10).job_id)]
    assert not [name for name in names if name.startswith("private/state/")]
    assert violations(services) == []
