"""The object store on a folder: atomic, private, closed to keys that leave it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import InvalidInput, StorageError
from core.storage.store import CHUNK_BYTES, ObjectStore, checked_key, open_store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "objects"


@pytest.fixture
def store(root: Path) -> ObjectStore:
    return open_store(root.as_uri())


def read(store: ObjectStore, key: str) -> bytes:
    return b"".join(store.get(key))


def test_put_get_size_exists_delete(store: ObjectStore) -> None:
    assert not store.exists("a/b")
    store.put("a/b", [b"one", b"", b"two"])
    assert store.exists("a/b")
    assert store.size("a/b") == 6
    assert read(store, "a/b") == b"onetwo"
    store.put("a/b", [b"other"])
    assert read(store, "a/b") == b"other"
    store.delete("a/b")
    store.delete("a/b")
    assert not store.exists("a/b")


def test_empty_and_large_objects(store: ObjectStore) -> None:
    store.put("empty", [])
    assert read(store, "empty") == b""
    large = os.urandom(2 * CHUNK_BYTES + 17)
    store.put("large", (large[start : start + 999_999] for start in range(0, len(large), 999_999)))
    assert read(store, "large") == large


def test_a_new_object_never_replaces_one(store: ObjectStore) -> None:
    assert store.put_new("heads/day.json", b"first")
    assert not store.put_new("heads/day.json", b"second")
    assert read(store, "heads/day.json") == b"first"


def test_files_and_copies(store: ObjectStore, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(os.urandom(CHUNK_BYTES + 1))
    store.put_file("f/one", source)
    store.copy("f/one", "g/two")
    assert read(store, "g/two") == source.read_bytes()


def test_a_failed_put_leaves_nothing_and_keeps_what_was_there(store: ObjectStore, root: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield bytes(2 * CHUNK_BYTES)
        raise KeyError("the sender is gone")

    with pytest.raises(KeyError, match="the sender is gone"):
        store.put("x/new", broken())
    assert not store.exists("x/new")
    store.put("x/old", [b"before"])
    with pytest.raises(KeyError):
        store.put("x/old", broken())
    assert read(store, "x/old") == b"before"
    assert [path.name for path in root.rglob("*") if path.is_file()] == ["old"]


def test_a_put_is_not_seen_before_its_end(store: ObjectStore) -> None:
    seen: list[bool] = []

    def chunks() -> Iterator[bytes]:
        yield bytes(CHUNK_BYTES)
        seen.append(store.exists("late"))
        yield b"end"

    store.put("late", chunks())
    assert seen == [False]
    assert store.exists("late")


def test_chunks_may_come_from_the_store_itself(store: ObjectStore) -> None:
    data = os.urandom(3 * CHUNK_BYTES + 1)
    store.put("first", [data])
    store.put("second", store.get("first"))
    assert read(store, "second") == data


def test_a_storage_that_fails_stops_the_sender(store: ObjectStore, root: Path) -> None:
    (root / "full").write_bytes(b"a file where a folder is needed")
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield bytes(1000)

    with pytest.raises(StorageError):
        store.put("full/x", endless())
    assert taken < 100


def test_listing_and_deleting_a_prefix(store: ObjectStore) -> None:
    for key in ("d/1/a", "d/1/b/c", "d/10/a", "e"):
        store.put(key, [key.encode()])
    listed = {stored.key: stored.size_bytes for stored in store.list("d/1")}
    assert listed == {"d/1/a": 5, "d/1/b/c": 7}
    store.delete_prefix("d/1")
    assert list(store.list("d/1")) == []
    assert store.exists("d/10/a")
    assert store.exists("e")


def test_what_is_missing_is_a_storage_error_at_once(store: ObjectStore) -> None:
    for ask in (store.get, store.size):
        with pytest.raises(StorageError):
            ask("no/such")
    with pytest.raises(StorageError):
        store.copy("no/such", "x")


@pytest.mark.parametrize(
    "key",
    ["", "/a", "a/", "a//b", "..", "a/../b", "a/.b", "a\\b", "a b", "ä", "a\n", "a" * 257, "a/%2e%2e/b"],
)
def test_keys_that_are_no_plain_path_are_refused(store: ObjectStore, key: str) -> None:
    with pytest.raises(InvalidInput):
        checked_key(key)
    for ask in (store.get, store.size, store.exists, store.delete, store.delete_prefix):
        with pytest.raises(InvalidInput):
            ask(key)
    with pytest.raises(InvalidInput):
        store.put(key, [b"x"])


def test_folders_are_their_owners_alone(store: ObjectStore, root: Path) -> None:
    store.put("a/b/c", [b"x"])
    for folder in (root, root.parent, root / "a", root / "a" / "b"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "url", ["", "/tmp/x", "file://", "file:///", "file://host/x", "s3://", "http://x/y", "gs://b"]
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        open_store(url)
