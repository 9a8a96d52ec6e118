"""Signed addresses do what they were signed for, as long as they live, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from core.errors import InvalidInput, StorageError
from core.storage.presigned import Presigner
from core.storage.store import open_store
from tests.support.s3_server import Bucket, bucket_of_settings

pytestmark = pytest.mark.extras


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket_of_settings(monkeypatch) as bucket:
        yield bucket


@pytest.fixture
def presigner(bucket: Bucket) -> Presigner:
    found = open_store("s3://graphs/some/prefix").presigner
    assert found is not None
    return found


def address(presigner: Presigner, seconds: int = 60) -> str:
    return presigner.download("a/b.csv", file_name="b.csv", media_type="text/csv", seconds=seconds)


def test_a_file_is_read_under_its_name_and_type(bucket: Bucket, presigner: Presigner) -> None:
    bucket.objects["some/prefix/a/b.csv"] = b"source,target\n"
    answer = httpx.get(address(presigner))
    assert (answer.status_code, answer.content) == (200, b"source,target\n")
    assert answer.headers["Content-Type"] == "text/csv"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="b.csv"'
    assert "eu-central-1" in address(presigner)


def test_an_address_opens_one_object_in_one_way_for_a_while(bucket: Bucket, presigner: Presigner) -> None:
    bucket.objects |= {"some/prefix/a/b.csv": b"1", "some/prefix/a/c.csv": b"2"}
    url = address(presigner)
    assert httpx.get(url).status_code == 200
    assert httpx.get(url.replace("b.csv?", "c.csv?")).status_code == 403
    assert httpx.put(url, content=b"3").status_code == 403
    assert httpx.get(url.replace("X-Amz-Expires=60", "X-Amz-Expires=6000")).status_code == 403
    assert httpx.get(address(presigner, seconds=0)).status_code == 403


def test_callers_may_reach_the_bucket_under_another_address(bucket: Bucket) -> None:
    elsewhere = open_store("s3://graphs", "https://files.example.org").presigner
    assert elsewhere is not None
    assert address(elsewhere).startswith("https://files.example.org/graphs/a/b.csv?")


def test_parts_become_an_object(bucket: Bucket, presigner: Presigner) -> None:
    upload = presigner.begin("x")
    urls = presigner.parts("x", upload, 8, part_bytes=3, seconds=60)
    pieces = [b"one", b"two", b"ha"]
    etags = [httpx.put(url, content=piece).headers["ETag"] for url, piece in zip(urls, pieces, strict=True)]
    with pytest.raises(InvalidInput) as wrong:
        presigner.complete("x", upload, etags[:2])
    assert wrong.value.members["field"] == "etags"
    presigner.complete("x", upload, etags)
    assert bucket.objects == {"some/prefix/x": b"onetwoha"}


def test_a_part_is_as_long_as_it_was_signed_for(bucket: Bucket, presigner: Presigner) -> None:
    upload = presigner.begin("x")
    urls = presigner.parts("x", upload, 8, part_bytes=5, seconds=60)
    for url, lengths in zip(urls, ((4, 5, 6), (2, 3, 4)), strict=True):
        codes = [httpx.put(url, content=b"a" * length).status_code for length in lengths]
        assert codes == [403, 200, 403]


def test_an_aborted_upload_leaves_nothing(bucket: Bucket, presigner: Presigner) -> None:
    upload = presigner.begin("x")
    httpx.put(presigner.parts("x", upload, 3, part_bytes=3, seconds=60)[0], content=b"one")
    presigner.abort("x", upload)
    presigner.abort("x", upload)
    assert (bucket.objects, bucket.uploads) == ({}, {})


def test_a_storage_that_refuses_is_told(bucket: Bucket, presigner: Presigner) -> None:
    bucket.failing = True
    with pytest.raises(StorageError):
        presigner.begin("x")
    with pytest.raises(StorageError):
        presigner.complete("x", "nothing", ["e"])


def test_a_folder_signs_nothing(tmp_path) -> None:
    assert open_store(tmp_path.as_uri()).presigner is None
