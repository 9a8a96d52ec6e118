"""Folders as one stream."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import StorageError
from core.storage.folders import pack, unpack


def filled(folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    contents = {"edges.parquet": os.urandom(3_000_001), "empty": b"", "schema.json": b"{}" * 256}
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return contents


def test_round_trip_in_any_chunks(tmp_path: Path) -> None:
    contents = filled(tmp_path / "in")
    stream = b"".join(pack(tmp_path / "in"))
    for size in (1_000, 10**6, len(stream)):
        out = tmp_path / f"out{size}"
        out.mkdir()
        unpack((stream[start : start + size] for start in range(0, len(stream), size)), out)
        assert {path.name: path.read_bytes() for path in out.iterdir()} == contents


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    filled(tmp_path / "in")
    first = b"".join(pack(tmp_path / "in"))
    os.utime(tmp_path / "in" / "empty", (1, 1))
    (tmp_path / "in" / "empty").chmod(0o644)
    assert b"".join(pack(tmp_path / "in")) == first


@pytest.mark.parametrize("name", ["link", "sub/link", "sub/sub/file"])
def test_only_files_and_folders_of_them_are_packed(tmp_path: Path, name: str) -> None:
    filled(tmp_path / "in")
    path = tmp_path / "in" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name == "link":
        path.symlink_to("/etc/passwd" if name == "link" else "/etc")
    else:
        path.write_bytes(b"x")
    with pytest.raises(ValueError, match="only regular files"):
        list(pack(tmp_path / "in"))


def test_folders_of_files_go_there_and_back(tmp_path: Path) -> None:
    for name in ("in", "in/sub", "out"):
        (tmp_path / name).mkdir()
    for name in ("last", "sub/b", "sub/a"):
        (tmp_path / "in" / name).write_text(name)
    stream = b"".join(pack(tmp_path / "in"))
    unpack([stream], tmp_path / "out")
    found = [path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*")]
    assert sorted(found) == ["last", "sub", "sub/a", "sub/b"]
    assert (tmp_path / "out" / "sub" / "a").read_text() == "sub/a"
    assert b"".join(pack(tmp_path / "out")) == stream


@pytest.mark.parametrize("name", ["../out", "/abs", "a/../b", "a/b/c", "./a", "a//b"])
def test_members_that_leave_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(StorageError):
        unpack([buffer.getvalue()], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_damage_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        unpack([os.urandom(2048)], tmp_path)


def test_the_stream_is_read_to_its_end(tmp_path: Path) -> None:
    filled(tmp_path / "in")
    (tmp_path / "out").mkdir()

    def cut_off() -> Iterator[bytes]:
        yield from pack(tmp_path / "in")
        raise StorageError("the last frame was missing")

    with pytest.raises(StorageError, match="last frame"):
        unpack(cut_off(), tmp_path / "out")


def test_only_the_named_files_are_written(tmp_path: Path) -> None:
    contents = filled(tmp_path / "in")
    (tmp_path / "out").mkdir()
    unpack(pack(tmp_path / "in"), tmp_path / "out", only=("schema.json",))
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        "schema.json": contents["schema.json"]
    }
    cut = b"".join(pack(tmp_path / "in"))[:-3_000_000]
    with pytest.raises(StorageError):
        unpack([cut], tmp_path / "out", only=("schema.json",))
