"""The object store on a real S3 server means what it means on a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from core.errors import StorageError
from core.storage.presigned import Credentials
from core.storage.sealed import seal, unseal
from core.storage.store import CHUNK_BYTES, ObjectStore, open_store
from deploy.local.storage import BUCKET
from tests.support.seaweed import Seen

pytestmark = pytest.mark.extras

MANY = 1_050
"""More objects than one answer of S3 lists."""


@pytest.fixture
def store(prefix: str) -> ObjectStore:
    return open_store(f"s3://{BUCKET}/{prefix}")


def test_what_was_put_in_parts_is_read_back(store: ObjectStore, seen: Seen) -> None:
    data = os.urandom(2 * CHUNK_BYTES + 17)
    store.put("a/large", (data[start : start + 2**20] for start in range(0, len(data), 2**20)))
    store.put("a/empty", [])
    assert b"".join(store.get("a/large")) == data
    assert b"".join(store.get("a/empty")) == b""
    assert (store.size("a/large"), store.exists("a/large"), store.exists("a/none")) == (
        len(data),
        True,
        False,
    )
    assert seen.objects() == {"a/large": data, "a/empty": b""}
    assert seen.unfinished() == []


def test_a_new_object_never_replaces_one(store: ObjectStore, seen: Seen) -> None:
    assert store.put_new("day.json", b"first")
    assert not store.put_new("day.json", b"second")
    assert seen.objects() == {"day.json": b"first"}


def test_sealed_bytes_travel(store: ObjectStore, seen: Seen) -> None:
    key = os.urandom(32)
    store.put("sealed", seal([b"secret" * 10**6], key))
    assert b"secret" not in seen.objects()["sealed"]
    assert b"".join(unseal(store.get("sealed"), key)) == b"secret" * 10**6


def test_copy_list_and_delete(store: ObjectStore, seen: Seen) -> None:
    for key in ("d/1/a", "d/1/b/c", "d/10/a"):
        store.put(key, [key.encode()])
    store.copy("d/1/a", "e/copy")
    assert b"".join(store.get("e/copy")) == b"d/1/a"
    assert {line.key: line.size_bytes for line in store.list("d/1")} == {"d/1/a": 5, "d/1/b/c": 7}
    store.delete_prefix("d/1")
    store.delete("d/1/a")
    assert set(seen.objects()) == {"d/10/a", "e/copy"}


def test_more_than_one_page_is_listed_and_deleted(store: ObjectStore, seen: Seen) -> None:
    for number in range(MANY):
        store.put(f"many/{number}", [b"x"])
    assert {line.key for line in store.list("many")} == {f"many/{number}" for number in range(MANY)}
    store.delete_prefix("many")
    assert seen.objects() == {}


def test_a_failed_put_leaves_nothing(store: ObjectStore, seen: Seen) -> None:
    def broken() -> Iterator[bytes]:
        yield bytes(2 * CHUNK_BYTES)
        raise KeyError("the sender is gone")

    with pytest.raises(KeyError):
        store.put("x", broken())
    assert (seen.objects(), seen.unfinished()) == ({}, [])


def test_a_wrong_key_and_another_bucket_are_refused(
    store: ObjectStore, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("x", [b"x"])
    with pytest.raises(StorageError):
        store.get("missing")
    wrong = Credentials(os.environ["AWS_ACCESS_KEY_ID"], "another")
    for refused in (
        open_store(f"s3://{BUCKET}/{prefix}", credentials=wrong),
        open_store(f"s3://another-bucket/{prefix}"),
    ):
        for ask in (refused.get, refused.size, refused.exists, refused.delete):
            with pytest.raises(StorageError):
                ask("x")
        with pytest.raises(StorageError):
            refused.put("y", [b"y"])
        with pytest.raises(StorageError):
            list(refused.list("x"))
    assert b"".join(store.get("x")) == b"x"
