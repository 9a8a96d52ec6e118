"""A service on a real S3 server: a file goes there in signed parts, and its release is fetched from there."""

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
from deploy.local.storage import BUCKET
from graphveil.sdk import direct
from graphveil.sdk.client import Graphveil
from tests.integration.api.conftest import EDGES, Tenant
from tests.support.seaweed import Seen
from tests.support.serving import serving
from worker.process import open_process

pytestmark = pytest.mark.extras

PART_BYTES = 5 * 2**20


@pytest.fixture
def office(prefix: str, settings: Settings) -> Iterator[tuple[Tenant, str]]:
    """A tenant of such a service, and the service's address."""
    stored = {"storage_url": f"s3://{BUCKET}/{prefix}", "upload_part_bytes": PART_BYTES}
    held = settings.model_copy(update=stored)
    opened = open_services(held)
    app = create_app(opened)
    with serving(app, held) as (_, (host, port)), TestClient(app) as http:
        yield Tenant(http, opened, open_process(held)), f"http://{host}:{port}"
    opened.close()


def large(folder: Path) -> Path:
    """Edges of two parts."""
    rows = EDGES.split("\n", 1)[1]
    file = folder / "edges.csv"
    file.write_text("source,target\n" + rows * (6 * 2**20 // len(rows)))
    return file


def test_from_a_file_in_parts_to_a_release(
    office: tuple[Tenant, str], seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, address = office
    file = large(tmp_path)
    monkeypatch.setattr(direct, "SMALLEST_BYTES", 2**20)
    dataset_id = tenant.register()["id"]
    with Graphveil(address, tenant.token(Role.CURATOR, Role.REQUESTER)) as service:
        told: list[tuple[int, int]] = []
        received = service.upload(dataset_id, file, on_progress=lambda *step: told.append(step))
        assert len(told) == 2
        assert list(seen.objects().values()) == [file.read_bytes()]
        tenant.work(Topic.INGEST, received.id)
        kept = seen.objects()
        assert kept
        assert not any(b"source,target" in data for data in kept.values())
        job = service.submit(dataset_id, epsilon="1", formats=["csv"])
        tenant.work(Topic.RUN, job.id)
        fetched = service.download(job.id, "edges.parquet", tmp_path / "edges.parquet").read_bytes()
    answer = tenant.call("GET", f"/jobs/{job.id}/artifacts/edges.parquet", follow_redirects=False)
    assert answer.status_code == 307
    located = answer.headers["Location"]
    assert httpx.get(located).content == fetched
    assert httpx.get(located.replace("edges.parquet?", "nodes.parquet?")).status_code == 403
    through = tenant.call("GET", f"/jobs/{job.id}/artifacts/edges.parquet?stream=true")
    assert (through.status_code, through.content) == (200, fetched)


def test_an_upload_that_the_bucket_refuses_is_given_up(
    office: tuple[Tenant, str], seen: Seen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, address = office
    monkeypatch.setattr(direct, "SMALLEST_BYTES", 1)
    dataset_id = tenant.register()["id"]
    begun = tenant.call("POST", f"/datasets/{dataset_id}/uploads", json={"size_bytes": len(EDGES)})
    assert begun.status_code == 201, begun.text
    assert len(seen.unfinished()) == 1
    assert tenant.call("DELETE", f"/datasets/{dataset_id}/uploads").status_code == 204
    assert seen.unfinished() == []
    with Graphveil(address, tenant.token(Role.CURATOR)) as service:
        monkeypatch.setattr(direct, "_put", lambda *_: '"0123456789abcdef0123456789abcdef"')
        with pytest.raises(Exception, match="not the ones that were put"):
            service.upload(dataset_id, large(tmp_path))
    assert (seen.unfinished(), seen.objects()) == ([], {})
