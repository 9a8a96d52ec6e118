"""The SDK against the service, over a socket."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from graphveil import Graphveil, ProblemError, WaitTimeout
from tests.integration.api.conftest import EDGES, SCHEMA, Tenant
from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture
def sdk(address: str, tenant: Tenant) -> Iterator[Graphveil]:
    with Graphveil(address, tenant.token(Role.CURATOR, Role.REQUESTER)) as connected:
        yield connected


@pytest.fixture
def house_sdk(address: str, house: Tenant) -> Iterator[Graphveil]:
    with Graphveil(address, house.token(Role.CURATOR, Role.REQUESTER)) as connected:
        yield connected


def noted(sent: list[tuple[int, int]], done: int, total: int) -> None:
    sent.append((done, total))


def test_a_partitioned_folder_goes_file_by_file_to_a_dataset_in_parts(
    sdk: Graphveil, tenant: Tenant, tmp_path: Path
):
    for name in ("day=1/a", "day=1/b", "day=2/c"):
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        first = 10 * (ord(path.stem) - ord("a"))
        pq.write_table(pa.table({"source": range(first, first + 9), "target": [59] * 9}), path)
    for source, edges in ((str(tmp_path), 27), (f"{tmp_path}/day=1*", 18)):
        sent: list[tuple[int, int]] = []
        dataset = sdk.register_dataset(
            f"sum {edges}", unit="edge", epsilon="2", graph_schema=SCHEMA, in_parts=True
        )
        received = sdk.upload(dataset.id, source, on_progress=partial(noted, sent))
        assert received.state == "queued"
        days = tmp_path.glob("*/*.parquet" if edges == 27 else "day=1/*.parquet")
        size = sum(path.stat().st_size for path in days)
        assert sent[-1] == (size, size)
        tenant.work(Topic.INGEST, received.id)
        assert sdk.wait_ready(dataset.id, timeout_seconds=PATIENCE_SECONDS).state == "ready"
        report = tenant.call("GET", f"/datasets/{dataset.id}").json()["version"]["ingest_report"]
        assert report["edges"]["mail"]["edges"] == edges


def test_from_door_to_door(sdk: Graphveil, tenant: Tenant, tmp_path: Path):
    dataset = sdk.register_dataset("contacts", unit="edge", epsilon="2", graph_schema=SCHEMA)
    file = tmp_path / "edges.csv"
    file.write_text(EDGES)
    sent: list[tuple[int, int]] = []
    received = sdk.upload(dataset.id, file, on_progress=lambda done, total: sent.append((done, total)))
    assert sent[-1] == (len(EDGES), len(EDGES))
    with pytest.raises(WaitTimeout):
        sdk.wait_ready(dataset.id, timeout_seconds=0)
    tenant.work(Topic.INGEST, received.id)
    assert sdk.wait_ready(dataset.id, timeout_seconds=PATIENCE_SECONDS).state == "ready"

    plan = sdk.plan(dataset.id, epsilon="0.5", method="psgraph")
    assert plan.budget_after.remaining.epsilon == "1.5"
    assert [line.query for line in plan.precision] == ["edge_count", "degrees"]
    job = sdk.submit(dataset.id, epsilon="0.5", formats=["graphml"], idempotency_key="mine")
    assert sdk.submit(dataset.id, epsilon="0.5", formats=["graphml"], idempotency_key="mine").id == job.id
    with pytest.raises(WaitTimeout):
        sdk.report(job.id)
    tenant.work(Topic.RUN, job.id)
    seen: list[str] = []
    ended = sdk.wait(job.id, on_progress=lambda job, step: seen.append(step.stage if step else job.state))
    assert ended.state == "published"
    assert seen
    assert sdk.report(job.id)["public"]["guarantee"]["epsilon"] == "0.5"
    for artifact in sdk.artifacts(job.id):
        path = sdk.download(job.id, artifact.name, tmp_path / "release" / artifact.name)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == artifact.sha256
    assert sdk.budget(dataset.id).charged.epsilon == "0.5"
    assert [entry.kind for entry in sdk.ledger(dataset.id)] == ["grant", "reserve", "charge"]
    sdk.archive(dataset.id)
    assert sdk.dataset(dataset.id).state == "archived"


def test_a_refusal_is_a_typed_error(house_sdk: Graphveil, ready_dataset: str):
    with pytest.raises(ProblemError) as caught:
        house_sdk.submit(ready_dataset, epsilon="1000")
    problem = caught.value
    assert (problem.slug, problem.status, problem.retryable) == ("budget-exceeded", 409, False)
    assert (problem.actionable_by, problem.members["requested"]) == ("curator", "1000")
    assert problem.request_id


def test_a_failed_job_has_no_report(house_sdk: Graphveil, ready_dataset: str):
    job = house_sdk.submit(ready_dataset, epsilon="1", repeat=True)
    assert house_sdk.cancel(job.id).state == "cancelled"
    assert house_sdk.wait(job.id).state == "cancelled"
    with pytest.raises(ProblemError, match="cancelled"):
        house_sdk.report(job.id)


def test_jobs_and_methods_are_listed(house_sdk: Graphveil, published_job: str):
    assert published_job in [job.id for job in house_sdk.jobs(state="published")]
    assert "psgraph" in [method.name for method in house_sdk.methods()]
    assert house_sdk.events(published_job)


def test_a_rejected_upload_says_why_to_its_curator(sdk: Graphveil, tenant: Tenant, tmp_path: Path):
    dataset = sdk.register_dataset("broken", unit="edge", epsilon="1", graph_schema=SCHEMA)
    file = tmp_path / "edges.csv"
    file.write_text("source,target\n0,1\n5,999\n")
    tenant.work(Topic.INGEST, sdk.upload(dataset.id, file).id)
    rejected = sdk.wait_ready(dataset.id)
    assert rejected.state == "rejected"
    assert rejected.version is not None
    assert rejected.version.findings is not None
    assert rejected.version.findings[0]["line"] == 3


def test_a_proposed_schema_is_confirmed(sdk: Graphveil, tenant: Tenant, tmp_path: Path):
    dataset = sdk.register_dataset("unknown", unit="edge", epsilon="1")
    file = tmp_path / "edges.csv"
    file.write_text(EDGES)
    version = sdk.upload(dataset.id, file).id
    tenant.work(Topic.INGEST, version)
    waiting = sdk.wait_ready(dataset.id)
    assert waiting.state == "proposed"
    assert waiting.proposed_schema is not None
    sdk.confirm_schema(dataset.id, waiting.proposed_schema)
    tenant.work(Topic.INGEST, version)
    assert sdk.wait_ready(dataset.id).state == "ready"
