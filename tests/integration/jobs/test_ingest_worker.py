"""The worker's side of an upload: a child validates it, and the version is ready, proposed or rejected."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from core.datasets import repository
from core.datasets.models import Dataset, DatasetVersion
from core.identity.service import Principal
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.datasets.register import NewDataset, confirm_schema, register_dataset
from core.workflows.datasets.upload import receive_part
from tests.support.releases import NODES, SCHEMA, ring_edges
from worker.kinds import base
from worker.process import WorkerProcess, open_process
from worker.work import take


def upload(services: Services, principal: Principal, dataset: Dataset, content: bytes) -> DatasetVersion:
    return receive_part(
        services, principal, dataset.id, part="edges", format="csv", options={}, chunks=[content], length=None
    )


def validated(process: WorkerProcess, version_id: str) -> DatasetVersion:
    assert take(process, Topic.INGEST, version_id, lambda: False)
    assert not take(process, Topic.INGEST, version_id, lambda: False)
    assert list(process.folder.glob("ingest-*")) == []
    with process.services.db.transaction() as session:
        version = repository.version(session, version_id)
    assert version is not None
    return version


def test_an_upload_becomes_ready_in_a_child(services: Services, principal: Principal) -> None:
    new = NewDataset(name="ring", unit="edge", epsilon="1", graph_schema=SCHEMA)
    dataset = register_dataset(services, principal, new)
    version = upload(services, principal, dataset, ring_edges())
    version = validated(open_process(services.settings), version.id)
    assert version.state == "ready"
    assert version.ingest_report is not None
    assert version.ingest_report["edges"]["edge"]["edges"] == 2 * NODES


def test_findings_reach_the_curator(services: Services, principal: Principal) -> None:
    new = NewDataset(name="ring", unit="edge", epsilon="1", graph_schema=SCHEMA)
    dataset = register_dataset(services, principal, new)
    version = upload(services, principal, dataset, b"source,target\n0,1\n0,999\n")
    version = validated(open_process(services.settings), version.id)
    assert version.state == "rejected"
    assert version.findings
    assert version.findings[0]["line"] == 3


def test_a_schema_is_proposed_confirmed_and_the_same_upload_becomes_ready(
    services: Services, principal: Principal
) -> None:
    dataset = register_dataset(services, principal, NewDataset(name="ring", unit="edge", epsilon="1"))
    version = upload(services, principal, dataset, ring_edges())
    process = open_process(services.settings)
    assert validated(process, version.id).state == "proposed"
    confirm_schema(services, principal, dataset.id, SCHEMA)
    assert validated(process, version.id).state == "ready"


def test_a_full_disk_of_one_worker_leaves_the_upload_to_another(
    services: Services, principal: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = NewDataset(name="ring", unit="edge", epsilon="1", graph_schema=SCHEMA)
    version = upload(services, principal, register_dataset(services, principal, new), ring_edges())
    process = open_process(services.settings)

    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(base, "write_private", full)
        assert take(process, Topic.INGEST, version.id, lambda: False)
    assert validated(process, version.id).state == "ready"


def test_a_validation_that_needs_too_much_is_given_up(services: Services, principal: Principal) -> None:
    new = NewDataset(name="ring", unit="edge", epsilon="1", graph_schema=SCHEMA)
    dataset = register_dataset(services, principal, new)
    version = upload(services, principal, dataset, ring_edges())
    process = open_process(services.settings.model_copy(update={"job_wall_seconds": 0.1}))
    version = validated(process, version.id)
    assert version.state == "rejected"
    assert version.ingest_report == {"message": "the validation took longer than one upload may take"}
