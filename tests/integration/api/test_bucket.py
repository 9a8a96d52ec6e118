"""A service whose storage is an S3 bucket: large files go there directly, releases are fetched from there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from api.app import create_app
from core.identity.models import Role
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import open_services
from graphveil.sdk import direct
from graphveil.sdk.client import Graphveil
from tests.integration.api.conftest import EDGES, Tenant
from tests.support.s3_server import Bucket, bucket_of_settings
from tests.support.serving import serving
from worker.process import open_process

pytestmark = pytest.mark.extras


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket_of_settings(monkeypatch) as bucket:
        yield bucket


@pytest.fixture
def office(bucket: Bucket, settings: Settings) -> Iterator[tuple[Tenant, str]]:
    """A tenant of such a service, and the service's address."""
    held = settings.model_copy(update={"storage_url": "s3://graphs/g", "upload_part_bytes": 5 * 2**20})
    opened = open_services(held)
    app = create_app(opened)
    with serving(app, held) as (_, (host, port)), TestClient(app) as http:
        yield Tenant(http, opened, open_process(held)), f"http://{host}:{port}"
    opened.close()


def test_from_a_large_file_to_a_release_past_the_service(
    office: tuple[Tenant, str], bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, address = office
    rows = EDGES.split("\n", 1)[1]
    file = tmp_path / "edges.csv"
    file.write_text("source,target\n" + rows * (6 * 2**20 // len(rows)))
    monkeypatch.setattr(direct, "SMALLEST_BYTES", 2**20)
    dataset_id = tenant.register()["id"]
    with Graphveil(address, tenant.token(Role.CURATOR, Role.REQUESTER)) as service:
        told: list[tuple[int, int]] = []
        received = service.upload(dataset_id, file, on_progress=lambda *step: told.append(step))
        assert received.state == "queued"
        assert told[-1] == (file.stat().st_size, file.stat().st_size)
        assert len(told) == 2
        tenant.work(Topic.INGEST, received.id)
        assert not any(b"source,target" in data for data in bucket.objects.values())
        job = service.submit(dataset_id, epsilon="1", formats=["csv"])
        tenant.work(Topic.RUN, job.id)
        fetched = service.download(job.id, "edges.parquet", tmp_path / "edges.parquet")
        assert fetched.stat().st_size > 0
    answer = tenant.call("GET", f"/jobs/{job.id}/artifacts/edges.parquet", follow_redirects=False)
    assert answer.status_code == 307
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Location"].startswith("http://127.0.0.1")
    assert httpx.get(answer.headers["Location"]).content == fetched.read_bytes()
    through = tenant.call("GET", f"/jobs/{job.id}/artifacts/edges.parquet?stream=true")
    assert (through.status_code, through.content) == (200, fetched.read_bytes())


def test_nobody_is_sent_to_a_bucket_that_only_the_service_reaches(
    bucket: Bucket, settings: Settings, tmp_path: Path
) -> None:
    alone = {"presigned_seconds": 0, "presigned_upload_seconds": 0}
    held = settings.model_copy(update={"storage_url": "s3://graphs/g", **alone})
    opened = open_services(held)
    with TestClient(create_app(opened)) as http:
        tenant = Tenant(http, opened, open_process(held))
        dataset_id = tenant.register()["id"]
        refused = tenant.call("POST", f"/datasets/{dataset_id}/uploads", json={"size_bytes": 100})
        assert (refused.status_code, refused.json()["type"].rsplit("/", 1)[-1]) == (409, direct.UNAVAILABLE)
        tenant.work(Topic.INGEST, tenant.upload(dataset_id).json()["id"])
        asked = {"dataset_id": dataset_id, "epsilon": "1", "formats": ["csv"]}
        job = tenant.call("POST", "/jobs", json=asked, headers={"Idempotency-Key": "k"}).json()
        tenant.work(Topic.RUN, job["id"])
        answer = tenant.call("GET", f"/jobs/{job['id']}/artifacts/edges.parquet", follow_redirects=False)
        assert answer.status_code == 200, answer.text
    opened.close()


def test_an_upload_that_the_bucket_refuses_is_given_up(
    office: tuple[Tenant, str], bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, address = office
    file = tmp_path / "edges.csv"
    file.write_text(EDGES)
    monkeypatch.setattr(direct, "SMALLEST_BYTES", 1)
    dataset_id = tenant.register()["id"]
    begun = tenant.call("POST", f"/datasets/{dataset_id}/uploads", json={"size_bytes": len(EDGES)})
    assert begun.status_code == 201, begun.text
    assert tenant.call("DELETE", f"/datasets/{dataset_id}/uploads").status_code == 204
    assert bucket.uploads == {}
    with Graphveil(address, tenant.token(Role.CURATOR)) as service:
        monkeypatch.setattr(direct, "_put", lambda *_: '"another"')
        with pytest.raises(Exception, match="not the ones that were put"):
            service.upload(dataset_id, file)
    assert (bucket.uploads, bucket.objects) == ({}, {})
    assert tenant.upload(dataset_id).status_code == 200
