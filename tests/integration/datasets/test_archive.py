"""Archiving erases the content and keeps the accounts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select

from core.datasets import vault
from core.datasets.models import ContentFingerprint, DatasetKey, DatasetPart
from core.errors import DatasetNotReady, InvalidTransition, LeaseLost, NotFound, StorageError
from core.outbox.models import Topic
from core.storage.sealed import unseal
from core.workflows.datasets import ingest, queries
from core.workflows.datasets.register import confirm_schema
from core.workflows.jobs.queries import get_job
from core.workflows.jobs.submit import JobRequest, submit_job
from core.workflows.operations import leased
from core.workflows.operations.archive import archive_dataset
from tests.integration.datasets.conftest import SCHEMA, Curator


def test_the_content_is_erased_and_the_ledger_kept(curator: Curator, tmp_path: Path) -> None:
    dataset, other = curator.ready(name="one"), curator.ready(b"source,target\n0,5\n", name="two")
    services = curator.services
    key = next(key for key in curator.objects() if dataset.id in key)
    backup = b"".join(services.store.get(key))
    view = queries.get_dataset(services, curator.principal, dataset.id)
    assert view.version is not None

    archived = archive_dataset(services, curator.principal, dataset.id)
    assert archived.archived_at is not None
    view = queries.get_dataset(services, curator.principal, dataset.id)
    assert (view.state, view.current_version, view.proposed_schema) == ("archived", None, None)
    assert view.version is not None
    assert (view.version.state, view.version.parts) == ("erased", ())
    assert view.version.ingest_report is None
    assert all(other.id in left for left in curator.objects())
    with pytest.raises(StorageError):
        services.store.get(key)
    with pytest.raises(NotFound):
        ingest.fetch_graph(services, dataset.id, view.version.id, tmp_path / "graph")
    with services.db.transaction() as session:
        with pytest.raises(NotFound):
            vault.content_key(session, dataset.id, services.settings.master_key)
        others_key = vault.content_key(session, other.id, services.settings.master_key)
        assert session.scalars(select(DatasetKey.dataset_id)).all() == [other.id]
        assert session.scalar(select(func.count()).select_from(ContentFingerprint)) == 2
        assert len({part.version_id for part in session.scalars(select(DatasetPart))}) == 1
    with pytest.raises(StorageError):  # a copy of the bytes is of no use without the key
        b"".join(unseal([backup], others_key, context=key))
    assert [entry.kind for entry in queries.ledger(services, curator.principal, dataset.id).items] == [
        "grant"
    ]
    ingest.fetch_graph(services, other.id, _current(curator, other.id), tmp_path / "other")


def _current(curator: Curator, dataset_id: str) -> str:
    view = queries.get_dataset(curator.services, curator.principal, dataset_id)
    assert view.version is not None
    return view.version.id


def test_archiving_again_deletes_what_was_left(curator: Curator) -> None:
    dataset = curator.ready()
    archive_dataset(curator.services, curator.principal, dataset.id)
    curator.services.store.put(f"datasets/{dataset.id}/left/over", [b"x"])
    archive_dataset(curator.services, curator.principal, dataset.id)
    assert curator.objects() == []


def test_jobs_that_wait_are_cancelled_and_their_budget_is_free(curator: Curator) -> None:
    dataset = curator.ready()
    request = JobRequest(dataset_id=dataset.id, epsilon="0.5")
    job, _ = submit_job(curator.services, curator.principal, request, "key-1")
    assert queries.budget(curator.services, curator.principal, dataset.id).reserved.nano_epsilon == 5 * 10**8
    archive_dataset(curator.services, curator.principal, dataset.id)
    ended = get_job(curator.services, curator.principal, job.id)
    assert (ended.state, ended.reason) == ("cancelled", "dataset_archived")
    assert queries.budget(curator.services, curator.principal, dataset.id).reserved.nano_epsilon == 0
    with pytest.raises(DatasetNotReady):
        submit_job(curator.services, curator.principal, request, "key-2")


def test_an_archived_dataset_takes_nothing(curator: Curator) -> None:
    dataset = curator.register()
    archive_dataset(curator.services, curator.principal, dataset.id)
    with pytest.raises(InvalidTransition):
        curator.send(dataset)
    with pytest.raises(InvalidTransition):
        confirm_schema(curator.services, curator.principal, dataset.id, SCHEMA)


def test_a_validation_under_way_stops(curator: Curator) -> None:
    dataset = curator.register()
    version = curator.send(dataset)
    work = curator.begin(version)
    archive_dataset(curator.services, curator.principal, dataset.id)
    with pytest.raises(LeaseLost):
        leased.heartbeat(curator.services, Topic.INGEST, work.version_id, work.attempt)
    work.graph_folder.mkdir()
    (work.graph_folder / "schema.json").write_text(SCHEMA.model_dump_json())
    with pytest.raises(LeaseLost):
        ingest.finish_ingest(curator.services, work, {"fingerprint": "00"})
    with pytest.raises(LeaseLost):
        ingest.reject_ingest(curator.services, work, [], "late")
    assert not work.folder.exists()
    assert curator.objects() == []
    assert ingest.begin_ingest(curator.services, version.id, "worker") is None


def test_another_tenant_cannot_archive(curator: Curator) -> None:
    dataset = curator.ready()
    with pytest.raises(NotFound):
        archive_dataset(curator.services, replace(curator.principal, tenant="other"), dataset.id)
    assert queries.get_dataset(curator.services, curator.principal, dataset.id).state == "ready"
