"""A worker's own folder, and what is left of dead ones."""

from __future__ import annotations

from pathlib import Path

from core.settings import Settings
from worker.folders import private_folder, write_private
from worker.process import LOCK, open_process, sweep


def settings(tmp_path: Path) -> Settings:
    return Settings(storage_url=(tmp_path / "objects").as_uri(), work_folder=tmp_path / "work")


def test_every_process_has_a_folder_of_its_own_that_others_leave_alone(tmp_path: Path) -> None:
    one, other = open_process(settings(tmp_path)), open_process(settings(tmp_path))
    assert one.folder != other.folder
    assert one.folder.stat().st_mode & 0o777 == 0o700
    assert sweep(tmp_path / "work") == 0
    assert one.folder.exists()


def test_what_a_dead_process_left_is_deleted(tmp_path: Path) -> None:
    dead = tmp_path / "work" / "worker-dead"
    (dead / "release-job" / "graph").mkdir(parents=True)
    (dead / "release-job" / "graph" / "edges.parquet").write_text("private")
    (dead / LOCK).touch()
    open_process(settings(tmp_path))
    assert not dead.exists()


def test_what_a_sweep_left_half_deleted_goes_with_the_next(tmp_path: Path) -> None:
    dead = tmp_path / "work" / "worker-dead"
    (dead / "release-job").mkdir(parents=True)
    (dead / "release-job" / "edges.parquet").write_text("private")
    open_process(settings(tmp_path))
    assert not dead.exists()


def test_private_folders_and_files_are_their_owners_and_vanish(tmp_path: Path) -> None:
    with private_folder(tmp_path / "attempt") as folder:
        write_private(folder / "spec.json", b"{}")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "spec.json").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "attempt").exists()
