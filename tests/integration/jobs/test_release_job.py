"""One job from submission to download, on a real database and in a real child process."""

from __future__ import annotations

import dataclasses
import json

import pytest

from core.errors import JobNotFinished, NotFound
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.models import Job
from core.ledger import service as ledger
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.jobs import queries as job_queries
from core.workflows.releases import bundles
from core.workflows.releases import queries as release_queries
from tests.support.releases import job_row, queued_job, ready_dataset, spent, stored_keys, violations
from worker.process import open_process
from worker.work import take


def never() -> bool:
    return False


def test_a_transcript_that_cannot_be_checked_costs_the_job_its_budget(
    services: Services, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise TypeError("nobody thought of this")

    job = queued_job(services, principal, ready_dataset(services, principal).id)
    monkeypatch.setattr(bundles, "check_transcript", fails)
    assert take(open_process(services.settings), Topic.RUN, job.id, never)
    row = job_row(services, job.id)
    assert (row.state, row.reason) == ("failed", "privacy_violation")
    assert spent(services, job) == ("1", "0")


def test_a_job_of_a_method_that_this_worker_lacks_fails_and_costs_nothing(
    services: Services, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = queued_job(services, principal, ready_dataset(services, principal).id)
    with services.db.transaction() as session:
        row = session.get_one(Job, job.id)
        row.spec = row.spec | {"release": row.spec["release"] | {"method": "of_next_year"}}
    process = open_process(services.settings)
    for _ in range(services.settings.max_attempts):
        take(process, Topic.RUN, job.id, never)
    assert job_row(services, job.id).state == "failed"
    assert spent(services, job) == ("0", "0")


def test_a_job_is_published_charged_once_evaluated_and_served(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id, formats=["parquet", "graphml"], label="first")
    assert spent(services, job) == ("0", "1")
    with pytest.raises(JobNotFinished):
        release_queries.get_report(services, principal, job.id)

    process = open_process(services.settings)
    assert take(process, Topic.RUN, job.id, never)
    assert not take(process, Topic.RUN, job.id, never)  # a duplicate delivery

    row = job_row(services, job.id)
    assert (row.state, row.reason, row.attempt) == ("published", None, 1)
    assert row.leased_by is None
    assert spent(services, job) == ("1", "0")
    assert stored_keys(services, "staging") == []
    assert list(process.folder.glob("release-*")) == []

    requester = dataclasses.replace(principal, roles=frozenset({Role.REQUESTER}))
    files = release_queries.listed(services, requester, job.id).items
    # Whether nodes are grouped hangs on what was read.
    assert [a.name for a in files if a.name != "measurement_groups.parquet"] == [
        "edges.parquet", "graph.graphml", "measurements.json", "measurements.parquet", "nodes.parquet",
        "public.json", "schema.json",
    ]  # fmt: skip
    artifact, chunks = release_queries.open_artifact(services, requester, job.id, "edges.parquet")
    assert len(b"".join(chunks)) == artifact.size_bytes
    with services.db.transaction() as session:
        entry = ledger.terminal_of(session, row.reservation_id)
    assert entry is not None
    assert entry.kind == "charge"
    assert entry.digests["edges.parquet"] == artifact.sha256
    assert "private/alignment.parquet" in entry.digests
    for hidden in ("private/alignment.parquet", "curator.json", "nothing"):
        with pytest.raises(NotFound):
            release_queries.open_artifact(services, requester, job.id, hidden)

    report = release_queries.get_report(services, requester, job.id)
    assert "curator" not in report
    assert report["public"]["guarantee"]["epsilon"] == "1"
    assert report["public"]["charge"]["charged"] == {"epsilon": 10**9}
    assert report["public"]["charge"]["remaining_epsilon"] == "3"
    assert report["public"]["charge"]["charged_at"] is None
    # What was stored with the release is served as it is, with the charge and the dataset's name.
    _, chunks = release_queries.open_artifact(services, requester, job.id, "public.json")
    stored = json.loads(b"".join(chunks))
    assert (stored["charge"], stored["provenance"]["dataset_name"]) == (None, None)
    stored["charge"] = report["public"]["charge"]
    stored["provenance"]["dataset_name"] = report["public"]["provenance"]["dataset_name"]
    assert report["public"] == stored
    assert release_queries.get_report(services, principal, job.id)["curator"] == {"status": "pending"}

    assert take(process, Topic.EVALUATE, job.id, never)
    curator = release_queries.get_report(services, principal, job.id)["curator"]
    assert curator["status"] == "done"
    assert "comparison" in curator
    sealed = next(key for key in stored_keys(services, f"releases/{job.id}") if "evaluation" in key)
    assert b"comparison" not in b"".join(services.store.get(sealed))
    _, chunks = release_queries.open_artifact(services, principal, job.id, "curator.json")
    assert "comparison" in json.loads(b"".join(chunks))
    with pytest.raises(NotFound):
        release_queries.open_artifact(services, requester, job.id, "curator.json")

    seen = job_queries.get_job(services, requester, job.id)
    assert (seen.started_at, seen.finished_at, seen.attempt, seen.evaluation) == (None,) * 4
    assert seen.run_time == "under 1 minute"
    assert seen.label == "first"
    stages = [event.stage for event in job_queries.events(services, requester, job.id)]
    assert stages[0] == "load"
    assert stages[-1] == "describe"
    assert all(event.created_at is None for event in job_queries.events(services, requester, job.id))
    assert violations(services) == []
