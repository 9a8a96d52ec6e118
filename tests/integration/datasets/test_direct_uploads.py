"""Files put straight into the bucket by their sender: the same places, limits and recovery as any upload."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select, update

from core.datasets.models import DatasetPart, DatasetVersion, DirectUpload
from core.errors import (
    Conflict,
    DirectUploadUnavailable,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
    UnknownFormat,
)
from core.identity.service import Principal
from core.storage.store import open_store
from core.workflows.common.context import Services
from core.workflows.datasets import direct_uploads
from core.workflows.datasets.upload import recover_uploads
from core.workflows.operations import recover
from core.workflows.operations.archive import archive_dataset
from tests.integration.datasets.conftest import EDGES, Curator
from tests.support.s3_server import Bucket, bucket_of_settings

pytestmark = pytest.mark.extras

PART_BYTES = 20


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket_of_settings(monkeypatch) as bucket:
        yield bucket


@pytest.fixture
def sender(services: Services, principal: Principal, bucket: Bucket) -> Curator:
    """A curator of a service whose storage is a bucket, with parts of a few bytes."""
    settings = services.settings.model_copy(update={"upload_part_bytes": PART_BYTES, "max_upload_bytes": 200})
    return Curator(replace(services, store=open_store("s3://graphs/p"), settings=settings), principal)


def begin(curator: Curator, dataset_id: str, size: int = len(EDGES), **changes: Any) -> direct_uploads.Offer:
    asked: dict[str, Any] = {"part": "edges", "format": "csv", "options": {}, "size_bytes": size} | changes
    return direct_uploads.begin_direct(curator.services, curator.principal, dataset_id, **asked)


def put(offer: direct_uploads.Offer, data: bytes = EDGES) -> list[str]:
    pieces = [data[start : start + offer.part_bytes] for start in range(0, len(data), offer.part_bytes)]
    return [
        httpx.put(url, content=piece).raise_for_status().headers["ETag"]
        for url, piece in zip(offer.urls, pieces, strict=True)
    ]


def complete(
    curator: Curator, dataset_id: str, offer: direct_uploads.Offer, etags: list[str]
) -> DatasetVersion:
    return direct_uploads.complete_direct(
        curator.services, curator.principal, dataset_id, offer.upload_id, etags
    )


def rows(curator: Curator, model: type) -> list[Any]:
    with curator.services.db.transaction() as session:
        return list(session.scalars(select(model)))


def test_the_parts_are_sealed_and_become_a_version(sender: Curator, bucket: Bucket) -> None:
    dataset = sender.register()
    offer = begin(sender, dataset.id)
    assert len(offer.urls) == -(-len(EDGES) // PART_BYTES)
    version = complete(sender, dataset.id, offer, put(offer))
    assert version.state == "queued"
    assert any(data == EDGES for data in bucket.objects.values())
    work = sender.begin(version)
    assert work.files["edges"].path.read_bytes() == EDGES
    assert not any(b"source,target" in data for data in bucket.objects.values())
    (part,) = rows(sender, DatasetPart)
    assert (part.sha256, part.size_bytes) == (hashlib.sha256(EDGES).hexdigest(), len(EDGES))


def test_an_attempt_that_died_while_sealing_is_repeated(sender: Curator, bucket: Bucket) -> None:
    dataset = sender.register()
    offer = begin(sender, dataset.id)
    version = complete(sender, dataset.id, offer, put(offer))
    before = dict(bucket.objects)
    sender.begin(version)
    bucket.objects |= before  # it was sealed, but neither deleted nor on record
    with sender.services.db.transaction() as session:
        arrival = next(key for key, data in before.items() if data == EDGES).removeprefix("p/")
        session.execute(update(DatasetPart).values(object_key=arrival, sha256=""))
        session.execute(update(DatasetVersion).values(lease_expires_at=func.now() - timedelta(seconds=1)))
    assert sender.validate(version).state == "ready"
    assert not any(b"source,target" in data for data in bucket.objects.values())


def test_a_file_that_was_sealed_but_not_deleted_is_swept(sender: Curator, bucket: Bucket) -> None:
    dataset = sender.register()
    offer = begin(sender, dataset.id)
    version = complete(sender, dataset.id, offer, put(offer))
    sweep = recover.DUTIES["recover_direct_uploads"]
    assert sweep(sender.services) == 0  # it is the version's: the worker has yet to seal it
    before = dict(bucket.objects)
    sender.begin(version)
    bucket.objects |= before  # the worker stopped, or the storage failed, before it was deleted
    assert sweep(sender.services) == 1
    assert not any(b"source,target" in data for data in bucket.objects.values())
    assert rows(sender, DirectUpload) == []
    assert sweep(sender.services) == 0
    assert sender.services.store.exists(rows(sender, DatasetPart)[0].object_key)


def test_a_wrong_completion_takes_no_time_from_the_upload(sender: Curator, bucket: Bucket) -> None:
    dataset = sender.register()
    offer = begin(sender, dataset.id)
    etags = put(offer)
    with pytest.raises(InvalidInput, match="not the ones"):
        complete(sender, dataset.id, offer, etags[::-1])
    (version,) = rows(sender, DatasetVersion)
    assert version.upload_expires_at == offer.expires_at
    assert complete(sender, dataset.id, offer, etags).state == "queued"


def test_repeating_the_last_step_acts_once(sender: Curator, bucket: Bucket) -> None:
    dataset = sender.register()
    offer = begin(sender, dataset.id)
    etags = put(offer)
    with pytest.raises(InvalidInput, match="ETag of each"):
        complete(sender, dataset.id, offer, etags[:-1])
    with pytest.raises(InvalidInput, match="not the ones"):
        complete(sender, dataset.id, offer, etags[::-1])
    presigner = sender.services.store.presigner
    assert presigner is not None
    (row,) = rows(sender, DirectUpload)  # joined, but the answer was lost
    presigner.complete(f"datasets/{dataset.id}/{row.version_id}/arrival-{row.token}", row.storage_id, etags)
    assert complete(sender, dataset.id, offer, etags).state == "queued"
    with pytest.raises(NotFound):
        complete(sender, dataset.id, offer, etags)


def test_another_size_than_announced_gives_the_upload_up(sender: Curator, bucket: Bucket) -> None:
    dataset = sender.register()
    offer = begin(sender, dataset.id, size=len(EDGES) - 1)
    with pytest.raises(httpx.HTTPStatusError, match="403"):  # the bucket takes no other length
        put(offer)
    etags = put(offer, EDGES[:-1])
    (pieces,) = bucket.uploads.values()
    pieces[len(etags)] += EDGES[-1:]  # nor would the service, of a bucket that did
    etags[-1] = hashlib.md5(pieces[len(etags)], usedforsecurity=False).hexdigest()
    with pytest.raises(InvalidInput, match="announced"):
        complete(sender, dataset.id, offer, etags)
    assert (bucket.objects, bucket.uploads, rows(sender, DirectUpload)) == ({}, {}, [])
    assert sender.send(dataset).state == "queued"  # the place is free


def test_giving_up_leaves_nothing_and_frees_the_place(sender: Curator, bucket: Bucket) -> None:
    dataset = sender.register()
    put(begin(sender, dataset.id))
    with pytest.raises(Conflict, match="under way"):
        begin(sender, dataset.id)
    for _ in range(2):
        direct_uploads.abandon_direct(sender.services, sender.principal, dataset.id)
    assert (bucket.objects, bucket.uploads, rows(sender, DirectUpload)) == ({}, {}, [])
    assert rows(sender, DatasetVersion) == []
    assert begin(sender, dataset.id).urls


@pytest.mark.parametrize("end", ["time", "archive"])
def test_what_an_upload_left_is_swept(sender: Curator, bucket: Bucket, end: str) -> None:
    dataset = sender.register()
    offer = begin(sender, dataset.id)
    put(offer)
    assert recover.DUTIES["recover_direct_uploads"](sender.services) == 0
    if end == "archive":
        archive_dataset(sender.services, sender.principal, dataset.id)
    else:
        with sender.services.db.transaction() as session:
            gone = func.now() - timedelta(seconds=1)
            session.execute(update(DatasetVersion).values(upload_expires_at=gone))
        assert recover_uploads(sender.services, 10) == 1  # which may come first, or last
    assert recover.DUTIES["recover_direct_uploads"](sender.services) == 1
    assert (bucket.objects, bucket.uploads, rows(sender, DirectUpload)) == ({}, {}, [])
    with pytest.raises(NotFound):
        complete(sender, dataset.id, offer, ["x"] * len(offer.urls))


def test_a_storage_that_fails_leaves_the_place_free(sender: Curator, bucket: Bucket) -> None:
    dataset = sender.register()
    bucket.failing = True
    with pytest.raises(Exception, match="object storage failed"):
        begin(sender, dataset.id)
    bucket.failing = False
    assert begin(sender, dataset.id).urls


def test_what_cannot_be_taken_is_refused_at_once(sender: Curator) -> None:
    dataset = sender.register()
    with pytest.raises(PayloadTooLarge):
        begin(sender, dataset.id, size=201)
    with pytest.raises(UnknownFormat):
        begin(sender, dataset.id, format="docx")
    with pytest.raises(NotFound):
        begin(sender, "ds_none")


def test_a_folder_takes_no_direct_uploads(curator: Curator) -> None:
    dataset = curator.register()
    with pytest.raises(DirectUploadUnavailable):
        begin(curator, dataset.id)
    direct_uploads.abandon_direct(curator.services, curator.principal, dataset.id)
    assert recover.DUTIES["recover_direct_uploads"](curator.services) == 0
