"""The object store speaks S3 over a socket, with the same meaning as on a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

import httpx
import pytest

from core.errors import StorageError
from core.storage.presigned import Credentials
from core.storage.sealed import seal, unseal
from core.storage.store import CHUNK_BYTES, ObjectStore, open_store
from tests.support.s3_server import Bucket, reached_by, server

pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def endpoint() -> Iterator[tuple[str, Bucket]]:
    with server() as running:
        yield running


@pytest.fixture
def bucket(endpoint: tuple[str, Bucket]) -> Bucket:
    held = endpoint[1]
    held.objects.clear()
    held.uploads.clear()
    held.failing = False
    return held


@pytest.fixture
def store(endpoint: tuple[str, Bucket], bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    reached_by(monkeypatch, endpoint[0])
    return open_store("s3://graphs/some/prefix")


def test_a_bucket_without_a_prefix(store: ObjectStore, bucket: Bucket) -> None:
    open_store("s3://graphs").put("a", [b"x"])
    assert set(bucket.objects) == {"a"}


def test_round_trip_below_the_prefix(store: ObjectStore, bucket: Bucket) -> None:
    data = os.urandom(2 * CHUNK_BYTES + 17)
    store.put("a/large", (data[start : start + 2**20] for start in range(0, len(data), 2**20)))
    store.put("a/empty", [])
    assert set(bucket.objects) == {"some/prefix/a/large", "some/prefix/a/empty"}
    assert b"".join(store.get("a/large")) == data
    assert b"".join(store.get("a/empty")) == b""
    assert (store.size("a/large"), store.exists("a/large"), store.exists("a/none")) == (
        len(data),
        True,
        False,
    )


def test_a_new_object_never_replaces_one(store: ObjectStore, bucket: Bucket) -> None:
    assert store.put_new("day.json", b"first")
    assert not store.put_new("day.json", b"second")
    assert bucket.objects["some/prefix/day.json"] == b"first"


def test_sealed_bytes_travel(store: ObjectStore, bucket: Bucket) -> None:
    key = os.urandom(32)
    store.put("sealed", seal([b"secret" * 10**6], key))
    assert b"secret" not in bucket.objects["some/prefix/sealed"]
    assert b"".join(unseal(store.get("sealed"), key)) == b"secret" * 10**6


def test_copy_list_and_delete(store: ObjectStore, bucket: Bucket) -> None:
    for key in ("d/1/a", "d/1/b/c", "d/10/a"):
        store.put(key, [key.encode()])
    store.copy("d/1/a", "e/copy")
    assert b"".join(store.get("e/copy")) == b"d/1/a"
    assert {line.key: line.size_bytes for line in store.list("d/1")} == {"d/1/a": 5, "d/1/b/c": 7}
    store.delete_prefix("d/1")
    store.delete("d/1/a")
    assert set(bucket.objects) == {"some/prefix/d/10/a", "some/prefix/e/copy"}


def test_a_failed_put_leaves_nothing(store: ObjectStore, bucket: Bucket) -> None:
    def broken() -> Iterator[bytes]:
        yield bytes(2 * CHUNK_BYTES)
        raise KeyError("the sender is gone")

    with pytest.raises(KeyError):
        store.put("x", broken())
    assert (bucket.objects, bucket.uploads) == ({}, {})


def test_refusals_are_storage_errors(store: ObjectStore, bucket: Bucket) -> None:
    store.put("x", [b"x"])
    with pytest.raises(StorageError):
        store.get("missing")
    bucket.failing = True
    for ask in (store.get, store.size, store.exists, store.delete):
        with pytest.raises(StorageError):
            ask("x")
    with pytest.raises(StorageError):
        store.put("y", [b"y"])
    with pytest.raises(StorageError):
        list(store.list("x"))


def test_credentials_can_be_given_where_the_environment_has_none(
    store: ObjectStore, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Credentials(os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    given = open_store("s3://graphs", credentials=own)
    given.put("a", [b"x"])
    assert bucket.objects["a"] == b"x"
    for key, status in ((own, 200), (Credentials(own.access_key_id, "another"), 403)):
        presigner = open_store("s3://graphs", credentials=key).presigner
        assert presigner is not None
        url = presigner.download("a", file_name="a", media_type="text/plain", seconds=60)
        assert httpx.get(url).status_code == status
    assert "another" not in repr(key)
