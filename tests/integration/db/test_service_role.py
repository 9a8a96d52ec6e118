"""The whole life of a dataset and of its jobs, done with the rights of ``graphveil_app`` and no others."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr
from sqlalchemy import func, make_url, update

from core.datasets.models import Dataset, DatasetVersion
from core.identity.service import Principal
from core.jobs.models import Job
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.datasets.queries import get_dataset
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.datasets.upload import receive_part
from core.workflows.jobs import cancel
from core.workflows.operations import recover
from core.workflows.operations.archive import archive_dataset
from core.workflows.releases import publish
from tests.support.postgres import PostgresCluster
from tests.support.releases import SCHEMA, job_row, queued_job, ready_dataset, violations
from worker.process import open_process
from worker.work import take

pytestmark = pytest.mark.extras

ROLES = Path(__file__).resolve().parents[3] / "deploy" / "postgres" / "roles.sql"


@pytest.fixture
def role_settings(postgres_cluster: PostgresCluster, tmp_path: Path) -> Iterator[Settings]:
    name = postgres_cluster.create()
    url = make_url(postgres_cluster.address(name))
    with psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False)) as owner:
        owner.execute(ROLES.read_bytes())
    yield Settings(
        database_url=url.set(username="graphveil_app").render_as_string(hide_password=False),
        storage_url=(tmp_path / "objects").as_uri(),
        master_key=secrets.token_hex(32),
        fingerprint_key=secrets.token_hex(32),
        work_folder=tmp_path / "work",
    )
    postgres_cluster.drop(name)


def broken_upload(services: Services, principal: Principal, dataset_id: str) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"source,target\n"
        raise ConnectionResetError("the sender left")

    with pytest.raises(ConnectionResetError):
        receive_part(
            services,
            principal,
            dataset_id,
            part="edges",
            format="csv",
            options={},
            chunks=chunks(),
            length=None,
        )


def test_the_service_needs_no_more_than_its_role(role_settings: Settings, principal: Principal) -> None:
    process = open_process(role_settings)
    services = process.services

    empty = register_dataset(
        services, principal, NewDataset(name="empty", unit="edge", epsilon="1", graph_schema=SCHEMA)
    )
    broken_upload(services, principal, empty.id)
    assert get_dataset(services, principal, empty.id).state == "registered"

    dataset = ready_dataset(services, principal, epsilon="10")
    published = queued_job(services, principal, dataset.id, "published")
    assert take(process, Topic.RUN, published.id, lambda: False)
    assert job_row(services, published.id).state == "published"
    assert take(process, Topic.EVALUATE, published.id, lambda: False)

    lost, stopped = (queued_job(services, principal, dataset.id, key) for key in ("lost", "stopped"))
    publish.begin_job(services, lost.id, "w1")
    with services.db.transaction() as session:
        past = func.now() - func.make_interval(0, 0, 0, 1)
        session.execute(update(Job).where(Job.id == lost.id).values(lease_expires_at=past))
        session.get_one(Dataset, empty.id).state = "uploading"
        version = DatasetVersion(id="dv_stale", dataset_id=empty.id, number=1, state="uploading")
        version.upload_token, version.upload_expires_at = "t", past
        session.add(version)
    cancel.cancel_job(services, principal, stopped.id)
    keyless = role_settings.model_copy(update={"master_key": SecretStr(""), "fingerprint_key": SecretStr("")})
    reaper = open_services(keyless)  # as deploy hands it out: it opens no graph
    for duty in recover.DUTIES.values():
        duty(reaper)
    reaper.close()
    assert job_row(services, lost.id).state == "queued"
    with services.db.transaction() as session:
        assert session.get(DatasetVersion, "dv_stale") is None

    archive_dataset(services, principal, dataset.id)
    assert job_row(services, lost.id).state == "cancelled"
    assert violations(services) == []
    services.close()
